import pg from 'pg';
import type { TestProject } from 'vitest/node';
import setup from './postgres.setup.ts';

export interface TestDatabase {
  /** A new and empty database on it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** A database for a test file that is no suite; null where there can be no server, which the console then says. */
export async function openDatabase(name: string): Promise<TestDatabase | null> {
  let server: string | null = null;
  const project = {
    provide(_: string, url: string | null) {
      server = url;
    },
  };
  const stop = await setup(project as unknown as TestProject);
  if (server === null) return null;
  const client = new pg.Client(server);
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
  await client.query(`CREATE DATABASE "${name}"`);
  await client.end();
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, stop: async () => stop?.() };
}
