// Goal: shards work behind a pooler that gives each transaction another connection of the server, and a URL that does not
// name the pooler is refused with what to add.
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createEngine, type Engine } from '../../main.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Driver } from '../../storage/database/driver.ts';
import { openDriver } from '../../storage/open.ts';
import { etcdBinary, startEtcd, type TestEtcd } from '../support/etcd.ts';
import { pgbouncerBinary, startPgbouncer, type TestPooler } from '../support/pgbouncer.ts';
import { type Database, databases } from './databases.ts';

const hasAll = inject('postgresUrl') !== null && etcdBinary !== null && pgbouncerBinary !== null;
/** Fewer than the statements that are in progress at once. */
const SERVER_CONNECTIONS = 2;
const MESSAGES = 120;

let database: Database;
let pooler: TestPooler;
let etcd: TestEtcd;

beforeAll(async () => {
  if (etcdBinary === null || pgbouncerBinary === null || !hasAll) return;
  database = await (databases()[1] as ReturnType<typeof databases>[number]).create();
  pooler = await startPgbouncer(pgbouncerBinary, database.options.databaseUrl ?? '', SERVER_CONNECTIONS);
  etcd = await startEtcd(etcdBinary);
});

afterAll(async () => {
  await etcd?.stop();
  await pooler?.stop();
  await database?.dispose();
});

const pooled = (): string => `${pooler.url}?pooler=transaction`;

async function engineOf(id: string): Promise<Engine> {
  const engine = await createEngine({
    config: {
      ...{ shard_id: id, listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
      ...{ database_url: pooled(), postgres_connections: 8, etcd_urls: etcd.url, partitions: 16 },
      ...{ drain_timeout_ms: 5_000 },
    },
  });
  await engine.listen();
  return engine;
}

describe.skipIf(!hasAll)('a pooler in transaction mode', () => {
  test('carries the commits, fences and reads of two shards', async () => {
    let engines = [await engineOf('shard-a'), await engineOf('shard-b')] as const;
    const [a, b] = engines;
    const userId = (await a.admin.createUser({ username: 'anna' })).user.id as UserId;
    const { id } = await b.admin.createGuild({ name: 'Pooled', ownerId: userId });
    const as = { as: userId };
    const channels = (await a.api.list_guild_channels?.({ params: { guild_id: id } }, as)) as {
      id: string;
      type: number;
    }[];
    const params = { channel_id: channels.find(({ type }) => type === 0)?.id ?? '' };
    const contents = Array.from({ length: MESSAGES }, (_, n) => `message ${n}`);
    await Promise.all(
      contents.map((content, n) => (n % 2 ? a : b).api.create_message?.({ params, body: { content } }, as)),
    );
    await Promise.all(engines.map((engine) => engine.close()));
    engines = [await engineOf('shard-a'), await engineOf('shard-b')];
    const read = [];
    for (let before: string | undefined; read.length < MESSAGES; ) {
      const query = { limit: 100, ...(before !== undefined && { before }) };
      const page = (await engines[0].api.list_messages?.({ params, query }, as)) as {
        id: string;
        content: string;
      }[];
      expect(page.length).toBeGreaterThan(0);
      read.push(...page.map(({ content }) => content));
      before = page.at(-1)?.id;
    }
    await Promise.all(engines.map((engine) => engine.close()));
    expect(read.sort()).toEqual(contents.sort());
  });

  describe('with the driver', () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await openDriver({ databaseUrl: pooled(), connectionsMax: 8 });
    });
    afterAll(() => driver?.close());

    test('limits the time of a transaction, and leaves no setting on the connection', async () => {
      const text = `SELECT current_setting('statement_timeout') AS statement, current_setting('idle_in_transaction_session_timeout') AS idle`;
      expect(await driver.transaction((sql) => sql.query(text))).toEqual([
        { statement: '1min', idle: '10s' },
      ]);
      const after = await Promise.all(
        Array.from({ length: 4 * SERVER_CONNECTIONS }, () => driver.query(text)),
      );
      expect(new Set(after.map((rows) => JSON.stringify(rows)))).toEqual(
        new Set([JSON.stringify([{ statement: '0', idle: '0' }])]),
      );
    });

    test('returns the rows of each statement of a batch, and of no other', async () => {
      const numbers = ['1', '2'].map((n) => ({ text: 'SELECT $1::int AS n', values: [n] }));
      expect(await driver.batch(numbers)).toEqual([[{ n: 1 }], [{ n: 2 }]]);
      expect(await driver.batch(numbers.slice(1))).toEqual([[{ n: 2 }]]);
    });

    test('keeps no prepared statement on the server', async () => {
      await Promise.all(Array.from({ length: 20 }, (_, n) => driver.query('SELECT $1::int AS n', [n])));
      expect(await driver.query('SELECT name FROM pg_prepared_statements')).toEqual([]);
    });
  });

  test('is named by the error when database_url does not name it', async () => {
    await expect(openDriver({ databaseUrl: pooler.url })).rejects.toThrow(
      /refused the connection: .*unsupported startup parameter: .* add pooler=transaction to the query of database_url\.$/,
    );
  });
});
