// Goal: ids spread over partitions and partitions over shards by weight; only what must move moves; and however the
// cluster stands, plans bring it to what is wanted without a partition ever having two owners.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leaseMarginMs, renewalEveryMs, safeUntilMs } from '../../../engine/placement/lease.ts';
import { hashOf, mixed, partitionOf } from '../../../engine/placement/partition.ts';
import { planOf } from '../../../engine/placement/plan.ts';
import { rendezvous } from '../../../engine/placement/rendezvous.ts';

const PARTITIONS = 1024;
const shard = (id: string, weight = 100, draining = false) => ({ id, weight, draining });
const named = (count: number) => Array.from({ length: count }, (_, n) => shard(`shard-${n}`));

const shards = fc.uniqueArray(
  fc.record({
    id: fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/),
    weight: fc.integer({ min: 1, max: 10_000 }),
    draining: fc.boolean(),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 12 },
);

const counted = (owners: readonly (string | null)[]) => {
  const counts = new Map<string | null, number>();
  for (const owner of owners) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  return counts;
};

describe('partitionOf', () => {
  it('keeps its values, because stored epochs depend on them', () => {
    // Reckoned by another program, from the definitions of FNV-1a and MurmurHash3.
    expect(['1', '1234567890123456789', '1234567890123456790'].map((id) => partitionOf(id, 1024))).toEqual([
      399, 155, 542,
    ]);
  });

  it('spreads consecutive ids evenly, and parts neighbours', () => {
    const counts = new Array<number>(64).fill(0);
    let together = 0;
    let last = -1;
    for (let n = 0n; n < 64_000n; n += 1n) {
      const partition = partitionOf(String(1_234_567_890_123_456_789n + n), 64);
      counts[partition] = (counts[partition] as number) + 1;
      if (partition === last) together += 1;
      last = partition;
    }
    // Six deviations of a binomial; one in 64 neighbours meets by chance.
    expect(Math.max(...counts.map((count) => Math.abs(count - 1_000)))).toBeLessThan(200);
    expect(together).toBeLessThan(1_250);
  });

  it('is within bounds for any text', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 65_536 }), (id, partitions) => {
        const partition = partitionOf(id, partitions);
        expect(Number.isInteger(partition) && partition >= 0 && partition < partitions).toBe(true);
      }),
    );
  });

  it('mixes without losing anything', () => {
    const seen = new Set(Array.from({ length: 10_000 }, (_, n) => mixed(n)));
    expect(seen.size).toBe(10_000);
    expect(hashOf('a', 1)).not.toBe(hashOf('a', 2));
  });
});

describe('rendezvous', () => {
  it('gives each shard its share by weight', () => {
    const counts = counted(rendezvous(PARTITIONS * 8)([shard('a', 100), shard('b', 100), shard('c', 200)]));
    for (const [id, share] of [
      ['a', 0.25],
      ['b', 0.25],
      ['c', 0.5],
    ] as const)
      expect(Math.abs((counts.get(id) ?? 0) / (PARTITIONS * 8) - share)).toBeLessThan(0.03);
  });

  it('assigns every partition, equally on every shard, in whatever order the shards are listed', () => {
    fc.assert(
      fc.property(shards, (all) => {
        const wanted = rendezvous(128)(all);
        const able = all.some(({ draining }) => !draining) ? all.filter((s) => !s.draining) : all;
        expect(wanted.every((id) => able.some((one) => one.id === id))).toBe(true);
        expect(rendezvous(128)([...all].reverse())).toEqual(wanted);
      }),
    );
    expect(counted(rendezvous(8)([]))).toEqual(new Map([[null, 8]]));
  });

  it('moves partitions only to a shard that joins and from a shard that leaves', () => {
    fc.assert(
      fc.property(shards, comer(), (all, come) => {
        fc.pre(!all.some(({ id }) => id === come.id) && all.some(({ draining }) => !draining));
        const place = rendezvous(256);
        const before = place(all);
        const after = place([...all, come]);
        for (const [partition, id] of after.entries()) if (id !== before[partition]) expect(id).toBe(come.id);
        expect(place(all)).toEqual(before);
      }),
    );
  });

  it('keeps its values, because shards of two versions must agree', () => {
    // Computed by another program, from the definitions of the hashes and of the draws.
    const wanted = rendezvous(16)([shard('a', 100), shard('b', 100), shard('c', 200)]);
    expect(wanted.join('')).toBe('cacbcbcccccabbca');
  });

  it('moves nothing when all weights change by the same factor', () => {
    const place = rendezvous(256);
    expect(place(named(5).map((one) => ({ ...one, weight: 700 })))).toEqual(place(named(5)));
  });
});

