import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { canPin } from './arena.ts';
import { packageFolder } from './corpus.ts';

/** Result of a part: lines to print, and figures to store. */
export interface Finding {
  readonly lines: readonly string[];
  readonly figures: object;
}

/** Parts by the name of the target that they measure. */
type MeasuredParts = Readonly<Record<string, (rounds: number) => Finding | Promise<Finding>>>;

/**
 * Runs the parts named on the command line, or all; prints their results and stores the figures in `bench/results`.
 * `BENCH_ROUNDS` sets the number of rounds.
 */
export async function runParts(parts: MeasuredParts, roundsDefault: number): Promise<void> {
  const rounds = Number(process.env.BENCH_ROUNDS ?? roundsDefault);
  const wanted = process.argv.slice(2);
  const folder = join(packageFolder(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  if (!canPin) console.log('Processes are not pinned to processors here: expect a wide spread.');
  for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) {
    const part = parts[name];
    if (!part) throw new RangeError(`There is no part ${name}; there are ${Object.keys(parts).join(', ')}.`);
    const { lines, figures } = await part(rounds);
    console.log([`${name.toUpperCase()}`, ...lines.map((line) => `  ${line}`), ''].join('\n'));
    const machine = { node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length, pinned: canPin };
    const record = { part: name, at: new Date().toISOString(), machine, ...figures };
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(record, null, 1)}\n`);
  }
}
