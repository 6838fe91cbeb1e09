// Goal: what is told to a peer arrives in order and once however often streams fail, or the peer knows that something is missing.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Parcel } from '../../../transports/cluster/codec.ts';
import { Outlet } from '../../../transports/cluster/outlet.ts';

const parcel = (n: number, bytes = 1): Parcel => ({ parts: [n], bytes });

/** As a packet: its number, what it holds, and how large it is. */
function outletOf(bytesMax: number): Outlet {
  return new Outlet({
    bytesMax,
    pack: (sequence, parcels) =>
      Buffer.concat([
        Buffer.from(`${JSON.stringify([sequence, parcels.map(({ parts }) => parts[0])])}\n`),
        Buffer.alloc(parcels.reduce((sum, { bytes }) => sum + bytes, 0)),
      ]),
  });
}

const read = (packet: Buffer): [number, number[]] => JSON.parse(packet.toString().split('\n', 1)[0] ?? '');

describe('an outlet', () => {
  test('sends what has gathered as one batch, and no more than a window', () => {
    const outlet = outletOf(64 << 20);
    for (const n of [1, 2, 3]) outlet.add(parcel(n));
    expect(read(outlet.next() as Buffer)).toEqual([1, [1, 2, 3]]);
    expect(outlet.next()).toBeNull();
    for (let n = 0; n < 40; n += 1) expect(outlet.add(parcel(n, 1 << 20))).toBe(true);
    let sent = 1;
    while (outlet.next()) sent += 1;
    expect(sent).toBeGreaterThan(4);
    expect(sent).toBeLessThan(12);
    expect(outlet.taken(sent)).toBe(true);
    expect(outlet.next()).not.toBeNull();
    expect(outlet.taken(sent + 20)).toBe(false);
  });

  test('takes no more than its bound, whether it is sent or not', () => {
    const outlet = outletOf(1000);
    expect(outlet.add(parcel(1, 600))).toBe(true);
    expect(outlet.add(parcel(2, 600))).toBe(false);
    const first = outlet.next() as Buffer;
    expect(outlet.waitingBytes).toBe(first.length);
    expect(outlet.add(parcel(3, 600))).toBe(false);
    outlet.taken(1);
    expect(outlet.waitingBytes).toBe(0);
    expect(outlet.add(parcel(4, 600))).toBe(true);
    outlet.endGeneration();
    expect([outlet.generation, outlet.waitingBytes, outlet.next()]).toEqual([1, 0, null]);
  });

  test('does not go on with a peer that has forgotten what it had taken, or has taken what was not sent', () => {
    const outlet = outletOf(1000);
    for (const n of [1, 2]) {
      outlet.add(parcel(n));
      outlet.next();
    }
    outlet.taken(1);
    expect(outlet.begin(0)).toBe(false);
    expect(outlet.begin(3)).toBe(false);
    expect(outlet.begin(1)).toBe(true);
    expect(read(outlet.next() as Buffer)).toEqual([2, [2]]);
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
          const outlet = outletOf(bytesMax);
          const peer = { generation: 0, taken: 0, got: [] as number[], breaks: 0 };
          let wire: Buffer[] = [];
          let told: number[] = [];
          let next = 0;
          const begin = () => {
            wire = [];
            if (peer.generation !== outlet.generation)
              Object.assign(peer, { generation: outlet.generation, taken: 0, got: [] });
            if (!outlet.begin(peer.taken)) throw new Error('The peer is known.');
          };
          const doStep = (each: (typeof steps)[number]) => {
            if (each === 'add') {
              next += 1;
              if (outlet.add(parcel(next, 5))) told.push(next);
              else {
                outlet.endGeneration();
                told = [];
                begin();
              }
            } else if (each === 'send') {
              const packet = outlet.next();
              if (packet) wire.push(packet);
            } else if (each === 'arrive') {
              const packet = wire.shift();
              if (!packet) return;
              const [sequence, numbers] = read(packet);
              expect(sequence).toBe(peer.taken + 1);
              peer.taken = sequence;
              peer.got.push(...numbers);
            } else if (each === 'acknowledge') expect(outlet.taken(peer.taken)).toBe(true);
            else begin();
          };
          for (const each of steps) {
            doStep(each);
            expect(outlet.waitingBytes).toBeLessThanOrEqual(bytesMax + 40);
          }
          for (let round = 0; round < 500; round += 1)
            for (const each of ['send', 'arrive', 'acknowledge'] as const) doStep(each);
          expect(peer.got).toEqual(told);
          expect(outlet.waitingBytes).toBe(0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