function comer() {
  return fc.record({
    id: fc.stringMatching(/^[A-Z]{3}$/),
    weight: fc.integer({ min: 1, max: 10_000 }),
    draining: fc.constant(false),
  });
}

describe('plans', () => {
  const view = fc.tuple(shards, fc.array(fc.integer({ min: -2, max: 11 }), { minLength: 16, maxLength: 16 }));

  it('converge from any view, with one owner at most at every step', () => {
    fc.assert(
      fc.property(view, fc.infiniteStream(fc.nat()), (drawn, turns) => {
        const [placed, owned] = drawn;
        const all = placed.map((one) => ({ ...one, instance: `${one.id}#1` }));
        const wanted = rendezvous(16)(all);
        const owners = owned.map((n) => (all[n] ? { instance: all[n].instance } : null));
        // The directory: a claim takes what is free, a release only what is one's own.
        for (let step = 0; step < 400; step += 1) {
          const self = all[turns.next().value % all.length] as (typeof all)[number];
          const plan = planOf({ shards: all, owners }, wanted, self.instance);
          for (const partition of plan.release.slice(0, 1)) {
            expect(owners[partition]?.instance).toBe(self.instance);
            owners[partition] = null;
          }
          for (const partition of plan.claim) {
            expect(owners[partition]).toBeNull();
            owners[partition] = { instance: self.instance };
          }
        }
        for (let round = 0; round < 40; round += 1)
          for (const self of all) {
            const plan = planOf({ shards: all, owners }, wanted, self.instance);
            for (const partition of plan.release) owners[partition] = null;
            for (const partition of plan.claim) owners[partition] = { instance: self.instance };
          }
        const staying = all.filter(({ draining }) => !draining);
        expect(owners.map((owner) => owner?.instance ?? null)).toEqual(
          wanted.map((id) => (staying.length > 0 ? `${id}#1` : null)),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('are empty for an instance that is no member, and leave the partitions of an earlier instance alone', () => {
    const shards = [{ ...shard('a'), instance: 'a#2' }];
    const owners = [{ instance: 'a#1' }, null, { instance: 'a#2' }];
    expect(planOf({ shards, owners }, ['a', 'a', 'a'], 'a#1')).toEqual({
      claim: [],
      release: [],
      awaited: [],
    });
    expect(planOf({ shards, owners }, ['a', 'a', 'a'], 'a#2')).toEqual({
      claim: [1],
      release: [],
      awaited: [0],
    });
  });
});

describe('a lease', () => {
  it('expires for its holder before it expires for any other shard, within the allowed clock drift', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e9 }),
        fc.integer({ min: 1_000, max: 600_000 }),
        fc.integer({ min: 0, max: 5_000 }),
        fc.double({ min: -0.009, max: 0.009, noNaN: true }),
        (sentMs, ttlMs, underWayMs, drift) => {
          // The directory counts from when the renewal reached it, with a clock that runs off by `drift`.
          const endsMs = sentMs + underWayMs + ttlMs * (1 - Math.abs(drift));
          expect(safeUntilMs(sentMs, ttlMs)).toBeLessThan(endsMs);
        },
      ),
    );
  });

  it('is renewed often enough that three renewals may be lost', () => {
    expect(3 * renewalEveryMs(10_000)).toBeLessThan(10_000 - leaseMarginMs(10_000));
    expect(safeUntilMs(500, 10_000)).toBe(500 + 10_000 - 300);
  });
});
