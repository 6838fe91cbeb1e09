/** Goal: relations at hand are as they were last written, read once for all who ask, and bounded by how many they are. */
import { expect, it } from 'vitest';
import { RELATION, type StoredRelation } from '../../../engine/social/facts.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { KnownRelations } from '../../../services/social/circle.ts';

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
  return { reads, store, circle: new KnownRelations(store) };
}

it('reads once, and again after a change', async () => {
  const { circle, reads } = arrange();
  await Promise.all([circle.of(id(1)), circle.of(id(1)), circle.friends(id(1), id(1_000), null)]);
  expect(reads).toEqual(['1']);
  circle.forget(id(1));
  expect(await circle.friends(id(1), id(1_000), null)).toBe(true);
  expect(await circle.blocks(id(1), id(1_000))).toBe(false);
  expect(reads).toEqual(['1', '1']);
});

it('keeps nothing of a read that failed', async () => {
  const { circle, store, reads } = arrange();
  const { of } = store;
  store.of = () => Promise.reject(new Error('The disk is gone.'));
  await expect(circle.of(id(1))).rejects.toThrow('The disk is gone.');
  store.of = of;
  expect(await circle.of(id(1))).toHaveLength(1);
  expect(reads).toHaveLength(1);
});

it('drops the oldest when there are too many', async () => {
  const { circle, reads } = arrange(8_000);
  for (let each = 0; each < 30; each += 1) await circle.of(id(each));
  await circle.of(id(29));
  expect(reads).toHaveLength(30);
  await circle.of(id(0));
  expect(reads).toHaveLength(31);
  circle.forgetAll();
  await circle.of(id(29));
  expect(reads).toHaveLength(32);
});
