// Goal: a run follows every message to every connection, says so when a gateway loses, doubles or reorders any, keeps to
// what the server allows, and fails when part of its load is refused.
import { afterEach, describe, expect, test } from 'vitest';
import { type BenchOptions, benchGateway, quiet } from '../../bench/gateway/bench.ts';
import { Sender } from '../../bench/gateway/sender.ts';
import { nowNs } from '../../bench/wire/pace.ts';
import { type FakeGateway, type FakeLimits, type Fault, startFakeGateway } from './fake.gateway.ts';

let gateway: FakeGateway | null = null;
afterEach(async () => {
  await gateway?.close();
  gateway = null;
});

const MESSAGES = 10;

async function run(fault: Fault, more: Partial<BenchOptions> = {}, status = 200, limits: FakeLimits = {}) {
  gateway = await startFakeGateway(fault, status, limits);
  return benchGateway({
    url: gateway.url,
    api: null,
    tokens: ['a', 'Bearer b'],
    connections: 4,
    measured: 4,
    threads: 0,
    compress: false,
    intents: 513,
    perSecond: MESSAGES * 2,
    durationSeconds: 0.5,
    contentBytes: 100,
    channelId: null,
    identifyPerSecond: null,
    serverPid: process.pid,
    settleMs: 300,
    thresholds: ['lost<1', 'p99<0.1us'],
    isOwnHost: false,
    ...more,
  });
}

describe('the end of a run', () => {
  const waitsFor = async (counts: Iterator<number>) => {
    const waited: number[] = [];
    const fleet = { deliveries: async () => counts.next().value ?? 0 };
    await quiet([fleet], 250, async (ms) => void waited.push(ms));
    return waited;
  };

  test('waits on while deliveries come late', async () => {
    expect(await waitsFor([4, 7, 8, 8, 9].values())).toEqual([250, 250, 250]);
  });

  test('waits a bounded time for a gateway that never falls silent', async () => {
    const endless = (function* () {
      for (let count = 1; ; count += 1) yield count;
    })();
    expect(await waitsFor(endless)).toHaveLength(20);
  });
});

describe('a run', () => {
  test('ends with a plain sentence when no server listens', async () => {
    await expect(run('none', { url: 'ws://127.0.0.1:1', identifyPerSecond: 100 })).rejects.toThrow(
      /Nothing answers at/,
    );
  });

  test('counts what came, where, and how late', async () => {
    const report = await run('none');
    expect(gateway?.identified()).toBe(4);
    expect(report.sends).toMatchObject({ sent: MESSAGES, answered: MESSAGES, limited: 0, failed: 0 });
    expect(report).toMatchObject({
      deliveries: 4 * MESSAGES,
      lost: 0,
      duplicated: 0,
      reordered: 0,
      dropped: 0,
    });
    expect(report.members).toBe(5);
    expect(report.latencyMs.p50).toBeGreaterThan(0);
    expect(report.latencyMs.max).toBeGreaterThanOrEqual(report.latencyMs.p50);
    expect(report.timeline.reduce((sum, each) => sum + each, 0)).toBe(4 * MESSAGES);
    expect(report.server?.rssBytes ?? 1).toBeGreaterThan(0);
    expect(report.thresholds).toEqual([
      { text: 'lost<1', kept: true },
      { text: 'p99<0.1us', kept: false },
    ]);
  });

  test('reads a zlib stream on some connections and only counts on the others', async () => {
    const report = await run('none', { compress: true, measured: 2 });
    expect(report).toMatchObject({ deliveries: 4 * MESSAGES, measuredConnections: 2, lost: 0 });
  });

  test.each([
    ['loses', { lost: 1, duplicated: 0, reordered: 0 }],
    ['doubles', { lost: 0, duplicated: MESSAGES, reordered: 0 }],
    ['swaps', { lost: 0, duplicated: 0, reordered: 1 }],
    ['drops', { lost: 0, dropped: 1 }],
  ] as const)('sees a gateway that %s', async (fault, found) => {
    expect(await run(fault)).toMatchObject(found);
  });

  test('distinguishes limited from failed sends', async () => {
    expect((await run('none', {}, 429)).sends).toMatchObject({ answered: 0, limited: MESSAGES, failed: 0 });
  });

  test('never leaves this machine unasked', async () => {
    await expect(run('none', { url: 'ws://192.0.2.1' })).rejects.toThrow(/not this machine/);
    await expect(run('none', { api: 'http://192.0.2.1/api' })).rejects.toThrow(/192\.0\.2\.1/);
  });
});

