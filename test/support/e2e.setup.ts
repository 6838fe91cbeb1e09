/**
 * Builds what the end-to-end tests start, when a source is newer than what is built, and starts the PostgreSQL server that
 * their servers use.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openMigrated } from '../../storage/open.ts';
import { startPostgres } from './postgres.setup.ts';
import { administer, SERVER_URL, TEMPLATE, urlOf } from './serverdatabase.ts';
import { ROOT } from './source.ts';

/** The data die with the tests. A crash of the database itself is a matter of the suites, whose server keeps its promises. */
const HASTY = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];

export default async function setup(): Promise<() => Promise<void>> {
  build();
  const server = await startPostgres(HASTY);
  if (typeof server === 'string') {
    console.warn(`end-to-end tests run on PGlite only: ${server}`);
    return async () => {};
  }
  await administer(server.url, `CREATE DATABASE ${TEMPLATE}`);
  await (await openMigrated({ databaseUrl: urlOf(server.url, TEMPLATE) })).close();
  // The processes of the tests inherit it.
  process.env[SERVER_URL] = server.url;
  return () => server.stop();
}

function build(): void {
  // In a process of its own, because it ends its process when the sources do not compile.
  const prepare = pathToFileURL(join(ROOT, 'scripts/prepare.mjs'));
  const program = `const { ensureBuilt, ensureDocs } = await import('${prepare}'); ensureBuilt(); ensureDocs();`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error('There is nothing to test: the sources do not compile.');
}
