// Goal: engines that share a directory and a database are one server: each decides what it owns, all report the same
// status, and a drained engine owns nothing any more.
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../actors/runtime/clock.ts';
import type { Engine } from '../../embedding.ts';
import { createEngine } from '../../main.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { openStorage } from '../../storage/open.ts';
import type { Storage } from '../../storage/ports.ts';
import { MemoryAuthority, memoryDirectory } from '../support/memorydirectory.ts';

const engines: Engine[] = [];
let storage: Storage | null = null;

/** The database outlives the engines over it. */
async function sharedStorage(): Promise<Storage> {
  storage ??= await openStorage();
  return { ...storage, close: async () => undefined };
}

async function shardOf(authority: MemoryAuthority, id: string): Promise<Engine> {
  const engine = await createEngine({
    config: { shard_id: id, listen_port: 0, voice: false, log_level: 'silent', handover_timeout_ms: 1_000 },
    storage: await sharedStorage(),
    directory: memoryDirectory(authority),
  });
  engines.push(engine);
  return engine;
}

afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await storage?.close();
});

describe('two engines', () => {
  const authority = new MemoryAuthority(systemClock, { partitions: 32, ttlMs: 10_000 });

  it('serve each other’s guilds and report the same status', { timeout: 30_000 }, async () => {
    const a = await shardOf(authority, 'shard-a');
    expect(await a.unready()).toHaveProperty('cluster');
    await a.listen({ adminUrl: 'http://127.0.0.1:1' });
    expect(await a.unready()).toEqual({});
    const b = await shardOf(authority, 'shard-b');
    await b.listen();

    const { user } = await a.admin.createUser({ username: 'anna' });
    const guilds = await Promise.all(
      [a, b, a, b, a, b].map((engine, n) =>
        engine.admin.createGuild({ name: `Guild ${n}`, ownerId: user.id as UserId }),
      ),
    );
    for (const { id, name } of guilds)
      for (const engine of [a, b])
        expect(
          await engine.api.get_guild?.({ params: { guild_id: id as GuildId } }, { as: user.id }),
        ).toMatchObject({ name });

    const statuses = await Promise.all([a.cluster.status(), b.cluster.status()]);
    for (const { cluster_id, partitions, partitions_unserved, shards } of statuses) {
      expect([cluster_id, partitions, partitions_unserved]).toEqual(['guildhall', 32, 0]);
      expect(shards.map(({ id, state, pid, epoch_lag_ms }) => [id, state, pid, epoch_lag_ms])).toEqual([
        ['shard-a', 'serving', process.pid, 0],
        ['shard-b', 'serving', process.pid, 0],
      ]);
      expect(shards.map(({ admin_url }) => admin_url)).toEqual(['http://127.0.0.1:1', null]);
      expect(shards.reduce((sum, shard) => sum + shard.partitions, 0)).toBe(32);
      expect(shards.reduce((sum, { residents }) => sum + (residents?.guild ?? 0), 0)).toBe(guilds.length);
    }
    // Chance decides which shard owns a guild: six are at one shard once in 32 runs.
    const owners = async () =>
      (await a.cluster.status()).shards.map(({ residents }) => residents?.guild ?? 0);
    for (let more = 0; more < 60 && Math.min(...(await owners())) === 0; more += 1)
      await a.admin.createGuild({ name: `More ${more}`, ownerId: user.id as UserId });
    expect(Math.min(...(await owners()))).toBeGreaterThan(0);
    expect(await b.metrics()).toContain('guildhall_partitions_owned');
  });

  it('leave all partitions to one of them when the other is drained and closed', {
    timeout: 30_000,
  }, async () => {
    const [a, b] = engines as [Engine, Engine];
    await a.drain();
    const { shards, partitions_unserved } = await b.cluster.status();
    expect(partitions_unserved).toBe(0);
    expect(shards.map(({ id, state, partitions }) => [id, state, partitions])).toEqual([
      ['shard-a', 'draining', 0],
      ['shard-b', 'serving', 32],
    ]);
    await a.close();
    expect((await b.cluster.status()).shards.map(({ id }) => id)).toEqual(['shard-b']);
    const { user } = await b.admin.createUser({ username: 'berta' });
    expect(await b.admin.createGuild({ name: 'After', ownerId: user.id as UserId })).toMatchObject({
      name: 'After',
    });
  });
});

describe('a standalone engine', () => {
  it('reports itself as one serving shard', { timeout: 30_000 }, async () => {
    const engine = await createEngine({ config: { listen_port: 0, voice: false, log_level: 'silent' } });
    engines.push(engine);
    const { cluster_id, partitions_unserved, shards } = await engine.cluster.status();
    expect([cluster_id, partitions_unserved, shards.length]).toEqual([null, 0, 1]);
    expect(shards[0]).toMatchObject({
      ...{ state: 'serving', pid: process.pid, partitions: 1024, epoch_lag_ms: 0, sessions: 0 },
      residents: { guild: 0, user: 0, private_channel: 0, lobby: 0 },
    });
  });

  it('is rejected with a cluster directory and an embedded database', async () => {
    const authority = new MemoryAuthority(systemClock);
    const options = { config: { listen_port: 0 }, directory: memoryDirectory(authority) };
    await expect(createEngine(options)).rejects.toThrow('PostgreSQL');
  });
});
