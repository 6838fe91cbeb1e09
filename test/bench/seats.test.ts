// Goal: sessions of a run are dealt out so that each receives the run's guild and no start limit is broken.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Guest, seatsOf, shardsOfGuild } from '../../bench/gateway/seats.ts';

const guildIds = fc.bigInt({ min: 1n << 22n, max: (1n << 63n) - 1n }).map(String);
const allowances = fc.record({
  remaining: fc.nat({ max: 60 }),
  maxConcurrency: fc.integer({ min: 1, max: 64 }),
  shards: fc.integer({ min: 1, max: 40 }),
});

describe('seats', () => {
  test('are of shards that have the guild, as many shards as the server wants or more, each in another bucket', () => {
    fc.assert(
      fc.property(guildIds, allowances, fc.integer({ min: 1, max: 200 }), (guildId, allowance, wanted) => {
        const found = shardsOfGuild(guildId, allowance, wanted);
        expect(found.length).toBeGreaterThan(0);
        for (const [id, count] of found) {
          expect((BigInt(guildId) >> 22n) % BigInt(count)).toBe(BigInt(id));
          expect(count).toBeGreaterThanOrEqual(allowance.shards);
        }
        const buckets = found.map(([id]) => id % allowance.maxConcurrency);
        expect(new Set(buckets).size).toBe(found.length);
      }),
    );
  });

  test('use every start bucket of a server with the defaults', () => {
    const allowance = { maxConcurrency: 16, shards: 1 };
    // Ids of the first seconds of the epoch fall on too few shards; no server has them.
    const made = fc.bigInt({ min: 1n << 55n, max: (1n << 63n) - 1n }).map(String);
    fc.assert(
      fc.property(made, (id) => {
        expect(shardsOfGuild(id, allowance, 100)).toHaveLength(16);
      }),
    );
  });

  test('are as many as were asked for or as may start, no bot more than it may, no bucket in two lanes', () => {
    const guests = fc
      .array(fc.option(allowances), { minLength: 1, maxLength: 5 })
      .map((all) => all.map((allowance, index): Guest => ({ token: `bot ${index}`, allowance })));
    fc.assert(
      fc.property(guests, guildIds, fc.integer({ min: 1, max: 150 }), (all, guildId, wanted) => {
        const { seats, lanes } = seatsOf(all, guildId, wanted);
        const most = all.reduce((sum, { allowance }) => sum + (allowance?.remaining ?? wanted), 0);
        expect(seats).toHaveLength(Math.min(wanted, most));
        expect(new Set(seats.map(({ lane }) => lane))).toEqual(
          new Set(Array.from({ length: lanes }, (_, at) => at)),
        );
        const laneOf = new Map<string, number>();
        for (const { token, shard, lane } of seats) {
          const guest = all.find((each) => each.token === token);
          if (!guest?.allowance) continue;
          const bucket = `${token} ${shard[0] % guest.allowance.maxConcurrency}`;
          expect(laneOf.get(bucket) ?? lane).toBe(lane);
          laneOf.set(bucket, lane);
        }
        for (const { token, allowance } of all)
          expect(seats.filter((seat) => seat.token === token).length).toBeLessThanOrEqual(
            allowance?.remaining ?? wanted,
          );
      }),
    );
  });

  test('belong to the only shard without a known guild', () => {
    const guest = { token: 'a', allowance: { remaining: 9, maxConcurrency: 16, shards: 1 } };
    expect(seatsOf([guest], null, 3)).toMatchObject({
      lanes: 1,
      rounds: 2,
      seats: [{ shard: [0, 1] }, {}, {}],
    });
  });
});
