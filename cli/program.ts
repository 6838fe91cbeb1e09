import { Command, CommanderError } from 'commander';
import { terminalJson, terminalText } from '../protocol/names.ts';
import { addBackupCommands } from './backup.ts';
import { addCallsCommand } from './calls.ts';
import { addClockCommand } from './clock.ts';
import { addClusterCommands } from './cluster.ts';
import { addCompletionCommand } from './completion.ts';
import { addConfigCommands } from './configuring.ts';
import { addConnectCommand } from './connecting.ts';
import { addDescribeCommands } from './describing.ts';
import { addDoctorCommand } from './doctor.ts';
import { addExportCommands } from './exporting.ts';
import { environmentFailure } from './failures.ts';
import { addInitCommand } from './init.ts';
import { addInteractCommand } from './interact.ts';
import { addLoginCommands } from './login.ts';
import { addPremiumCommands } from './premium.ts';
import { addRecordCommands } from './records.ts';
import { addReplayCommand } from './replay.ts';
import { addRpcCommand } from './rpc.ts';
import { addRunCommands } from './run.ts';
import { addShardCommand } from './shard.ts';
import { addTopCommand } from './top.ts';
import type { World } from './world.ts';

const USAGE_EXIT_CODE = 2;

/** Adds the commands of another part of the program, if it is installed. */
export type Mount = (program: Command) => void | Promise<void>;

/**
 * Runs one command line.
 *
 * @param argv the arguments after `guildhall`.
 * @returns the exit code: 0 success, 1 failure, 2 invalid arguments.
 */
export async function runCli(
  argv: readonly string[],
  world: World,
  mounts: readonly Mount[] = [],
): Promise<number> {
  let exitCode = 0;
  const program = new Command('guildhall')
    .description('A self-hosted real-time engine for guilds, lobbies and voice calls.')
    .version(world.version)
    .configureHelp({ sortSubcommands: true })
    .addHelpText('after', '\nNext: guildhall dev starts a server and prints how to connect.');
  program.configureOutput({
    writeOut: (text) => world.out(text.trimEnd()),
    writeErr: (text) => world.err(text.trimEnd()),
  });
  program.exitOverride().showHelpAfterError('Next: add --help to see what is expected.');
  const done = (code: number): void => {
    exitCode = code;
  };
  addRunCommands(program, world, done);
  addShardCommand(program, world, done);
  addClusterCommands(program, world);
  addConfigCommands(program, world);
  addBackupCommands(program, world);
  addDoctorCommand(program, world, done);
  addDescribeCommands(program, world);
  addRecordCommands(program, world);
  addReplayCommand(program, world, done);
  addExportCommands(program, world);
  addPremiumCommands(program, world);
  addClockCommand(program, world);
  addCallsCommand(program, world);
  addInteractCommand(program, world);
  addConnectCommand(program, world);
  addInitCommand(program, world);
  addLoginCommands(program, world);
  addRpcCommand(program, world);
  addTopCommand(program, world);
  addCompletionCommand(program, world);
  for (const mount of mounts) await mount(program);
  copySettings(program);
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE;
    report(world, argv.includes('--json'), error);
    return 1;
  }
}

/** Gives every subcommand the output and exit handling of the program. */
function copySettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    copySettings(child);
  }
}

/** The message of an error may have text of a file or a server, and several lines. */
const printable = (text: string): string => text.split('\n').map(terminalText).join('\n');

function report(world: World, json: boolean, error: unknown): void {
  const known = environmentFailure(error);
  const message = known?.message ?? (error instanceof Error ? error.message : String(error));
  const advice = known?.advice ?? 'This should not happen: please report it with the lines above.';
  if (known === null && error instanceof Error) world.err(printable(error.stack ?? ''));
  if (json) world.out(terminalJson({ error: { message, advice } }));
  else world.err(printable(`guildhall: ${message}\n${advice}`));
}
