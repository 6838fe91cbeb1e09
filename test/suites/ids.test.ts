// Goal: new ids are above the highest id ever written, whatever a clock says: after a restart, after a crash at any
// moment, and at the next owner of a partition.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { snowflakeSource } from '../../actors/runtime/snowflakes.ts';
import { VirtualClock } from '../../actors/runtime/virtual.ts';
import { compareIds, type UserId } from '../../protocol/ids.ts';
import { migrate } from '../../storage/migrate.ts';
import { MIGRATIONS } from '../../storage/migrations/index.ts';
import { openDriver, storageOver } from '../../storage/open.ts';
import type { Storage } from '../../storage/ports.ts';
import { createTestEngine } from '../../testing.ts';
import { user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const HOUR_MS = 3_600_000;
const START_MS = 1_700_000_000_000;

/** A source of ids with a clock that tests set, over a storage; a commit creates a user with the next id. */
async function sourceOver(storage: Storage, worker: number, startMs: number) {
  let nowMs = startMs;
  const clock = Object.assign(new VirtualClock(), { now: () => nowMs });
  const next = snowflakeSource(clock, { number: worker });
  await storage.followIds({ lastMs: next.lastMs, raise: next.raise, worker: () => worker });
  return {
    next,
    set: (ms: number) => {
      nowMs = ms;
    },
    commit: (username?: string): Promise<string | null> => {
      const id = next();
      const made = user(id, username === undefined ? {} : { username });
      return new Promise((resolve) =>
        storage.writer.commit({
          ownerId: id,
          facts: [{ type: 'userCreated', user: made }],
          done: (fault) => resolve(fault ? null : id),
        }),
      );
    },
  };
}

const highest = (ids: readonly string[]): string => [...ids].sort(compareIds).at(-1) ?? '0';

describe.each(databases())('ids over $name', (kind) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  const fresh = async () => {
    const opened = await openFresh(kind);
    closing.push(() => opened.close());
    return opened;
  };

  test('messages after a restart with a clock an hour earlier follow all older ones, and the log warns', async () => {
    const database = await kind.create();
    const root = await mkdtemp(join(tmpdir(), 'guildhall-'));
    closing.push(
      () => database.dispose(),
      () => rm(root, { recursive: true, force: true }),
    );
    const { databaseUrl } = database.options;
    const config = databaseUrl === undefined ? { data_dir: root } : { database_url: databaseUrl };
    const logged: { behindMs?: number; msg: string }[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
    const open = (ms: number) => createTestEngine({ config, logger, clock: new VirtualClock(ms) });

    const first = await open(START_MS);
    const { user: anna } = await first.engine.admin.createUser({ username: 'anna' });
    const as = anna.id as UserId;
    const guild = await first.engine.admin.createGuild({ name: 'Guild', ownerId: as });
    const channelId = guild.system_channel_id as string;
    const create = async ({ engine }: typeof first, content: string) =>
      (await engine.api.create_message!(
        { params: { channel_id: channelId }, body: { content } },
        { as },
      )) as {
        id: string;
      };
    const before = [await create(first, 'one'), await create(first, 'two')];
    await first.engine.close();
    expect(logged).toEqual([]);

    const second = await open(START_MS - HOUR_MS);
    closing.push(() => second.engine.close());
    const after = [await create(second, 'three'), await create(second, 'four')];
    const listed = (await second.engine.api.list_messages!(
      { params: { channel_id: channelId } },
      { as },
    )) as {
      content: string;
    }[];
    expect(listed.map(({ content }) => content)).toEqual(['four', 'three', 'two', 'one']);
    expect(compareIds(after[0]!.id, before[1]!.id)).toBeGreaterThan(0);
    expect(logged).toMatchObject([{ behindMs: expect.any(Number) }]);
    expect(logged[0]?.behindMs).toBeGreaterThanOrEqual(HOUR_MS);
    expect(logged[0]?.msg).toContain('The clock is 360');
  });

  test('ids ascend over crashes at any moment, whatever the clock does', async () => {
    const { driver } = await fresh();
    const step = fc.oneof(
      fc.record({ do: fc.constant('commit' as const) }),
      fc.record({ do: fc.constant('burst' as const), count: fc.integer({ min: 1, max: 9000 }) }),
      fc.record({ do: fc.constant('clock' as const), byMs: fc.integer({ min: -HOUR_MS, max: HOUR_MS }) }),
      fc.record({ do: fc.constant('crash' as const), worker: fc.integer({ min: 0, max: 1023 }) }),
    );
    const written: string[] = ['0'];
    let nowMs = START_MS;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        let source = await sourceOver(storageOver(driver), 1, nowMs);
        for (const each of steps) {
          if (each.do === 'clock') {
            nowMs = Math.max(START_MS - HOUR_MS, nowMs + each.byMs);
            source.set(nowMs);
          } else if (each.do === 'crash') source = await sourceOver(storageOver(driver), each.worker, nowMs);
          else if (each.do === 'burst') for (let n = 0; n < each.count; n += 1) source.next();
          else {
            const id = (await source.commit()) as string;
            expect(compareIds(id, written.at(-1) as string)).toBeGreaterThan(0);
            written.push(id);
          }
        }
      }),
      { numRuns: 15 },
    );
    expect(written.length).toBeGreaterThan(20);
  });

  test('the ids of deleted rows are not used again', async () => {
    const { storage, driver } = await fresh();
    const before = await sourceOver(storage, 1, START_MS);
    const ids = [await before.commit(), await before.commit()] as string[];
    await driver.query('DELETE FROM users');
    const after = await sourceOver(storageOver(driver), 1, START_MS - HOUR_MS);
    expect(compareIds(after.next(), highest(ids))).toBeGreaterThan(0);
  });

  test('a rejected commit stores no id mark, and the next commit stores one', async () => {
    const { storage, driver } = await fresh();
    const before = await sourceOver(storage, 1, START_MS);
    await driver.script('ALTER TABLE users ADD CONSTRAINT named CHECK (username_search <> $$nobody$$)');
    expect(await before.commit('nobody')).toBeNull();
    expect(await driver.query('SELECT * FROM id_marks')).toEqual([]);
    const id = (await before.commit()) as string;
    const after = await sourceOver(storageOver(driver), 1, START_MS - HOUR_MS);
    expect(compareIds(after.next(), id)).toBeGreaterThan(0);
  });

  test('a new owner of a partition continues after the ids of the last one, whose clock was ahead', async () => {
    const { storage, driver } = await fresh();
    const other = storageOver(driver);
    const owner = await sourceOver(storage, 1, START_MS + HOUR_MS);
    const heir = await sourceOver(other, 2, START_MS);
    await storage.cluster.takeOver([3], 'a');
    const id = (await owner.commit()) as string;
    expect(compareIds(heir.next(), id)).toBeLessThan(0);
    await other.cluster.takeOver([3], 'b');
    expect(compareIds(heir.next(), id)).toBeGreaterThan(0);
  });

  test('a database without id marks continues after its newest id when it is upgraded', async () => {
    const database = await kind.create();
    closing.push(() => database.dispose());
    const driver = await openDriver(database.options);
    closing.push(() => driver.close());
    const known = MIGRATIONS.slice(
      0,
      MIGRATIONS.findIndex(({ name }) => name === 'id marks'),
    );
    await migrate(driver, known);
    const id = snowflakeSource(new VirtualClock(START_MS), { number: 9 })();
    await driver.query('INSERT INTO messages VALUES (1, 2, $1, 4, NULL, $2)', [id, '{}']);
    await migrate(driver);
    const after = await sourceOver(storageOver(driver), 1, START_MS - HOUR_MS);
    expect(compareIds(after.next(), id)).toBeGreaterThan(0);
  });
});
