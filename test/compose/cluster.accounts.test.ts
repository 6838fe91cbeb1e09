// Goal: people create accounts at whichever shard their request reaches.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { UserId } from '../../protocol/ids.ts';
import { openCluster, type TestCluster } from '../support/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await openCluster(3, { registration: 'open' });
}, 60_000);
afterAll(() => cluster.close());

it('creates every account at the shard that is asked, also those that other shards own', async () => {
  const here = cluster.instance(0);
  const userIds: UserId[] = [];
  for (let at = 0; at < 12; at += 1) {
    // Without a password, whose hash takes real time.
    const form = { username: `sharded${at}`, email: null, password: null };
    const also = { userId: here.foundation.nextId(), facts: [] };
    const reply = await cluster.while(here.features.accounts.create(form, also));
    if (!reply.ok) throw new Error(JSON.stringify(reply));
    userIds.push(reply.value);
  }
  const owners = new Set(userIds.map((userId) => cluster.ownerOf(userId)));
  expect(owners.size).toBe(3);
});
