import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { Manifest, StoreSettings } from '../maintenance.ts';
import { collect } from './flags.ts';
import { type RemoteFlags, remoteOf } from './remote.ts';
import { CONFIG_FILE, DATA_DIR, readSettings } from './settings.ts';
import { CommandError, printResult, type World } from './world.ts';

export interface CommonFlags {
  readonly config?: string;
  readonly data?: string;
  readonly set: readonly string[];
  readonly files: boolean;
  readonly json?: true;
}
export type BackupFlags = CommonFlags & RemoteFlags;
interface RestoreFlags extends CommonFlags {
  readonly check?: true;
}

/** Imported on demand, because most commands do not open a database. */
export const loadMaintenance = () => import('../maintenance.ts');

/** Adds `backup` and `restore`. Both work with the embedded database and with PostgreSQL. */
export function addBackupCommands(program: Command, world: World): void {
  const backup = program
    .command('backup <folder>')
    .description('write database and files to a new folder, while the server runs or not');
  common(backup);
  backup.option('--admin-url <url>', 'admin API of the running server (or GUILDHALL_ADMIN_URL)');
  backup.option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)');
  backup.action((folder: string, flags: BackupFlags) => runBackup(world, folder, flags));

  const restore = program
    .command('restore <folder>')
    .description('write a backup into an empty database and compare every row; the server must be stopped');
  common(restore);
  restore.option('--check', 'restore into a temporary database instead, to check the backup');
  restore.action((folder: string, flags: RestoreFlags) => runRestore(world, folder, flags));
}

export function common(command: Command): void {
  command.option('--config <file>', `settings file (default: ${CONFIG_FILE} when there is one)`);
  command.option('--data <dir>', `data directory of the server (default: ${DATA_DIR})`);
  command.option('--set <key=value>', 'any setting; may be given many times', collect, []);
  command.option('--no-files', 'without attachments, avatars and icons');
  command.option('--json', 'as one JSON line');
}

export async function settingsOf(world: World, flags: CommonFlags): Promise<StoreSettings> {
  const config = await readSettings(world, {
    file: flags.config ?? null,
    flags: [{ key: 'data_dir', flag: '--data', value: flags.data }],
    set: flags.set,
  });
  return { ...config, data_dir: resolve(world.cwd, config.data_dir ?? DATA_DIR) };
}

async function runBackup(world: World, given: string, flags: BackupFlags): Promise<void> {
  const { backup } = await loadMaintenance();
  const config = await settingsOf(world, flags);
  const folder = resolve(world.cwd, given);
  const copy = await copyOf(world, config, flags);
  const options = { files: flags.files, copy, version: world.version };
  const manifest = await explained(backup(folder, config, options), 'Name a folder that does not exist yet.');
  printResult(world, flags.json === true, { folder, ...manifest }, [
    `Backup in ${folder}: ${summaryOf(manifest)}.`,
    'It contains password hashes and keys: keep it as secret as the database.',
    `Next: guildhall restore ${given} --check`,
  ]);
}

/** Directory of a copy that the running server makes of its embedded database; null when none is needed. */
export async function copyOf(
  world: World,
  { database_url: databaseUrl, data_dir: directory }: StoreSettings,
  flags: RemoteFlags,
): Promise<string | null> {
  if (databaseUrl !== null) return null;
  const { embeddedDatabase } = await loadMaintenance();
  const state = await embeddedDatabase(directory);
  if (state === 'absent')
    throw new CommandError(
      `There is no database in ${directory}.`,
      'Name the data directory of the server with --data, or its PostgreSQL database with database_url.',
    );
  if (state === 'closed') return null;
  const { directory: copy } = await remoteOf(world, flags)('POST', '/database/copy', {});
  if (typeof copy === 'string') return copy;
  throw new CommandError(
    'The server answered without a copy of its database.',
    'Name the server of that data directory with --admin-url.',
  );
}

async function runRestore(world: World, given: string, flags: RestoreFlags): Promise<void> {
  const { restore, checkBackup } = await loadMaintenance();
  const folder = resolve(world.cwd, given);
  if (flags.check) {
    const manifest = await explained(checkBackup(folder), NAME_A_BACKUP);
    printResult(world, flags.json === true, { folder, checked: true, ...manifest }, [
      `The backup in ${folder} can be restored: ${summaryOf(manifest)}.`,
      'Next: keep a copy on another machine.',
    ]);
    return;
  }
  const config = await settingsOf(world, flags);
  await refuseJournals(config);
  const place = config.database_url === null ? config.data_dir : 'the PostgreSQL database';
  const manifest = await explained(restore(folder, config, { files: flags.files }), NAME_A_BACKUP);
  printResult(world, flags.json === true, { folder, restored_to: place, ...manifest }, [
    `Restored to ${place}: ${summaryOf(manifest)}. Every row was read back and compared.`,
    'Clients identify again. With shards: delete their journals and etcd keys, as docs/backup.md says.',
    'Next: guildhall start',
  ]);
}

/** Journals of a server that ran here refer to commits that the backup may not have. */
async function refuseJournals({ journal_dir: given, data_dir: directory }: StoreSettings): Promise<void> {
  const journal = given ?? join(directory, 'journal');
  const found = await readdir(journal).catch(() => []);
  if (found.length === 0) return;
  throw new CommandError(
    `${journal} has journals of sessions that are newer than the backup.`,
    'Stop the server, delete that folder and repeat; clients then identify again.',
  );
}

/** Gives a backup's own errors their advice. */
const explained = (running: Promise<Manifest>, advice: string): Promise<Manifest> =>
  running.catch((error: Error) => {
    if (error.name !== 'RestoreFault') throw error;
    throw new CommandError(error.message, advice, { cause: error });
  });
const NAME_A_BACKUP =
  'Name a folder that a finished `guildhall backup` made, and for a restore an empty data directory or database.';

function summaryOf({ tables, blobs, schema }: Manifest): string {
  const rows = Object.values(tables).reduce((sum, table) => sum + table.rows, 0);
  const files = blobs === null ? 'without files' : `${blobs.count} files of ${blobs.bytes} bytes`;
  return `${rows} rows in ${Object.keys(tables).length} tables, ${files}, schema ${schema}`;
}
