// Goal: frames sent to a peer arrive in order and once however often streams fail, or the peer knows that some are
// missing.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EncodedFrame } from '../../../transports/cluster/codec.ts';
import { SendQueue } from '../../../transports/cluster/sendqueue.ts';

const parcel = (n: number, bytes = 1): EncodedFrame => ({ parts: [n], bytes });

/** As a packet: its number, what it holds, and how large it is. */
function outletOf(bytesMax: number): SendQueue {
  return new SendQueue({
    bytesMax,
    pack: (sequence, parcels) =>
      Buffer.concat([
        Buffer.from(`${JSON.stringify([sequence, parcels.map(({ parts }) => parts[0])])}\n`),
        Buffer.alloc(parcels.reduce((sum, { bytes }) => sum + bytes, 0)),
      ]),
  });
}

const read = (packet: Buffer): [number, number[]] => JSON.parse(packet.toString().split('\n', 1)[0] ?? '');

describe('the send queue', () => {
  test('sends queued updates as one batch, and at most one window of them before an acknowledgement', () => {
    const sendQueue = outletOf(64 << 20);
    for (const n of [1, 2, 3]) sendQueue.add(parcel(n));
    expect(read(sendQueue.next() as Buffer)).toEqual([1, [1, 2, 3]]);
    expect(sendQueue.next()).toBeNull();
    for (let n = 0; n < 40; n += 1) expect(sendQueue.add(parcel(n, 1 << 20))).toBe(true);
    let sent = 1;
    while (sendQueue.next()) sent += 1;
    expect(sent).toBeGreaterThan(4);
    expect(sent).toBeLessThan(12);
    expect(sendQueue.taken(sent)).toBe(true);
    expect(sendQueue.next()).not.toBeNull();
    expect(sendQueue.taken(sent + 20)).toBe(false);
  });

  test('rejects updates beyond its bound, whether the queued ones were sent or not', () => {
    const sendQueue = outletOf(1000);
    expect(sendQueue.add(parcel(1, 600))).toBe(true);
    expect(sendQueue.add(parcel(2, 600))).toBe(false);
    const first = sendQueue.next() as Buffer;
    expect(sendQueue.waitingBytes).toBe(first.length);
    expect(sendQueue.add(parcel(3, 600))).toBe(false);
    sendQueue.taken(1);
    expect(sendQueue.waitingBytes).toBe(0);
    expect(sendQueue.add(parcel(4, 600))).toBe(true);
    sendQueue.endGeneration();
    expect([sendQueue.generation, sendQueue.waitingBytes, sendQueue.next()]).toEqual([1, 0, null]);
  });

  test('does not continue with a peer that lost acknowledged batches or acknowledges batches never sent', () => {
    const sendQueue = outletOf(1000);
    for (const n of [1, 2]) {
      sendQueue.add(parcel(n));
      sendQueue.next();
    }
    sendQueue.taken(1);
    expect(sendQueue.begin(0)).toBe(false);
    expect(sendQueue.begin(3)).toBe(false);
    expect(sendQueue.begin(1)).toBe(true);
    expect(read(sendQueue.next() as Buffer)).toEqual([2, [2]]);
  });

  const step = fc.oneof(
    { weight: 5, arbitrary: fc.constant('add' as const) },
    { weight: 3, arbitrary: fc.constant('send' as const) },
    { weight: 3, arbitrary: fc.constant('arrive' as const) },
    { weight: 2, arbitrary: fc.constant('acknowledge' as const) },
    { weight: 1, arbitrary: fc.constant('fail' as const) },
  );

  test('loses, doubles and reorders nothing within a generation', () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 120 }),
        fc.integer({ min: 20, max: 400 }),
        (steps, bytesMax) => {
          const sendQueue = outletOf(bytesMax);
          const peer = { generation: 0, taken: 0, got: [] as number[], breaks: 0 };
          let wire: Buffer[] = [];
          let told: number[] = [];
          let next = 0;
          const begin = () => {
            wire = [];
            if (peer.generation !== sendQueue.generation)
              Object.assign(peer, { generation: sendQueue.generation, taken: 0, got: [] });
            if (!sendQueue.begin(peer.taken)) throw new Error('The peer is known.');
          };
          const doStep = (each: (typeof steps)[number]) => {
            if (each === 'add') {
              next += 1;
              if (sendQueue.add(parcel(next, 5))) told.push(next);
              else {
                sendQueue.endGeneration();
                told = [];
                begin();
              }
            } else if (each === 'send') {
              const packet = sendQueue.next();
              if (packet) wire.push(packet);
            } else if (each === 'arrive') {
              const packet = wire.shift();
              if (!packet) return;
              const [sequence, numbers] = read(packet);
              expect(sequence).toBe(peer.taken + 1);
              peer.taken = sequence;
              peer.got.push(...numbers);
            } else if (each === 'acknowledge') expect(sendQueue.taken(peer.taken)).toBe(true);
            else begin();
          };
          for (const each of steps) {
            doStep(each);
            expect(sendQueue.waitingBytes).toBeLessThanOrEqual(bytesMax + 40);
          }
          for (let round = 0; round < 500; round += 1)
            for (const each of ['send', 'arrive', 'acknowledge'] as const) doStep(each);
          expect(peer.got).toEqual(told);
          expect(sendQueue.waitingBytes).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
