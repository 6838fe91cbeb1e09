// Goal: the replay of a ledger restores a new lane to the state of the old one, with nonces that were never used.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Ledger } from '../../../media/io/ledger.ts';
import type { LaneOrder } from '../../../media/io/orders.ts';
import type { NonceReport } from '../../../media/sfu/ports.ts';

const key = new Uint8Array(32).fill(7);
const join = (callId: string, ssrc: number): LaneOrder => ({
  type: 'join',
  callId,
  member: { ssrc, userId: String(ssrc), layers: [] },
});
const udp = (ssrc: number): LaneOrder => ({
  type: 'udp',
  ssrc,
  transport: { mode: 'aead_aes256_gcm_rtpsize', key, claimed: null, resume: null },
});
const gate = (ssrc: number, speaks: boolean): LaneOrder => ({
  type: 'gate',
  ssrc,
  gate: { speaks, streams: false, receives: true },
});
const told = (...orders: LaneOrder[]): Ledger => {
  const ledger = new Ledger();
  for (const order of orders) ledger.note(order);
  return ledger;
};
const nonces = (ssrc: number, sent: number): NonceReport => ({
  ssrc,
  sent,
  received: { highest: 99, littleEndian: null },
  address: { address: '127.0.0.1', port: 4000 },
});

test('only the last order of each kind is replayed, after the join', () => {
  const ledger = told(
    { type: 'open', callId: 'c' },
    join('c', 5),
    gate(5, false),
    { type: 'encryptedOnly', callId: 'c', on: true },
    gate(5, true),
  );
  expect([...ledger.replay()]).toEqual([
    { type: 'open', callId: 'c' },
    { type: 'encryptedOnly', callId: 'c', on: true },
    join('c', 5),
    gate(5, true),
  ]);
});

test('members who left and calls that were closed are not replayed', () => {
  const ledger = told(
    { type: 'open', callId: 'c' },
    { type: 'open', callId: 'd' },
    join('c', 5),
    join('d', 6),
    join('d', 7),
    { type: 'leave', ssrc: 6 },
    { type: 'close', callId: 'c' },
    gate(5, true),
  );
  expect([...ledger.replay()]).toEqual([{ type: 'open', callId: 'd' }, join('d', 7)]);
  expect(ledger.memberCount).toBe(1);
});

test('a replayed key continues at its last nonces, and its member at the last address', () => {
  const ledger = told({ type: 'open', callId: 'c' }, join('c', 5), udp(5));
  ledger.noteNonces(nonces(5, 70));
  const replayed = [...ledger.replay()].find(({ type }) => type === 'udp');
  expect(replayed).toMatchObject({ transport: { key, resume: nonces(5, 70) } });
});

test('a key without a nonce report is replayed as a used key', () => {
  const replayed = [...told({ type: 'open', callId: 'c' }, join('c', 5), udp(5)).replay()];
  expect(replayed.at(-1)).toMatchObject({
    transport: { resume: { ssrc: 5, sent: 0, received: null, address: null } },
  });
});

test('an older nonce report does not lower the count, and a new key resets it', () => {
  const ledger = told({ type: 'open', callId: 'c' }, join('c', 5), udp(5));
  ledger.noteNonces(nonces(5, 70));
  ledger.noteNonces(nonces(5, 60));
  const sentOf = (): unknown =>
    [...ledger.replay()].flatMap((order) => (order.type === 'udp' ? [order.transport.resume?.sent] : []));
  expect(sentOf()).toEqual([70]);
  ledger.note(udp(5));
  expect(sentOf()).toEqual([0]);
});

test('a member whose browser disconnected is replayed without a transport', () => {
  const ledger = told({ type: 'open', callId: 'c' }, join('c', 5), { type: 'peer', ssrc: 5 });
  expect([...ledger.replay()].at(-1)).toEqual({ type: 'peer', ssrc: 5 });
  ledger.note({ type: 'disconnect', ssrc: 5 });
  expect([...ledger.replay()].at(-1)).toEqual(join('c', 5));
});

const callId = fc.constantFrom('a', 'b');
const ssrc = fc.integer({ min: 1, max: 4 });
const anyOrder: fc.Arbitrary<LaneOrder> = fc.oneof(
  callId.map((id): LaneOrder => ({ type: 'open', callId: id })),
  callId.map((id): LaneOrder => ({ type: 'close', callId: id })),
  fc.tuple(callId, fc.boolean()).map(([id, on]): LaneOrder => ({ type: 'encryptedOnly', callId: id, on })),
  // A member is in one call: members of `b` have other SSRCs than members of `a`.
  fc.tuple(callId, ssrc).map(([id, each]) => join(id, id === 'a' ? each : each + 10)),
  ssrc.map((each): LaneOrder => ({ type: 'leave', ssrc: each })),
  ssrc.map(udp),
  ssrc.map((each): LaneOrder => ({ type: 'peer', ssrc: each })),
  fc.tuple(ssrc, fc.boolean()).map(([each, speaks]) => gate(each, speaks)),
);

test('a ledger that is built from a replay replays the same orders', () => {
  fc.assert(
    fc.property(fc.array(anyOrder, { maxLength: 60 }), (orders) => {
      const ledger = told(...orders);
      const replayed = [...ledger.replay()];
      const successor = told(...replayed);
      expect([...successor.replay()]).toEqual(replayed);
      expect(successor.memberCount).toBe(ledger.memberCount);
    }),
  );
});
