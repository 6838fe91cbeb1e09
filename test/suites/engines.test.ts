// Goal: settings alone make engines a cluster over machines: over PostgreSQL and etcd they are one server, and what one
// engine has acknowledged is served by the others.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createEngine, type Engine } from '../../main.ts';
import type { UserId } from '../../protocol/ids.ts';
import { etcdBinary, startEtcd, type TestEtcd } from '../support/etcd.ts';
import { type Database, databases } from './databases.ts';

const hasAll = inject('postgresUrl') !== null && etcdBinary !== null;
const engines = new Map<string, Engine>();
let etcd: TestEtcd;
let database: Database;

async function engineOf(id: string): Promise<Engine> {
  const engine = await createEngine({
    config: {
      ...{ shard_id: id, listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
      ...{ database_url: database.options.databaseUrl ?? null, postgres_connections: 4 },
      ...{ etcd_urls: `${etcd.url}, ${etcd.url}`, lease_ttl_ms: 2_000, partitions: 64 },
      ...{ handover_timeout_ms: 2_000, drain_timeout_ms: 5_000 },
    },
  });
  engines.set(id, engine);
  await engine.listen();
  return engine;
}

beforeAll(async () => {
  if (!hasAll || etcdBinary === null) return;
  etcd = await startEtcd(etcdBinary);
  database = await (databases()[1] as ReturnType<typeof databases>[number]).create();
});

afterAll(async () => {
  await Promise.all([...engines.values()].map((engine) => engine.close()));
  await etcd?.stop();
  await database?.dispose();
});

describe.skipIf(!hasAll)('engines over one PostgreSQL and one etcd', () => {
  const made: { id: string; name: string }[] = [];
  let userId: UserId;
  const read = (engine: Engine, id: string) =>
    engine.api.get_guild?.({ params: { guild_id: id } }, { as: userId }) as Promise<{ name: string }>;

  test('serve each other’s guilds and share their ownership', async () => {
    const [a, b] = [await engineOf('shard-a'), await engineOf('shard-b')];
    const { user } = await a.admin.createUser({ username: 'anna' });
    userId = user.id as UserId;
    for (let n = 0; n < 10; n += 1)
      made.push(await (n % 2 ? a : b).admin.createGuild({ name: `Guild ${n}`, ownerId: userId }));
    for (const engine of [a, b])
      for (const { id, name } of made) expect(await read(engine, id)).toMatchObject({ name });
    const { shards, partitions_unserved } = await a.cluster.status();
    expect(partitions_unserved).toBe(0);
    expect(shards.map(({ residents }) => (residents?.guild ?? 0) > 0)).toEqual([true, true]);
  });

  test('hand partitions over to a joining shard under a stream of commands, none of which fails', async () => {
    const [a, b] = [engines.get('shard-a'), engines.get('shard-b')] as [Engine, Engine];
    let over = false;
    const names = new Map(made.map(({ id, name }) => [id, name]));
    const writing = made.map(async ({ id }, index) => {
      for (let n = 0; !over; n += 1) {
        const name = `${index} after ${n}`;
        const body = { name };
        const engine = n % 2 ? a : b;
        await engine.api.update_guild?.({ params: { guild_id: id }, body }, { as: userId });
        names.set(id, name);
      }
    });
    const c = await engineOf('shard-c');
    await b.drain();
    over = true;
    await Promise.all(writing);
    for (const engine of [a, c])
      for (const [id, name] of names) expect(await read(engine, id)).toMatchObject({ name });
    const { shards } = await a.cluster.status();
    expect(shards.map(({ id, state, partitions }) => [id, state, partitions > 0])).toEqual([
      ['shard-a', 'serving', true],
      ['shard-b', 'draining', false],
      ['shard-c', 'serving', true],
    ]);
  });

  test('suspend decisions while etcd is silent beyond the safe time, and continue when it returns', async () => {
    const [a, c] = [engines.get('shard-a'), engines.get('shard-c')] as [Engine, Engine];
    const until = async (engine: Engine, done: (why: Record<string, string>) => boolean) => {
      for (const giveUpMs = Date.now() + 10_000; !done(await engine.unready()); )
        expect(Date.now()).toBeLessThan(giveUpMs);
    };
    const { id } = made[0] as { id: string };
    const { name: was } = await read(a, id);
    const body = { name: 'After the silence' };
    let written = false;
    etcd.pause();
    // Either of them may own the guild.
    for (const engine of [a, c]) await until(engine, ({ cluster }) => cluster !== undefined);
    const writing = a.api.update_guild?.({ params: { guild_id: id }, body }, { as: userId }).then(() => {
      written = true;
    });
    await delay(500);
    expect(written).toBe(false);
    // Both still answer reads.
    for (const engine of [a, c]) expect(await read(engine, id)).toMatchObject({ id, name: was });
    etcd.resume();
    await writing;
    for (const engine of [a, c]) await until(engine, (why) => Object.keys(why).length === 0);
    expect(await read(c, id)).toMatchObject(body);
  });
});
