// Goal: group commit keeps its promises over real databases: order, isolation of a poisoned commit, lost connections.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../actors/runtime/clock.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { BatchStatement, Driver } from '../../storage/database/driver.ts';
import type { Retry } from '../../storage/database/patience.ts';
import { openDriver } from '../../storage/open.ts';
import type { Writer } from '../../storage/ports.ts';
import { openWriter } from '../../storage/writer.ts';
import { openWire } from '../support/databasewire.ts';
import { commit, created, GUILD, id, message, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const CHANNEL = id<ChannelId>('100');
const RETRY: Retry = { forMs: 60_000, clock: systemClock };

describe.each(databases())('writer on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    fresh = await openFresh(kind, { groupCommitsMax: 7, retry: RETRY });
    await seed(fresh.storage.writer);
  });
  afterAll(() => fresh.close());

  const newest = async (count: number) =>
    (await fresh.storage.messages.list(GUILD, CHANNEL, { limit: count })).map((each) => each.id).reverse();

  test('commits of many owners are answered in the order in which they came', async () => {
    const { writer } = fresh.storage;
    const order: number[] = [];
    for (let n = 0; n < 100; n++) {
      const facts = n % 3 === 0 ? [created(message(CHANNEL, String(2000 + n)))] : [];
      const renamed = { type: 'userUpdated' as const, user: user('11', { username: `name${n}` }) };
      writer.commit({
        ownerId: n % 3 === 0 ? GUILD : '11',
        facts: n % 3 === 0 ? facts : [renamed],
        done: () => order.push(n),
      });
    }
    await writer.flush();
    expect(order).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(await newest(3)).toEqual(['2093', '2096', '2099']);
    expect((await fresh.storage.users.get([id('11')]))[0]?.username).toBe('name98');
  });

  test('a faulty commit fails with the later commits of its owner in the group, and no others', async () => {
    const { writer } = fresh.storage;
    const settled = await Promise.allSettled([
      commit(writer, GUILD, created(message(CHANNEL, '3001'))),
      commit(writer, '1', created(message('200', '3002')), created(message('200', '3002'))),
      commit(writer, GUILD, created(message(CHANNEL, '3003'))),
      commit(writer, '1', created(message('200', '3004'))),
      commit(writer, GUILD, created(message('nonsense', '3005'))),
    ]);
    expect(settled.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    expect(await newest(2)).toEqual(['3001', '3003']);
    expect(await fresh.storage.messages.list('1', id('200'), { limit: 10 })).toEqual([]);
    await commit(writer, '1', created(message('200', '3002')));
    expect(await fresh.storage.messages.list('1', id('200'), { limit: 10 })).toHaveLength(1);
  });

  test('a read after an answered commit sees it', async () => {
    for (let n = 0; n < 20; n++) {
      await commit(fresh.storage.writer, GUILD, created(message(CHANNEL, String(4000 + n))));
      expect(await newest(1)).toEqual([String(4000 + n)]);
    }
  });

  test('a transaction that throws is rolled back', async () => {
    const failing = fresh.driver.transaction(async (sql) => {
      await sql.query('INSERT INTO settings (key, value) VALUES ($1, $2)', ['lost', '']);
      throw new Error('changed its mind');
    });
    await expect(failing).rejects.toThrow('changed its mind');
    expect(await fresh.storage.settings.get('lost')).toBeNull();
  });

  /** Ends the connection of the writer in the middle of a commit of `messageId`, for which it waits for a lock. */
  async function commitAndLose(writer: Writer, messageId: string): Promise<() => Promise<string>> {
    const waiting = `FROM pg_locks WHERE NOT granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    return fresh.driver.transaction(async (sql) => {
      await sql.query('LOCK TABLE channel_activity');
      const written = commit(writer, GUILD, created(message(CHANNEL, messageId))).then(
        () => 'committed',
        String,
      );
      while ((await sql.query(`SELECT pid ${waiting}`)).length === 0);
      await sql.query(`SELECT pg_terminate_backend(pid, 10000) ${waiting}`);
      return () => written;
    });
  }

  if (kind.name === 'PostgreSQL') {
    test('a commit whose connection is lost is repeated over a new one and written once', async () => {
      const answer = await commitAndLose(fresh.storage.writer, '5001');
      expect(await answer()).toBe('committed');
      expect(await newest(1)).toEqual(['5001']);
      expect(await fresh.storage.unready()).toBeNull();
    });

    test('a lost connection is a fault where nothing is repeated; the next commit takes a new one', async () => {
      const writer = openWriter(fresh.driver);
      const answer = await commitAndLose(writer, '5002');
      expect(await answer()).toContain('The connection to the database was lost during a commit');
      await commit(writer, GUILD, created(message(CHANNEL, '5003')));
      expect(await newest(1)).toEqual(['5003']);
    });

    test('a commit is written once when its answer is lost, whether its transaction had ended or not', async () => {
      const { driver } = fresh;
      for (const [index, isOpen] of [false, true].entries()) {
        let ended = Promise.resolve();
        let attempts = 0;
        const losing: Driver = {
          ...driver,
          async batch<Row>(statements: readonly BatchStatement[]) {
            attempts += 1;
            if (attempts > 1) return driver.batch<Row>(statements);
            let begun = () => {};
            const isRunning = new Promise<void>((resolve) => {
              begun = resolve;
            });
            ended = driver.transaction(async (sql) => {
              for (const { text, values } of statements) await sql.query(text, values);
              begun();
              if (isOpen) await sql.query('SELECT pg_sleep(0.2)');
            });
            await (isOpen ? isRunning : ended);
            throw new Error('Connection terminated');
          },
        };
        const writer = openWriter(losing, { retry: RETRY });
        await commit(writer, GUILD, created(message(CHANNEL, String(6000 + index))));
        await ended;
        expect([attempts, ...(await newest(1))]).toEqual([2, String(6000 + index)]);
      }
    });

    test('a commit on a connection that died unnoticed is written once', async () => {
      const wire = await openWire(fresh.options.databaseUrl ?? '');
      const through = await openDriver({ databaseUrl: wire.url, connectionsMax: 1 });
      try {
        const writer = openWriter(through);
        await commit(writer, GUILD, created(message(CHANNEL, '6100')));
        wire.resetNext();
        await commit(writer, GUILD, created(message(CHANNEL, '6101')));
        expect(await newest(2)).toEqual(['6100', '6101']);
      } finally {
        await through.close();
        await wire.close();
      }
    });

    test('rows of writers that ended a day ago are deleted by the first transaction of another', async () => {
      const { driver } = fresh;
      const count = async () => {
        const [row] = await driver.query<{ n: number }>(
          "SELECT count(*)::integer AS n FROM writer_transactions WHERE at < now() - interval '1 day'",
        );
        return row?.n;
      };
      await driver.query("UPDATE writer_transactions SET at = now() - interval '2 days'");
      expect(await count()).toBeGreaterThan(0);
      await commit(openWriter(driver), GUILD, created(message(CHANNEL, '7000')));
      expect(await count()).toBe(0);
    });
  }
});
