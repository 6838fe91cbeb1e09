// Measures a start: CPU until the banner, memory and CPU of the idle process.
// `npm run bench:start -- --rounds 5 --idle 120`; `--beside <dist/cli.js>` measures another build in turns with this one.
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runParts } from '../fanout/parts.ts';
import { show, spreadOf, verdictOf } from '../fanout/spread.ts';
import { spawnServer } from '../gateway/spawn.ts';
import { type Usage, usageOf } from '../wire/process.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    idle: { type: 'string', default: '20' },
    beside: { type: 'string' },
  },
});
const IDLE_MS = Number(values.idle) * 1000;

/** CPU until the banner, resident memory after the idle time, and the share of a processor during it. */
const TARGETS = { cpuSec: 3, rssMiB: 250, idlePercent: 0.3 } as const;
type Figure = keyof typeof TARGETS;
const UNITS: Readonly<Record<Figure, string>> = {
  cpuSec: 's CPU',
  rssMiB: 'MiB',
  idlePercent: '% of a core',
};

type Sample = Readonly<Record<Figure, number>>;

const OWN = fileURLToPath(new URL('../../cli.js', import.meta.url));

/** Flags of Node with which the program starts, in its first line. */
const flagsOf = (cli: string): readonly string[] =>
  (readFileSync(cli, 'utf8').split('\n', 1)[0] ?? '').split(' ').filter((word) => word.startsWith('--'));

function measured(pid: number): Usage {
  const usage = usageOf(pid);
  if (usage === null) throw new Error(`The process ${pid} is gone, or there is no /proc.`);
  return usage;
}

async function start(cli: string, settings: readonly string[]): Promise<Sample> {
  const dev = ['dev', '--json', '--port', '0', '--admin-port', '0', '--set', 'voice_udp_port=0'];
  const server = await spawnServer(process.execPath, [...flagsOf(cli), cli, ...dev, ...settings]);
  try {
    const started = measured(server.pid);
    // Work within a second after the banner counts as part of the start.
    await pause(1000);
    const [before, beganMs] = [measured(server.pid), performance.now()];
    await pause(IDLE_MS);
    const after = measured(server.pid);
    const idleMicros = (performance.now() - beganMs) * 1000;
    return {
      cpuSec: started.cpuMicros / 1e6,
      rssMiB: after.rssBytes / 2 ** 20,
      idlePercent: ((after.cpuMicros - before.cpuMicros) / idleMicros) * 100,
    };
  } finally {
    await server.stop();
  }
}

/** Kinds of a start: with a database in memory, in a new directory, and in one of an earlier start. */
const KINDS = ['memory', 'new directory', 'existing directory'] as const;

async function round(cli: string): Promise<Readonly<Record<(typeof KINDS)[number], Sample>>> {
  const directory = await mkdtemp(join(tmpdir(), 'guildhall-start-'));
  const settings = ['--set', `data_dir=${join(directory, 'data')}`];
  try {
    return {
      memory: await start(cli, []),
      'new directory': await start(cli, settings),
      'existing directory': await start(cli, settings),
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function starts(rounds: number) {
  const contenders = [['guildhall', OWN], ...(values.beside ? [['beside', values.beside]] : [])] as const;
  const samples = new Map<string, Sample[]>();
  for (let at = 0; at < rounds; at += 1)
    for (const [name, cli] of contenders) {
      const found = await round(cli ?? OWN);
      for (const kind of KINDS)
        samples.set(`${name}, ${kind}`, [...(samples.get(`${name}, ${kind}`) ?? []), found[kind]]);
    }
  const figures: readonly Figure[] = ['cpuSec', 'rssMiB', 'idlePercent'];
  const lines = [...samples].flatMap(([name, list]) =>
    figures.map((figure) => {
      const spread = spreadOf(list.map((sample) => sample[figure]));
      const verdict = `target ≤ ${TARGETS[figure]}: ${verdictOf(spread, TARGETS[figure])}`;
      return `${name.padEnd(30)} ${show(spread)} ${UNITS[figure]}, ${verdict}`;
    }),
  );
  return { lines, figures: { rounds, idleSec: IDLE_MS / 1000, starts: Object.fromEntries(samples) } };
}

process.argv.splice(2);
await runParts({ g26: () => starts(Number(values.rounds)) }, Number(values.rounds));