describe('the failure of a run', () => {
  test.each([
    [429, /10 of 10 sends were refused \(10 × 429\)/, /npm start -- --no-rate-limits/],
    [403, /10 of 10 sends were refused \(10 × 403\)/, /--channel/],
    [503, /10 of 10 sends were refused \(10 × 503\)/, /log/],
  ])(
    'is reported for sends that are answered %i, and its headline does not say that none was lost',
    async (status, message, advice) => {
      const { failures, headline } = await run('none', {}, status);
      expect(failures).toEqual([
        { message: expect.stringMatching(message), advice: expect.stringMatching(advice) },
      ]);
      expect(headline).toMatch(message);
      expect(headline).not.toContain('none lost');
    },
  );

  test.each([
    ['drops', '1006'],
    ['invalidates', 'op 9'],
  ] as const)('is reported when the server %s a session in the run', async (fault, close) => {
    const { failures, closes, dropped } = await run(fault);
    expect({ closes, dropped }).toEqual({ closes: { [close]: 1 }, dropped: 1 });
    expect(failures[0]?.message).toBe(`the server ended 1 sessions during the run (1 × ${close})`);
  });

  test('is not reported when everything was answered and no session was closed', async () => {
    expect((await run('none')).failures).toEqual([]);
  });
});

describe('a run within what the server allows', () => {
  const WINDOW_MS = 100;

  test('makes one start for each bucket in a window, over shards that all have the guild', async () => {
    const limits = { maxConcurrency: 4, windowMs: WINDOW_MS };
    const more = { connections: 12, measured: 12, tokens: ['a'], startWindowMs: WINDOW_MS };
    const report = await run('none', more, 200, limits);
    expect(gateway?.refused()).toBe(0);
    expect(report).toMatchObject({
      connections: 12,
      identifiesRefused: 0,
      deliveries: 12 * MESSAGES,
      lost: 0,
    });
    const buckets = gateway?.shards().map(([id]) => id % 4) ?? [];
    for (const bucket of [0, 1, 2, 3]) expect(buckets.filter((each) => each === bucket)).toHaveLength(3);
  });

  test('starts only the sessions that the day has left, and says so', async () => {
    const notes: string[] = [];
    const more = { tokens: ['a'], onNote: (note: string) => notes.push(note) };
    const report = await run('none', more, 200, { remaining: 3 });
    expect(report).toMatchObject({ connections: 3, connectionsAsked: 4, deliveries: 3 * MESSAGES });
    expect(notes).toEqual(report.notes);
    expect(notes[0]).toMatch(/^3 sessions start instead of 4: .*npm start -- --no-rate-limits/);
  });

  test('ends with a plain sentence when no session may start', async () => {
    await expect(run('none', { tokens: ['a'] }, 200, { remaining: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(/lets no session start/),
      advice: expect.stringMatching(/npm start -- --no-rate-limits/),
    });
  });

  test('keeps to the rate limit of the channel when no rate was asked for', async () => {
    const sends = { limit: 4, windowMs: 500 };
    const report = await run('none', { perSecond: null, durationSeconds: 1 }, 200, { sends });
    expect(report.perSecond).toBeLessThan(8);
    expect(report.sends).toMatchObject({ limited: 0, failed: 0, answered: report.sends.sent });
    expect(report.sends.sent).toBeGreaterThan(4);
    expect(report.failures).toEqual([]);
    expect(report.notes[0]).toMatch(/rate limit.*npm start -- --no-rate-limits/);
  });

  test('sends limited messages again, a bounded number of times', async () => {
    const send = async (retriesMax: number) => {
      gateway = await startFakeGateway('none', 200, { sends: { limit: 4, windowMs: 500 } });
      const sending = { authorization: 'Bot a', channelId: '30', runId: 'r', contentBytes: 100 };
      const api = new URL('/api', gateway.url.replace(/^ws/, 'http'));
      return new Sender({ ...sending, api, perSecond: 1_000, total: 7, retriesMax }).run(nowNs());
    };
    expect(await send(3)).toMatchObject({ sent: 7, answered: 7, limited: 0 });
    await gateway?.close();
    expect(await send(0)).toMatchObject({ sent: 7, answered: 4, limited: 3 });
  });

  test('sends at the rate that was asked for, and fails when messages are limited', async () => {
    const sends = { limit: 4, windowMs: 60_000 };
    const { sends: sent, failures } = await run('none', {}, 200, { sends });
    expect(sent).toMatchObject({ answered: 4, limited: MESSAGES - 4 });
    expect(failures).toHaveLength(1);
  });
});
