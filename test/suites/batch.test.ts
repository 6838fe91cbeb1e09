// Goal: a batch is one transaction over either database, whatever its size and its values, and a failed one leaves nothing behind.
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { BatchStatement, Driver } from '../../storage/database/driver.ts';
import { openDriver } from '../../storage/open.ts';
import { openWire } from '../support/databasewire.ts';
import { type Database, databases } from './databases.ts';

const ADD =
  'INSERT INTO notes (id, body) SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (id int, body text)';
const READ = 'SELECT id, body FROM notes WHERE id >= $1 ORDER BY id';

const add = (...bodies: readonly (readonly [id: number, body: string])[]): BatchStatement => ({
  text: ADD,
  values: [JSON.stringify(bodies.map(([id, body]) => ({ id, body })))],
});
const read = (from: number): BatchStatement => ({ text: READ, values: [String(from)] });

const WAITING = `SELECT pid FROM pg_locks WHERE NOT granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

const KINDS = databases().flatMap((kind) => [
  { ...kind, mayCommitLate: false, how: 'in two steps' },
  { ...kind, mayCommitLate: true, how: 'in one step' },
]);

describe.each(KINDS)('a batch over $name $how', ({ mayCommitLate, ...kind }) => {
  let database: Database;
  let driver: Driver;
  beforeAll(async () => {
    database = await kind.create();
    driver = await openDriver({ ...database.options, connectionsMax: 2 });
    await driver.script('CREATE TABLE notes (id int PRIMARY KEY, body text)');
  });
  beforeEach(() => driver.script('TRUNCATE notes'));
  afterAll(async () => {
    await driver?.close();
    await database?.dispose();
  });

  const batch = (statements: readonly BatchStatement[]) => driver.batch(statements, mayCommitLate);
  const count = async () =>
    (await driver.query<{ n: number }>('SELECT count(*)::int AS n FROM notes'))[0]?.n ?? -1;

  test('returns the rows of each statement, which sees what those before it have written', async () => {
    expect(await batch([read(0), add([1, 'a'], [2, 'b']), read(2), add([3, 'c']), read(2)])).toEqual([
      [],
      [],
      [{ id: 2, body: 'b' }],
      [],
      [
        { id: 2, body: 'b' },
        { id: 3, body: 'c' },
      ],
    ]);
  });

  test.each([
    ['the first', [add([1, 'a'], [1, 'a']), add([2, 'b'])]],
    ['the last', [add([1, 'a']), add([2, 'b']), add([1, 'c'])]],
    [
      'one whose text cannot be parsed',
      [add([1, 'a']), { text: 'SELECT nonsense', values: [] }, add([2, 'b'])],
    ],
    ['one whose values do not fit', [add([1, 'a']), read(Number.NaN), add([2, 'b'])]],
  ])(
    'writes nothing when %s of its statements fails, and the next one is carried out',
    async (_, statements) => {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        await expect(batch(statements)).rejects.toMatchObject({ severity: 'ERROR' });
        expect(await count()).toBe(0);
      }
      await batch([add([1, 'a']), add([2, 'b'])]);
      expect(await count()).toBe(2);
    },
  );

  test('remains one transaction when it is large', async () => {
    const large = 'x'.repeat(200_000);
    await expect(batch([add([1, large]), add([2, large]), add([1, large])])).rejects.toThrow();
    expect(await count()).toBe(0);
    await batch([add([1, large]), add([2, large])]);
    expect(await batch([read(2)])).toEqual([[{ id: 2, body: large }]]);
  });

  test('returns any text as it was written', async () => {
    let id = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'binary', maxLength: 40 }), { maxLength: 5 }),
        async (texts) => {
          const from = id;
          // NUL is no character of the database; rows of the program never contain it.
          const bodies = texts.map((text) => text.replaceAll('\0', ''));
          const rows = bodies.map((body) => ({ id: id++, body }));
          const written = rows.map(({ id: each, body }) => add([each, body]));
          expect((await batch([...written, read(from)])).at(-1)).toEqual(rows);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('runs beside others, more of them than there are connections', async () => {
    const ids = Array.from({ length: 40 }, (_, n) => n);
    const results = await Promise.all(ids.map((n) => batch([add([n, `${n}`]), read(n)])));
    expect(results.map(([, rows]) => rows?.[0])).toEqual(ids.map((n) => ({ id: n, body: `${n}` })));
    expect(await count()).toBe(40);
  });

  if (kind.name === 'PostgreSQL') {
    test('commits later only where it may when its connection is lost while it waits for a lock', async () => {
      const wire = await openWire(database.options.databaseUrl ?? '');
      const through = await openDriver({ databaseUrl: wire.url, connectionsMax: 1 });
      const locking = await openDriver(database.options);
      try {
        const outcome = await locking.transaction(async (sql) => {
          await sql.query('LOCK TABLE notes');
          const cut = through
            .batch([add([1, 'a']), add([2, 'b'])], mayCommitLate)
            .then(() => 'committed', String);
          while ((await sql.query(WAITING)).length === 0);
          wire.cut();
          return cut;
        });
        expect(outcome).toMatch(/terminated|ECONNREFUSED/);
        // The next lock waits until the server has ended the statements that were cut.
        await locking.transaction((sql) => sql.query('LOCK TABLE notes'));
        expect(await count()).toBe(mayCommitLate ? 2 : 0);
      } finally {
        await Promise.all([through.close(), locking.close()]);
        await wire.close();
      }
    });

    // In one step the server may commit what is sent again: the numbers of transactions refuse that.
    if (!mayCommitLate)
      test('is carried out on another connection when the one that it takes has died unnoticed', async () => {
        const wire = await openWire(database.options.databaseUrl ?? '');
        const through = await openDriver({ databaseUrl: wire.url, connectionsMax: 1 });
        try {
          await through.batch([add([1, 'a']), add([2, 'b'])]);
          wire.resetNext();
          await through.batch([add([3, 'c']), add([4, 'd'])]);
          expect(await count()).toBe(4);
        } finally {
          await through.close();
          await wire.close();
        }
      });

    test('uses connections that the server probes after five seconds of silence', async () => {
      const settings = await driver.query(
        `SELECT name, setting FROM pg_settings WHERE name LIKE 'tcp_keepalives%' ORDER BY name`,
      );
      expect(settings).toEqual([
        { name: 'tcp_keepalives_count', setting: '3' },
        { name: 'tcp_keepalives_idle', setting: '5' },
        { name: 'tcp_keepalives_interval', setting: '2' },
      ]);
    });

    test('fails with the code of a lost connection, and has written nothing, when the server ends it meanwhile', async () => {
      const lost = batch([
        add([1, 'a']),
        { text: 'SELECT pg_terminate_backend(pg_backend_pid())', values: [] },
        add([2, 'b']),
      ]);
      await expect(lost).rejects.toMatchObject({ code: '57P01' });
      expect(await count()).toBe(0);
    });
  }
});
