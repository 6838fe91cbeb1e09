import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { Argument, type Command } from 'commander';
import { isSnowflake } from '../protocol/ids.ts';
import { messageOf } from '../protocol/thrown.ts';
import { type BackupFlags, type CommonFlags, common, copyOf, loadMaintenance, settingsOf } from './backup.ts';
import { CommandError, printResult, type World } from './world.ts';

interface DeleteFlags extends CommonFlags {
  readonly heir?: string;
  readonly messages?: true;
  readonly yes?: true;
}

/** Adds `export` and `import`, and `delete` to `user` and `app`. */
export function addExportCommands(program: Command, world: World): void {
  const exporting = program
    .command('export')
    .description('write a guild, or what the server knows of a person, to a file of JSON lines')
    .addArgument(new Argument('<kind>', 'what').choices(['guild', 'user']))
    .argument('<id>', 'its id')
    .argument('<file>', 'a file that does not exist yet');
  common(exporting);
  exporting.option('--admin-url <url>', 'admin API of the running server (or GUILDHALL_ADMIN_URL)');
  exporting.option('--admin-token <token>', 'its admin token (or GUILDHALL_ADMIN_TOKEN)');
  exporting.action((kind: 'guild' | 'user', id: string, file: string, flags: BackupFlags) =>
    runExport(world, kind, id, file, flags),
  );

  const importing = program
    .command('import <file>')
    .description('read an exported guild into another server, which must be stopped');
  common(importing);
  importing.action((file: string, flags: CommonFlags) => runImport(world, file, flags));

  for (const kind of ['user', 'app'] as const) {
    const parent = program.commands.find((each) => each.name() === kind);
    const what = kind === 'user' ? 'a user' : 'an application and its bot';
    const command = parent
      ?.command('delete <id>')
      .description(`delete ${what} from the database of a stopped server`);
    if (command === undefined) continue;
    common(command);
    command.option('--heir <user id>', 'who gets the guilds, applications and teams that it owns');
    command.option('--messages', 'delete its messages too; otherwise they stay, by a deleted user');
    command.option('--yes', 'delete; without this the command only says what would be deleted');
    command.action((id: string, flags: DeleteFlags) => runDelete(world, kind, id, flags));
  }
}

const ADVICE =
  'Name the data directory with --data, and an id that `guildhall guild list` or `user list` shows.';

/** Gives the faults of archives their advice. */
const explained = <T>(running: Promise<T>, advice = ADVICE): Promise<T> =>
  running.catch((error: Error) => {
    if (error.name !== 'ArchiveFault') throw error;
    throw new CommandError(error.message, advice, { cause: error });
  });

function checkId(id: string): void {
  if (!isSnowflake(id)) throw new CommandError(`${id} is not an id.`, 'An id has only digits.');
}

async function runExport(
  world: World,
  kind: 'guild' | 'user',
  id: string,
  file: string,
  flags: BackupFlags,
): Promise<void> {
  checkId(id);
  const { exportRecords } = await loadMaintenance();
  const config = await settingsOf(world, flags);
  const path = resolve(world.cwd, file);
  const stream = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true });
  await once(stream, 'open').catch((error: unknown) => {
    throw new CommandError(
      `${file} cannot be written: ${messageOf(error)}.`,
      'Name a file that does not exist yet.',
    );
  });
  // A failed write shows at the next one; without a listener the event would end the process.
  stream.on('error', () => {});
  const write = async (line: string): Promise<void> => {
    if (stream.errored) throw stream.errored;
    if (!stream.write(line)) await once(stream, 'drain');
  };
  try {
    const copy = await copyOf(world, config, flags);
    const options = { files: flags.files, copy, version: world.version };
    const sums = await explained(exportRecords(kind, id, config, options, write));
    stream.end();
    await finished(stream);
    const next =
      kind === 'guild' ? `guildhall import ${file} --data <another server>` : 'give the file to that person';
    printResult(world, flags.json === true, { kind, id, file: path, ...sums }, [
      `Wrote ${sums.rows} rows and ${sums.files} files to ${file}; only you can read it.`,
      `Next: ${next}`,
    ]);
  } catch (error) {
    stream.destroy();
    await rm(path, { force: true });
    throw error;
  }
}

async function runImport(world: World, file: string, flags: CommonFlags): Promise<void> {
  const { importGuild } = await loadMaintenance();
  const config = await settingsOf(world, flags);
  await refuseRunning(config);
  const stream = createReadStream(resolve(world.cwd, file));
  await once(stream, 'open').catch((error: unknown) => {
    throw new CommandError(
      `${file} cannot be read: ${messageOf(error)}.`,
      'Name a file of `guildhall export guild`.',
    );
  });
  const made = await explained(importGuild(stream, config, { files: flags.files }), 'Nothing was changed.');
  printResult(world, flags.json === true, made, [
    `Guild ${made.name} (${made.id}) with ${made.rows} rows, ${made.people} people and ${made.files} files.`,
    ...made.renamed.map((line) => `  ${line}: the name was taken`),
    'Bots need an application here: guildhall bot create. People who are new here need a password: guildhall user password.',
    'Next: guildhall start',
  ]);
}

/** @throws CommandError while a server has the embedded database open. */
async function refuseRunning({
  database_url: url,
  data_dir: directory,
}: Awaited<ReturnType<typeof settingsOf>>) {
  if (url !== null) return;
  const { embeddedDatabase } = await loadMaintenance();
  if ((await embeddedDatabase(directory)) !== 'open') return;
  throw new CommandError(`A server has the database in ${directory} open.`, 'Stop it first.');
}

async function runDelete(world: World, kind: 'user' | 'app', id: string, flags: DeleteFlags): Promise<void> {
  checkId(id);
  const { deleteRecords, embeddedDatabase } = await loadMaintenance();
  const config = await settingsOf(world, flags);
  await refuseRunning(config);
  if (config.database_url === null && (await embeddedDatabase(config.data_dir)) === 'absent')
    throw new CommandError(
      `There is no database in ${config.data_dir}.`,
      'Name the data directory with --data.',
    );
  const { heir = null, messages = false, yes = false } = flags;
  if (heir !== null) checkId(heir);
  const options = { heirId: heir, messages, dryRun: !yes, files: flags.files };
  const done = await explained(
    deleteRecords(kind, id, config, options),
    'Name who gets them with --heir, or delete them first.',
  );
  const rows = Object.entries(done.deleted).map(([table, count]) => `    ${table}: ${count}`);
  const owned = `${done.guilds.length} guilds, ${done.applications.length} applications and ${done.teams.length} teams`;
  const lines = [
    `${yes ? 'Deleted' : 'This would delete'} ${kind} ${done.name} (${id}), and cannot be undone:`,
    ...rows,
    ...(heir === null ? [] : [`  ${owned} ${yes ? 'belong' : 'would belong'} to ${heir}.`]),
    messages ? '  Its messages are deleted too.' : '  Its messages stay, by a deleted user.',
  ];
  if (!yes) throw new CommandError(lines.join('\n'), `Add --yes to delete it.`);
  const { fileOwners: _, ...answer } = done;
  printResult(world, flags.json === true, { id, ...answer }, [
    ...lines,
    `  ${done.files} files were deleted.`,
    'Next: guildhall start',
  ]);
}
