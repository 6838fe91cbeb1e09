// Options that `bench gateway`, `bench lobbies` and `bench voice` have in common: the server's address, and where the report goes.

import { readFileSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { collect, wholeFrom } from '../cli/flags.ts';
import { CommandError } from '../cli/world.ts';
import { messageOf } from '../protocol/thrown.ts';
import { aboutFiguresOf, type RunWatch } from './about.ts';
import { withAbout } from './gateway/page.ts';
import { parseBound } from './gateway/threshold.ts';
import type { Failure } from './gateway/verdict.ts';
import { figureLines } from './table.ts';

export interface RunFlags {
  readonly url?: string;
  readonly api?: string;
  readonly token?: string;
  readonly tokens?: string;
  readonly spawn?: true;
  readonly set: readonly string[];
  readonly serverPid?: number;
  readonly threshold: readonly string[];
  readonly json?: true;
  readonly csv?: true;
  readonly report?: string;
  readonly iOwnThisHost?: true;
}

/**
 * Adds the options that all benches share.
 *
 * @param metrics Figures that a threshold may bound.
 * @param example A threshold of this bench, for its help.
 */
export function addRunOptions(
  command: Command,
  metrics: Readonly<Record<string, unknown>>,
  example: string,
): Command {
  const threshold = (text: string, earlier: readonly string[]): string[] => {
    try {
      return [...earlier, parseBound(text, metrics).text];
    } catch (error) {
      throw new InvalidArgumentError(messageOf(error));
    }
  };
  const bound = `such as ${example}; may be given many times; a missed one exits 1`;
  return command
    .addOption(new Option('--url <ws-url>', 'gateway of a server that runs').conflicts('spawn'))
    .option('--api <url>', 'its REST API, ending in /api (default: beside the gateway)')
    .option('--token <token>', "a bot's token")
    .option('--tokens <file>', "file with one bot's token a line")
    .option('--server-pid <pid>', 'its process, when it runs here', wholeFrom(1, 2 ** 31))
    .option('--spawn', 'start a server for the run, and measure its CPU and memory too')
    .option(
      '--set <key=value>',
      'a setting of a server that is started; may be given many times',
      collect,
      [],
    )
    .option('--threshold <bound>', bound, threshold, [])
    .addOption(new Option('--json', 'print the report as one JSON object').conflicts('csv'))
    .option('--csv', 'print it as CSV: a header, and a line for each measurement')
    .option('--report <file>', 'write it as a page with plots')
    .option('--i-own-this-host', 'allow a host that is not this machine');
}

/** The tokens of a running server, those of the file last. @throws CommandError when the file cannot be read. */
export function tokensOf({ token, tokens }: Pick<RunFlags, 'token' | 'tokens'>): string[] {
  const listed = tokens === undefined ? [] : linesOf(tokens);
  return [...(token === undefined ? [] : [token]), ...listed]
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/);
  } catch (error) {
    throw new CommandError(
      `The file of tokens cannot be read: ${messageOf(error)}`,
      "Give --tokens a file with one bot's token a line.",
    );
  }
}

export const noServer = (): CommandError =>
  new CommandError(
    'There is no server to measure.',
    "Name it with --url and a bot's --token, or add --spawn to have one started.",
  );

/** A finished run, in each form that may be requested. */
export interface FinishedRun {
  readonly report: object;
  readonly table: () => string;
  readonly csv: () => string;
  readonly page: () => string;
  readonly thresholds: readonly { readonly text: string; readonly kept: boolean }[];
  readonly failures: readonly Failure[];
}

/**
 * Prints and writes the requested forms, explains a failure on the error stream, and sets the exit code.
 *
 * @param watch Started before the run; it says how the run was made and whether the generator was starved.
 */
export function present(
  flags: Pick<RunFlags, 'json' | 'csv' | 'report'>,
  outcome: FinishedRun,
  watch: Pick<RunWatch, 'end'>,
): void {
  const about = watch.end(process.argv.slice(2));
  const table = (): string => `${figureLines(aboutFiguresOf(about)).join('\n')}\n\n${outcome.table()}`;
  const text = flags.json
    ? JSON.stringify({ ...outcome.report, about })
    : flags.csv
      ? outcome.csv()
      : table();
  process.stdout.write(`${text.trimEnd()}\n`);
  if (flags.report !== undefined)
    writeFileSync(flags.report, withAbout(outcome.page(), aboutFiguresOf(about)));
  for (const why of about.starved) showNote(starvedLine(why));
  for (const { message, advice } of outcome.failures)
    process.stderr.write(`guildhall: The run failed: ${message}.\n${advice}\n`);
  const missed = outcome.thresholds.filter(({ kept }) => !kept).map(({ text: bound }) => bound);
  if (missed.length > 0) process.stderr.write(`guildhall: Thresholds missed: ${missed.join(', ')}.\n`);
  if (outcome.failures.length > 0 || missed.length > 0) process.exitCode = 1;
}

/** A warning that the figures show the generator rather than the server. */
export const starvedLine = (why: string): string =>
  `The generator was starved, so the figures are not those of the server alone: ${why}.`;

/** Notes about a run that is smaller than requested. */
export const showNote = (note: string): void => void process.stderr.write(`guildhall: ${note}\n`);
