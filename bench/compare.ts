import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { numberFrom } from '../cli/flags.ts';
import { CommandError } from '../cli/world.ts';
import { isRecord } from '../protocol/json.ts';
import { messageOf } from '../protocol/thrown.ts';
import { compareReports, comparisonLines } from './comparison.ts';
import { starvedLine } from './options.ts';

interface Flags {
  readonly tolerance: number;
  readonly json?: true;
}

const TOLERANCE_PERCENT = 10;

const writeOut = (text: string): void => void process.stdout.write(text);

/** Adds `bench compare`; the exit code is 1 when a figure is worse or the loads differ. */
export function addCompareCommand(bench: Command, write: (text: string) => unknown = writeOut): void {
  bench
    .command('compare <before> <after>')
    .description('compare two reports of --json, figure by figure')
    .option(
      '--tolerance <percent>',
      'difference up to which a figure counts as the same',
      numberFrom(0, 1000),
      TOLERANCE_PERCENT,
    )
    .option('--json', 'print the rows as one JSON object')
    .action((before: string, after: string, { tolerance, json }: Flags) => {
      const [one, other] = [readReport(before), readReport(after)];
      const rows = compareReports(one, other, tolerance);
      if (rows.length === 0)
        throw new CommandError(
          'The two reports have no figure in common.',
          'Compare two reports of the same bench.',
        );
      const starved = [...starvedIn(before, one), ...starvedIn(after, other)];
      const text = json ? JSON.stringify({ rows, starved }) : comparisonLines(rows, starved).join('\n');
      write(`${text}\n`);
      if (rows.some(({ verdict }) => verdict === 'worse' || verdict === 'other load')) process.exitCode = 1;
    });
}

function starvedIn(file: string, report: unknown): readonly string[] {
  const about = isRecord(report) && isRecord(report.about) ? report.about : {};
  return Array.isArray(about.starved)
    ? about.starved.map((why) => `${file}: ${starvedLine(String(why))}`)
    : [];
}

function readReport(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(
      `${file} is not a JSON report: ${messageOf(error)}`,
      'Write one with `guildhall bench gateway --spawn --json > before.json`.',
    );
  }
}
