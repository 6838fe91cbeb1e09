/** Goal: relations at hand are as they were last written, read once for all who ask, and bounded by how many they are. */
import { expect, it } from 'vitest';
import { RELATION, type StoredRelation } from '../../../engine/social/facts.ts';
import type { ApplicationId, UserId } from '../../../protocol/ids.ts';
import { RelationCache } from '../../../services/social/friendcache.ts';

const id = (value: number) => String(value) as UserId;
const relations = (userId: UserId, count: number, type: StoredRelation['type'] = RELATION.FRIEND) =>
  Array.from({ length: count }, (_, at) => ({
    userId,
    peerId: id(1_000 + at),
    applicationId: null,
    type,
    sinceMs: 0,
    nickname: null,
    originApplicationId: null,
  }));

function arrange(count = 1) {
  const reads: UserId[] = [];
  const store = {
    of: async (userId: UserId) => {
      reads.push(userId);
      return relations(userId, count);
    },
  };
  return { reads, store, cache: new RelationCache(store) };
}

it('the friend cache reads a user once, and again after a change', async () => {
  const { cache, reads } = arrange();
  await Promise.all([cache.of(id(1)), cache.of(id(1)), cache.friends(id(1), id(1_000), null)]);
  expect(reads).toEqual(['1']);
  cache.forget(id(1));
  expect(await cache.friends(id(1), id(1_000), null)).toBe(true);
  expect(await cache.blocks(id(1), id(1_000))).toBe(false);
  expect(reads).toEqual(['1', '1']);
});

it('the friend cache keeps nothing of a failed read', async () => {
  const { cache, store, reads } = arrange();
  const { of } = store;
  store.of = () => Promise.reject(new Error('The disk is gone.'));
  await expect(cache.of(id(1))).rejects.toThrow('The disk is gone.');
  store.of = of;
  expect(await cache.of(id(1))).toHaveLength(1);
  expect(reads).toHaveLength(1);
});

it('the friend cache evicts the oldest user when it is full', async () => {
  const { cache, reads } = arrange(8_000);
  for (let each = 0; each < 30; each += 1) await cache.of(id(each));
  await cache.of(id(29));
  expect(reads).toHaveLength(30);
  await cache.of(id(0));
  expect(reads).toHaveLength(31);
  cache.forgetAll();
  await cache.of(id(29));
  expect(reads).toHaveLength(32);
});

it('a user blocked within a game is not blocked on the platform', async () => {
  const relation = relations(id(1), 1, RELATION.BLOCKED)[0]!;
  const inGame = { ...relation, applicationId: '7' as ApplicationId };
  const blocks = (...stored: StoredRelation[]) =>
    new RelationCache({ of: async () => stored }).blocks(id(1), relation.peerId);
  expect([await blocks(inGame), await blocks(inGame, relation)]).toEqual([false, true]);
});
