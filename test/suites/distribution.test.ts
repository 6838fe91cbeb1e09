// Goal: a commit can be written to a database over many nodes: each statement says on which node its rows are.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DISTRIBUTION, REFERENCE, undistributed } from '../support/distribution.ts';
import { databases, openFresh } from './databases.ts';

const UNIQUE_INDEXES = `
SELECT t.relname AS table, x.relname AS index, array_agg(a.attname::text) AS columns
FROM pg_index i
JOIN pg_class t ON t.oid = i.indrelid
JOIN pg_class x ON x.oid = i.indexrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ANY(i.indkey)
WHERE i.indisunique AND n.nspname = 'public'
GROUP BY t.relname, x.relname
ORDER BY t.relname, x.relname`;

describe('a distributed database', () => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  beforeAll(async () => {
    const [embedded] = databases();
    if (!embedded) throw new Error('There is no database.');
    fresh = await openFresh(embedded);
  });
  afterAll(() => fresh.close());

  test('distributes each table by a column, or copies it to every node', async () => {
    const tables = await fresh.driver.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
    );
    expect(tables.map(({ name }) => name)).toEqual([...DISTRIBUTION.keys(), ...REFERENCE].sort());
  });

  test('keeps rows unique on their node: each unique index holds the column', async () => {
    const found = await fresh.driver.query<{ table: string; index: string; columns: string[] }>(
      UNIQUE_INDEXES,
    );
    const beyond = found.filter(({ table, columns }) => {
      const column = DISTRIBUTION.get(table);
      return column !== undefined && !columns.includes(column);
    });
    expect(beyond.map(({ index }) => index)).toEqual([]);
  });

  test('is described in docs/scale.md, line by line', () => {
    const lines = readFileSync('docs/scale.md', 'utf8').matchAll(
      /create_distributed_table\('(\w+)', '(\w+)'/g,
    );
    expect([...lines].map(([, table, column]) => [table, column]).sort()).toEqual([...DISTRIBUTION].sort());
    const copies = readFileSync('docs/scale.md', 'utf8').matchAll(/create_reference_table\('(\w+)'/g);
    expect([...copies].map(([, table]) => table).sort()).toEqual([...REFERENCE].sort());
  });
});

test.each([
  ['INSERT INTO roles (guild_id, id, data) SELECT guild_id, id, data FROM r', 0],
  ['INSERT INTO roles (id, data) SELECT id, data FROM r', 1],
  ['INSERT INTO told_users SELECT user_id, owner_id, n, at_ms FROM r ON CONFLICT DO NOTHING', 0],
  ['INSERT INTO told_users SELECT user_id, n, at_ms FROM r ON CONFLICT DO NOTHING', 1],
  ['DELETE FROM roles t USING r WHERE t.guild_id = r.guild_id AND t.id = r.id', 0],
  ['DELETE FROM roles t USING r WHERE t.id = r.id', 1],
  ['UPDATE threads t SET data = r.data FROM r WHERE t.guild_id = r.guild_id AND t.id = r.id', 0],
  ['UPDATE threads t SET data = r.data FROM r WHERE t.id = r.id', 1],
  ['UPDATE settings SET value = r.value FROM r', 0],
  ['INSERT INTO unheard_of (guild_id) SELECT guild_id FROM r', 1],
  [
    'WITH a AS (DELETE FROM roles t USING r WHERE t.id = r.id) DELETE FROM bans t USING r WHERE t.guild_id = r.id',
    1,
  ],
  [
    'INSERT INTO roles (guild_id, id) SELECT guild_id, id FROM r ON CONFLICT (guild_id, id) DO UPDATE SET id = 1',
    0,
  ],
])('%s has %i writes without their distribution column', (sql, count) => {
  expect(undistributed(sql)).toHaveLength(count);
});
