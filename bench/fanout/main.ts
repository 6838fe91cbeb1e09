import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { canPin } from './arena.ts';
import { packageFolder } from './corpus.ts';
import { measureActors } from './part.actors.ts';
import { measureBatches } from './part.batch.ts';
import { measureBytes } from './part.bytes.ts';
import { measureFanout } from './part.fanout.ts';
import { measureLatency } from './part.latency.ts';
import { measureMemory } from './part.memory.ts';

/** What a part found: lines to print, and figures to keep. */
export interface Finding {
  readonly lines: readonly string[];
  readonly figures: object;
}

/** The parts by the name of the target they measure. */
const PARTS: Readonly<Record<string, (rounds: number) => Finding | Promise<Finding>>> = {
  g1: measureFanout,
  g1b: measureBatches,
  g2: measureBytes,
  g3: measureMemory,
  g4: measureActors,
  g7: measureLatency,
};

const ROUNDS = 7;

const rounds = Number(process.env.BENCH_ROUNDS ?? ROUNDS);
const wanted = process.argv.slice(2);
const folder = join(packageFolder(), 'bench', 'results');
mkdirSync(folder, { recursive: true });
if (!canPin) console.log('Processes are not pinned to processors here: expect a wide spread.');
for (const name of wanted.length > 0 ? wanted : Object.keys(PARTS)) {
  const part = PARTS[name];
  if (!part) throw new RangeError(`There is no part ${name}; there are ${Object.keys(PARTS).join(', ')}.`);
  const { lines, figures } = await part(rounds);
  console.log([`${name.toUpperCase()}`, ...lines.map((line) => `  ${line}`), ''].join('\n'));
  const machine = { node: process.version, cpu: cpus()[0]?.model, cpus: cpus().length, pinned: canPin };
  const record = { part: name, at: new Date().toISOString(), machine, ...figures };
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(record, null, 1)}\n`);
}
process.exit();
