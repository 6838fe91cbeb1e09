// Goal: a process that stops hands over, then lets its sessions go, then writes, and no step uses up the time of the next.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { drain, movingMs } from '../../../services/operator/drain.ts';

const TIMEOUT_MS = 10_000;

function draining(handover: Promise<void>) {
  const clock = new VirtualClock();
  const log: unknown[] = [];
  const done = drain({
    ...{ clock, timeoutMs: TIMEOUT_MS },
    ownership: { drain: () => handover },
    network: { drain: async (ms) => void log.push(['sessions', ms]) },
    writer: { flush: async () => void log.push('commits') },
    accounts: { idle: async () => void log.push('accounts') },
    interactions: { idle: async () => void log.push('interactions') },
    onFault: (error, where) => log.push([where, (error as Error).message]),
  });
  return { clock, log, done };
}

test('sessions reconnect after the handover, and commits are written last', async () => {
  const { log, done } = draining(Promise.resolve());
  await done;
  expect(log).toEqual([['sessions', 6_000], 'interactions', 'commits', 'accounts']);
});

test('a handover that hangs costs its share of the time and is reported', async () => {
  const { clock, log, done } = draining(new Promise(() => {}));
  clock.advance(2_999);
  await Promise.resolve();
  expect(log).toEqual([]);
  clock.advance(1);
  await done;
  expect(log).toEqual([
    ['drain', 'Not done within 3000 ms.'],
    ...[['sessions', 6_000], 'interactions', 'commits', 'accounts'],
  ]);
});

test('sockets stay open only for calls that move', () => {
  expect([movingMs({ leaving: 1 }, 6_000), movingMs({ leaving: 0 }, 6_000)]).toEqual([3_000, 0]);
});
