import type { TestProject } from 'vitest/node';
import setup from './postgres.setup.ts';
import { administer, urlOf } from './serverdatabase.ts';

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
  await administer(server, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
  await administer(server, `CREATE DATABASE "${name}"`);
  return { url: urlOf(server, name), stop: async () => stop?.() };
}
