import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import type { Driver, Sql } from '../../storage/database/driver.ts';
import { type DriverOptions, openMigrated, storageOver } from '../../storage/open.ts';
import type { WriterOptions } from '../../storage/writer.ts';
import { undistributed } from '../support/distribution.ts';
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

/** A driver that refuses statements of commits which do not say on which node their rows are. */
function distributing(driver: Driver): Driver {
  const refuse = (text: string): void => {
    const faults = text.includes('jsonb_to_recordset($1') ? undistributed(text) : [];
    if (faults.length > 0) throw new Error(faults.join('; '));
  };
  const checked = (sql: Sql): Sql => ({
    query(text, values) {
      refuse(text);
      return sql.query(text, values);
    },
    script: (text) => sql.script(text),
  });
  return {
    kind: driver.kind,
    query: (text, values) => driver.query(text, values),
    script: (text) => driver.script(text),
    batch: async (statements, mayCommitLate) => {
      for (const { text } of statements) refuse(text);
      return driver.batch(statements, mayCommitLate);
    },
    transaction: (body, opening) => driver.transaction((sql) => body(checked(sql)), opening),
    copy: () => driver.copy(),
    close: () => driver.close(),
  };
}

/** An open storage over a fresh database, with its driver to check the rows directly. */
export async function openFresh(kind: Kind, options: WriterOptions = {}) {
  const database = await kind.create();
  const driver: Driver = distributing(await openMigrated(database.options));
  const storage = storageOver(driver, options);
  const close = async (): Promise<void> => {
    await storage.close();
    await database.dispose();
  };
  return { storage, driver, options: database.options, close };
}
