import { expect } from 'vitest';
import { type DaveyCall, FRAME } from './daveycall.ts';

/** All members agree on epoch and code, and all decrypt the frames of `speakers`. */
export function expectWhole(call: DaveyCall, speakers = call.clients.size): void {
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
