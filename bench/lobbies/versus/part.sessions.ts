import { fileURLToPath } from 'node:url';
import type { Finding } from '../../fanout/parts.ts';
import { ratiosOf, type Spread, show, spreadOf, verdictOf } from '../../fanout/spread.ts';
import { spawnServer } from '../../gateway/spawn.ts';
import { usageOf } from '../../wire/process.ts';
import { Load, Stand, type Weight } from './arena.ts';
import type { Manner } from './orders.ts';

const [KIB, MIB] = [1024, 1024 * 1024];
/** The first of these are connected before the first weighing: what a server needs once is in it. */
const CONNECTIONS = 4_000;
const FIRST_SHARE = 1 / 4;
const IDLE_SECONDS = 120;
const MANNERS: readonly Manner[] = ['json', 'zlib-stream', 'guildhall', 'colyseus'];
const TITLES: Readonly<Record<Manner, string>> = {
  json: "a bot's session, JSON",
  'zlib-stream': "a bot's session, zlib-stream",
  guildhall: "a lobby player's connection",
  colyseus: 'the same in Colyseus',
};
/** Bounds in KiB; a player's connection is compared with Colyseus. */
const TARGETS = { json: 10, 'zlib-stream': 7 } as const;
const START_MIB_MAX = 250;

/** Memory that a connection adds, by the resident memory of the process and by its heap. */
interface Sample {
  readonly rssKib: number;
  readonly heapKib: number;
}

/**
 * Memory of connections that have been left alone for two minutes, with default intervals and heartbeats, and of the process
 * with the embedded database (G20). `BENCH_CONNECTIONS` and `BENCH_IDLE_SECONDS` change the measure.
 */
export async function measureSessions(rounds: number): Promise<Finding> {
  const connections = Number(process.env.BENCH_CONNECTIONS ?? CONNECTIONS);
  const idleSeconds = Number(process.env.BENCH_IDLE_SECONDS ?? IDLE_SECONDS);
  const samples: Record<Manner, Sample[]> = { json: [], 'zlib-stream': [], guildhall: [], colyseus: [] };
  const startMib: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const manner of MANNERS) samples[manner].push(await sample(manner, connections, idleSeconds));
    startMib.push(await startedMib(idleSeconds));
  }
  const rssOf = (manner: Manner): number[] => samples[manner].map(({ rssKib }) => rssKib);
  const ratio = ratiosOf(rssOf('guildhall'), rssOf('colyseus'));
  const verdicts: Readonly<Record<Manner, string>> = {
    json: verdict(spreadOf(rssOf('json')), TARGETS.json),
    'zlib-stream': verdict(spreadOf(rssOf('zlib-stream')), TARGETS['zlib-stream']),
    guildhall: `; ratio ${show(ratio)}${verdict(ratio, 1)}`,
    colyseus: '',
  };
  const database = process.env.BENCH_DATABASE_URL ? 'PostgreSQL outside' : 'the embedded database';
  const start = spreadOf(startMib);
  return {
    lines: [
      `${connections} connections, idle for ${idleSeconds} s, with ${database}; ${rounds} rounds, median (min–max)`,
      ...MANNERS.map((manner) => {
        const heap = spreadOf(samples[manner].map(({ heapKib }) => heapKib));
        const memory = `${show(spreadOf(rssOf(manner)), 1)} KiB, of it heap ${show(heap, 1)}`;
        return `${TITLES[manner].padEnd(28)} ${memory}${verdicts[manner]}`;
      }),
      `the process at start, embedded database: ${show(start, 0)} MiB${verdict(start, START_MIB_MAX)}`,
    ],
    figures: { connections, idleSeconds, database, rounds, samples, startMib },
  };
}

const verdict = (spread: Spread, atMost: number): string =>
  `, target ≤ ${atMost}: ${verdictOf(spread, atMost)}`;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function sample(manner: Manner, connections: number, idleSeconds: number): Promise<Sample> {
  const load = new Load();
  const stand = await Stand.open(manner, 'usual', load, 0);
  const weighAfter = async (count: number): Promise<Weight> => {
    await stand.join(count);
    await pause(idleSeconds * 1000);
    return stand.weigh();
  };
  const firstCount = Math.round(connections * FIRST_SHARE);
  const first = await weighAfter(firstCount);
  const full = await weighAfter(connections - firstCount);
  stand.close();
  load.end();
  const each = (field: keyof Weight): number =>
    (full[field] - first[field]) / (connections - firstCount) / KIB;
  return { rssKib: each('rssBytes'), heapKib: each('heapBytes') };
}

/** Resident memory of an idle server with a database in memory. */
async function startedMib(idleSeconds: number): Promise<number> {
  const cli = fileURLToPath(new URL('../../../cli.js', import.meta.url));
  const dev = ['dev', '--json', '--port', '0', '--admin-port', '0', '--set', 'voice_udp_port=0'];
  const server = await spawnServer(process.execPath, [cli, ...dev]);
  try {
    await pause(idleSeconds * 1000);
    return (usageOf(server.pid)?.rssBytes ?? Number.NaN) / MIB;
  } finally {
    await server.stop();
  }
}
