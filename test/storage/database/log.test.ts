// Goal: the write-ahead log of an embedded database does not grow without bound.
import { expect, test } from 'vitest';
import { openPglite } from '../../../storage/database/pglite.ts';
import { DATABASES } from '../../../storage/prepare.ts';

const STATEMENTS = 1024;

test('a database in memory drops its log after each checkpoint', { timeout: 60_000 }, async () => {
  const driver = await openPglite(undefined, { contents: DATABASES });
  await driver.script('CREATE TABLE written (body text)');
  const [before] = await driver.query<{ log: string }>("SELECT pg_current_wal_lsn() - '0/0' AS log");
  for (let done = 0; done < STATEMENTS; done += 1)
    await driver.query("INSERT INTO written SELECT repeat('x', 1000) FROM generate_series(1, 120)");
  const [after] = await driver.query<{ log: string; kept: string }>(
    "SELECT pg_current_wal_lsn() - '0/0' AS log, (SELECT sum(size) FROM pg_ls_waldir()) AS kept",
  );
  await driver.close();
  expect(Number(after!.log) - Number(before!.log)).toBeGreaterThan(100 * 1024 ** 2);
  expect(Number(after!.kept)).toBeLessThan(64 * 1024 ** 2);
});
