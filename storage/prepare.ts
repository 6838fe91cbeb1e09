import { type Content, EMPTY, prepareDatabases } from './database/prepared.ts';
import { migrateWithin, schemaKey } from './migrate.ts';

/** For the embedded database, which dies with its process: snapshots must be logged to survive. */
export const LOGGED = 'ALTER TABLE actor_snapshots SET LOGGED;';

/** A database with the schema of this program. */
const MIGRATED: Content = {
  key: schemaKey(),
  fill: async (sql) => {
    await migrateWithin(sql);
    await sql.script(LOGGED);
  },
};

/** Contents of the database of a first start, the preferred one first. A restored backup begins with the empty one. */
export const DATABASES: readonly Content[] = [MIGRATED, EMPTY];

/** Prepares the databases that this program unpacks at a first start. */
export const prepare = (): Promise<void> => prepareDatabases(DATABASES);
