// Goal: delayed frames arrive late and in order, and memory stays bounded.
import { describe, expect, test } from 'vitest';
import { ChaosQueue } from '../../../transports/gateway/chaosqueue.ts';

function made() {
  const clock = { nowMs: 0 };
  let timer: { run: () => void; dueMs: number } | null = null;
  const queue = new ChaosQueue({
    nowMs: () => clock.nowMs,
    setTimer(run, delayMs) {
      timer = { run, dueMs: clock.nowMs + delayMs };
      return {
        cancel() {
          timer = null;
        },
      };
    },
  });
  const pass = (ms: number): void => {
    clock.nowMs += ms;
    while (timer !== null && timer.dueMs <= clock.nowMs) {
      const { run } = timer;
      timer = null;
      run();
    }
  };
  const sent: string[] = [];
  return {
    queue,
    pass,
    sent,
    frame: (name: string, delayMs = 0) => queue.push(() => void sent.push(name), delayMs),
  };
}

describe('the queue of delayed frames', () => {
  test('passes frames at once while nothing waits', () => {
    const { frame, sent } = made();
    frame('a');
    expect(sent).toEqual(['a']);
  });

  test('keeps the order: a frame waits behind a delayed one', () => {
    const { frame, sent, pass } = made();
    frame('a', 100);
    frame('b');
    frame('c', 50);
    pass(99);
    expect(sent).toEqual([]);
    pass(1);
    expect(sent).toEqual(['a', 'b', 'c']);
  });

  test('drops what waits when the connection ends', () => {
    const { queue, frame, sent, pass } = made();
    frame('a', 100);
    queue.clear();
    pass(1000);
    expect(sent).toEqual([]);
  });

  test('sends everything at once when too much waits', () => {
    const { frame, sent } = made();
    for (let at = 0; at <= 10_000; at += 1) frame(String(at), 1000);
    expect(sent).toHaveLength(10_001);
  });
});
