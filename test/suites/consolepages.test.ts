// Goal: each table of the console is read a page at a time by an index, so that a page of 100,000 rows costs what a page of 100 costs.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Driver } from '../../storage/database/driver.ts';
import { openMigrated, storageOver } from '../../storage/open.ts';
import type { Storage } from '../../storage/ports.ts';
import { id } from './builders.ts';
import { type Database, databases } from './databases.ts';

const ROWS = 100_000;
const LIMIT = 50;
/** Ids of rows are numbers from 1; each page begins in the middle. */
const MIDDLE = String(ROWS / 2);
const SERIES = `generate_series(1, ${ROWS}) AS n`;

const FILL = `
INSERT INTO users (id, data, username_search) SELECT n, '{}', 'user' || n FROM ${SERIES};
INSERT INTO guilds (id, data) SELECT n, '{"name":"Guild"}' FROM ${SERIES};
INSERT INTO applications (id, data, signing_key, client_secret_hash) SELECT n, '{}', '', '' FROM ${SERIES};
INSERT INTO lobbies (id, application_id, linked, data) SELECT n, n % 1000, false, '{}' FROM ${SERIES};
INSERT INTO webhook_events (application_id, id, data) SELECT n, n, '{}' FROM ${SERIES};
INSERT INTO audit_log (guild_id, id, action_type, data) SELECT 1, n, 1, '{}' FROM ${SERIES};
INSERT INTO join_requests (guild_id, user_id, id, status, data) SELECT 1, n, n, 'SUBMITTED', '{}' FROM ${SERIES};
ANALYZE;`;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}
const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** The greatest number of rows that one step of a plan reads. */
const rowsRead = (plan: Plan): number =>
  Math.max(
    ...nodesOf(plan).map(
      (node) => (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
    ),
  );

/** One database is enough: both plan alike, and the embedded one takes ten times as long to fill. */
const kinds = databases().slice(-1);

describe.each(kinds)('the pages of the console on $name', (kind) => {
  let database: Database;
  let driver: Driver;
  let storage: Storage;
  const asked: { readonly text: string; readonly values: readonly unknown[] }[] = [];
  beforeAll(async () => {
    database = await kind.create();
    driver = await openMigrated(database.options);
    await driver.script(FILL);
    storage = storageOver({
      ...{ kind: driver.kind, script: (text) => driver.script(text), copy: () => driver.copy() },
      ...{ transaction: (body, opening) => driver.transaction(body, opening), close: () => driver.close() },
      batch: (statements) => driver.batch(statements),
      query: (text, values = []) => {
        asked.push({ text, values });
        return driver.query(text, values);
      },
    });
  }, 120_000);
  afterAll(async () => {
    await storage.close();
    await database.dispose();
  });

  test.each<[string, (storage: Storage) => Promise<readonly unknown[]>]>([
    ['people', ({ users }) => users.list(id(MIDDLE), LIMIT)],
    ['guilds', ({ directory }) => directory.guilds(id(MIDDLE), LIMIT)],
    ['applications', ({ applications }) => applications.page(id(MIDDLE), LIMIT)],
    ['lobbies of one application', ({ lobbies }) => lobbies.ofApplication(id('7'), id(MIDDLE), LIMIT)],
    ['applications with queued events', ({ webhookEvents }) => webhookEvents.waiting(id(MIDDLE), LIMIT)],
    ['audit log', ({ guilds }) => guilds.auditLog(id('1'), { before: MIDDLE, limit: LIMIT })],
    [
      'join requests',
      async ({ guilds }) =>
        (await guilds.joinRequests(id('1'), { statuses: ['SUBMITTED'], before: MIDDLE, limit: LIMIT }))
          .requests,
    ],
  ])('reads %s by an index', async (_, page) => {
    asked.length = 0;
    expect(await page(storage)).toHaveLength(LIMIT);
    const { text, values } = asked.at(-1)!;
    const [explained] = await driver.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
      values,
    );
    const plan = explained!['QUERY PLAN'][0]!.Plan;
    expect(rowsRead(plan), JSON.stringify(plan)).toBeLessThanOrEqual(2 * LIMIT + 2);
  });
});
