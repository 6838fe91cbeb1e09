import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import type { Driver } from '../../storage/database/driver.ts';
import { type DriverOptions, openMigrated, storageOver } from '../../storage/open.ts';
import type { WriterOptions } from '../../storage/writer.ts';
import { administer, urlOf } from '../support/serverdatabase.ts';

/** A fresh database; `dispose` removes it. */
export interface Database {
  readonly options: DriverOptions;
  dispose(): Promise<void>;
}

export interface Kind {
  readonly name: 'PGlite' | 'PostgreSQL';
  create(): Promise<Database>;
}

async function createPostgres(serverUrl: string): Promise<Database> {
  const name = `suite_${randomBytes(8).toString('hex')}`;
  await administer(serverUrl, `CREATE DATABASE ${name}`);
  return {
    options: { databaseUrl: urlOf(serverUrl, name) },
    dispose: () => administer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

/** Each suite runs over all of them: the same cases, one SQL. */
export function databases(): readonly Kind[] {
  const url = inject('postgresUrl');
  const embedded: Kind = { name: 'PGlite', create: async () => ({ options: {}, dispose: async () => {} }) };
  return url === null ? [embedded] : [embedded, { name: 'PostgreSQL', create: () => createPostgres(url) }];
}

/** An open storage over a fresh database, with its driver to check the rows directly. */
export async function openFresh(kind: Kind, options: WriterOptions = {}) {
  const database = await kind.create();
  const driver: Driver = await openMigrated(database.options);
  const storage = storageOver(driver, options);
  const close = async (): Promise<void> => {
    await storage.close();
    await database.dispose();
  };
  return { storage, driver, options: database.options, close };
}
