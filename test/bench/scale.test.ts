// Goal: the model of many sessions is the same for a seed, and adds up: nothing is lost by being spread.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { guildsOf, homesOf, simulate, WORLD } from '../../bench/scale/model.ts';

const SMALL = { ...WORLD, sessions: 2000 };

describe('the model', () => {
  test('makes the same guilds of a seed, others of another, and seats everybody', () => {
    const guilds = guildsOf(SMALL);
    expect(guildsOf(SMALL)).toEqual(guilds);
    expect(guildsOf({ ...SMALL, seed: 2 })).not.toEqual(guilds);
    expect(guilds.reduce((sum, each) => sum + each, 0)).toBe(SMALL.sessions * SMALL.guildsEach);
  });

  test('has the readers of a guild at no more homes than there are shards or readers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 1000 }), (readers, shards) => {
        const homes = homesOf(readers, shards);
        expect(homes).toBeGreaterThan(0);
        expect(homes).toBeLessThanOrEqual(Math.min(readers, shards) + 1e-6);
      }),
    );
  });

  test('lets one shard speak over no link, and the same messages come of any number of shards', () => {
    const guilds = guildsOf(SMALL);
    const [alone, many] = [simulate(SMALL, guilds, 1, 64), simulate(SMALL, guilds, 8, 64)];
    expect(alone).toMatchObject({ frames: 0, linkBytes: 0 });
    expect(many.linkBytes).toBeGreaterThan(0);
    expect(many.messages).toBeCloseTo(alone.messages, 6);
    expect(many.deliveries).toBeCloseTo(alone.deliveries, 6);
    expect(many.cores.sum).toBeGreaterThan(alone.cores.sum);
    expect(many.cores.hottest).toBeLessThan(alone.cores.hottest);
    expect(many.cores.hottest).toBeGreaterThanOrEqual(many.cores.mean);
  });
});
