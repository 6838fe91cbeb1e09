import { randomBytes } from 'node:crypto';
import pg from 'pg';

/** The environment variable that names the PostgreSQL server of end-to-end tests; without it their servers use PGlite. */
export const SERVER_URL = 'TEST_E2E_DATABASE_URL';
/** The database that has the schema and nothing else. */
export const TEMPLATE = 'guildhall_template';

export function urlOf(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = name;
  return url.href;
}

export async function administer(serverUrl: string, text: string): Promise<void> {
  const client = new pg.Client(serverUrl);
  await client.connect();
  await client.query(text).finally(() => client.end());
}

/** A new database for one server; null where there is no PostgreSQL. */
export async function createServerDatabase() {
  const serverUrl = process.env[SERVER_URL];
  if (serverUrl === undefined) return null;
  const name = `server_${randomBytes(8).toString('hex')}`;
  await administer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`);
  return {
    url: urlOf(serverUrl, name),
    drop: () => administer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}
