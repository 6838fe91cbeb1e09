// Goal: requests that share a rate limit are sent as often as the answers allow, and a refusal is retried a bounded number of times.
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../bench/lobbies/api.ts';
import { Turns } from '../../bench/lobbies/turns.ts';

const BASE: Answer = { status: 204, body: null, micros: 1, limit: null, retryAfterMs: null };

/** A server that counts in windows, as the platform's does. */
function limited(limit: number, windowMs: number) {
  const answers: number[] = [];
  let [endMs, used] = [0, 0];
  const send = async (): Promise<Answer> => {
    const nowMs = performance.now();
    if (nowMs >= endMs) [endMs, used] = [nowMs + windowMs, 0];
    const resetAfterMs = endMs - nowMs;
    const status = used < limit ? 204 : 429;
    if (status === 204) used += 1;
    answers.push(status);
    const retryAfterMs = status === 429 ? resetAfterMs : null;
    return { ...BASE, status, retryAfterMs, limit: { limit, remaining: limit - used, resetAfterMs } };
  };
  return { send, answers };
}

describe('requests that share a limit', () => {
  test('are all answered, and none is refused', async () => {
    const { send, answers } = limited(3, 120);
    const turns = new Turns();
    const found = await Promise.all(Array.from({ length: 8 }, () => turns.ask(send)));
    expect(found.map(({ status }) => status)).toEqual(Array(8).fill(204));
    expect(answers.filter((status) => status === 429)).toEqual([]);
    expect(turns.retried).toBe(0);
    expect(turns.secondsFor(8)).toBeCloseTo(0.24, 1);
  });

  test('wait for nothing where the server names no limit', async () => {
    const turns = new Turns();
    let open = 0;
    let most = 0;
    const send = async (): Promise<Answer> => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return BASE;
    };
    await Promise.all(Array.from({ length: 20 }, () => turns.ask(send)));
    expect(most).toBeGreaterThan(1);
    expect(turns.secondsFor(1_000)).toBe(0);
  });
});

describe('a refused request', () => {
  const refusal = (retryAfterMs: number): Answer => ({ ...BASE, status: 429, retryAfterMs });

  test('is sent again after the time that the answer names', async () => {
    const answers = [refusal(5), refusal(5), BASE];
    const turns = new Turns();
    expect(await turns.ask(async () => answers.shift() ?? BASE)).toBe(BASE);
    expect(turns.retried).toBe(2);
  });

  test('is given up after ten retries, and at once when it would take more than half a minute', async () => {
    const often = new Turns();
    expect((await often.ask(async () => refusal(1))).status).toBe(429);
    expect(often.retried).toBe(10);
    const long = new Turns();
    expect((await long.ask(async () => refusal(7_200_000))).status).toBe(429);
    expect(long.retried).toBe(0);
  });
});
