// Goal: relations of merged accounts are committed at the owner that was asked to move them, whomever they concern.
import { expect, it } from 'vitest';
import { HERE } from '../../../actors/placement/routing.ts';
import { RELATION } from '../../../engine/social/facts.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { createRelationships, type RelationshipPorts } from '../../../services/social/relationships.ts';

const [FROM, TO, PEER] = ['30', '20', '25'] as [UserId, UserId, UserId];

it('commits at the owner that it asked, also when the relation to the merged account has nothing to add to the other', async () => {
  const asked: unknown[] = [];
  const committed: unknown[] = [];
  const friends = [FROM, TO].flatMap((userId) => [
    { ...{ userId, peerId: PEER, applicationId: null }, type: RELATION.FRIEND },
    { ...{ userId: PEER, peerId: userId, applicationId: null }, type: RELATION.FRIEND },
  ]);
  const ports = {
    routing: {
      ...HERE,
      ask:
        (method: string, run: (...args: unknown[]) => Promise<unknown>) =>
        (...args: unknown[]) => {
          if (method === 'relationships.takeOver') asked.push(args[0]);
          return run(...args);
        },
    },
    relationships: {
      of: async (id: UserId) => friends.filter(({ userId }) => userId === id),
      towards: async (id: UserId) => friends.filter(({ peerId }) => peerId === id),
      among: async () => friends,
    },
    users: { get: async () => [] },
    commitAndNotify: async (ownerId: UserId) => {
      committed.push(ownerId);
      return () => undefined;
    },
    friendCache: { forget: async () => undefined },
    tap: { see: () => undefined },
    ...{ relationsChanged: async () => undefined, introduce: async () => undefined, nowMs: () => 0 },
    ...{ nextId: () => '1', wheel: { add: () => ({ cancel: () => undefined }) } },
  };
  await createRelationships(ports as unknown as RelationshipPorts).merge(FROM, TO);
  expect([asked, committed]).toEqual([[TO], [TO]]);
});
