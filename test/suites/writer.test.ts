// Goal: group commit keeps its promises over real databases: order, isolation of a poisoned commit, lost connections.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ChannelId } from '../../protocol/ids.ts';
import { commit, created, GUILD, id, message, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const CHANNEL = id<ChannelId>('100');

describe.each(databases())('writer on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    fresh = await openFresh(kind, { groupCommitsMax: 7 });
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

  if (kind.name === 'PostgreSQL')
    test('a connection lost in a commit is a fault; the next commit takes a new connection', async () => {
      const { writer } = fresh.storage;
      // The writer waits for a lock, and so is caught in the middle of its commit.
      const waiting = `FROM pg_locks WHERE NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      const answer = await fresh.driver.transaction(async (sql) => {
        await sql.query('LOCK TABLE channel_activity');
        const written = commit(writer, GUILD, created(message(CHANNEL, '5001'))).then(
          () => 'committed',
          String,
        );
        while ((await sql.query(`SELECT pid ${waiting}`)).length === 0);
        await sql.query(`SELECT pg_terminate_backend(pid, 10000) ${waiting}`);
        return written;
      });
      expect(answer).toContain('The connection to the database was lost during a commit');
      await commit(writer, GUILD, created(message(CHANNEL, '5002')));
      expect(await newest(1)).toEqual(['5002']);
      expect(await fresh.storage.unready()).toBeNull();
    });
});
