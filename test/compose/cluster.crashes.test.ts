// Goal: in whatever order shards die, links break and guilds move, a client that resumes receives every message once, in order.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import type { UserId } from '../../protocol/ids.ts';
import { openCluster } from '../support/cluster.ts';
import { holdsOverFaults, SHARDS } from '../support/faultrun.ts';
import { ResumingClient } from '../support/resumingclient.ts';

beforeAll(async () => (await openCluster(1)).close(), 60_000);

/** One client of one bot at each shard; all receive the renames of a guild. */
async function arrange() {
  const folder = await mkdtemp(join(tmpdir(), 'guildhall-crashes-'));
  const cluster = await openCluster(SHARDS, { journal_dir: folder });
  const { guildId, ownerId, botId, botToken } = await cluster.found();
  const clients = cluster.instances.map((home) => new ResumingClient(cluster, botToken, home));
  for (const client of clients) await client.identify('GUILD_CREATE');
  const userId = ownerId as UserId;
  const by = { userId, bot: false, applicationId: null, applicationFlags: 0, reason: null };
  return {
    ...{ cluster, clients, streamId: guildId, userIds: [botId] },
    say: (instance: (typeof cluster.instances)[number], name: string) =>
      instance.guilds.call(guildId, 'updateGuild', { draft: { name } }, { by, requires: 0n }),
    textsOf: ({ received }: ResumingClient) =>
      received.flatMap(({ t, d }) => (t === 'GUILD_UPDATE' ? [(d as { name: string }).name] : [])),
    async close() {
      cluster.close();
      await rm(folder, { recursive: true });
    },
  };
}

describe('clients of a cluster', () => {
  it(
    'receive every event once over crashes, ownership moves and broken links',
    () => holdsOverFaults(arrange),
    300_000,
  );
});
