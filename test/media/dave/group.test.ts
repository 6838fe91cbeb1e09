// Goal: whoever joins and leaves in whatever order, all members are of one group, and only they hear each other.
import { describe, expect, test } from 'vitest';
import { DaveyCall } from './daveycall.ts';

const FRAME = Buffer.from('an opus frame of some length');
const user = (index: number): string => String(1_100_000_000_000_000_000n + BigInt(index));

/** All agree on epoch and code, and frames of `speakers` pass to all. */
function expectWhole(call: DaveyCall, speakers = call.clients.size): void {
  const clients = [...call.clients.values()];
  expect(clients.flatMap(({ faults }) => faults)).toEqual([]);
  if (clients.length < 2) return;
  expect(call.delivery.pendingCount).toBe(0);
  expect(new Set(clients.map(({ group }) => group.epoch))).toEqual(new Set([call.delivery.epoch]));
  expect(new Set(clients.map(({ group }) => group.voicePrivacyCode)).size).toBe(1);
  for (const speaker of clients.slice(0, speakers)) {
    const sealed = speaker.seal(FRAME);
    expect(sealed.includes(FRAME)).toBe(false);
    for (const hearer of clients)
      if (hearer !== speaker) expect(hearer.open(speaker.userId, sealed)).toEqual(FRAME);
  }
}

describe('a call', () => {
  test('of two becomes a group, whose transition is executed when both are ready', () => {
    const call = new DaveyCall();
    const a = call.join(user(1));
    const b = call.join(user(2));
    call.rest();
    expect(call.delivery.epoch).toBe(1n);
    expectWhole(call);
    expect(a.executed).toHaveLength(1);
    expect(b.executed).toEqual(a.executed);
    expect(call.counted('transition', 'ready')).toBe(1);
  });
});
