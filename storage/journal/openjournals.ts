import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { openJournalStore } from './journal.ts';
import type { Journals } from './port.ts';

interface JournalSettings {
  readonly config: Config;
  readonly logger: { warn(line: string): void };
}

/**
 * Opens the journal of this run of a shard. @returns null when no journal is to be written.
 *
 * @throws StorageFault when it cannot be created, RangeError when `journal` is on but no directory is set.
 */
export async function openJournals(
  { config, logger }: JournalSettings,
  self: { readonly id: string; readonly instance: string },
): Promise<Journals | null> {
  const { journal, journal_dir: given, data_dir: dataDir } = config;
  if (journal === 'off') return null;
  const directory = given ?? (dataDir === null ? null : join(dataDir, 'journal'));
  if (directory === null) {
    const why = 'Sessions have no journal: set journal_dir or data_dir to store it.';
    if (journal === 'on') throw new RangeError(why);
    logger.warn(why);
    return null;
  }
  const store = await openJournalStore(directory);
  return { store, writer: await store.open(self.id, self.instance, false) };
}
