import { fileURLToPath } from 'node:url';
import { present } from '../../protocol/present.ts';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import { usageOf } from '../wire/process.ts';
import { Load } from './arena.ts';
import { READING } from './house.ts';
import type { Finding } from './parts.ts';
import { type Spread, show, spreadOf, verdictOf } from './spread.ts';

const SESSIONS = 15_000;
const BOTS = 100;
const ROUNDS = 3;
/** Wait for garbage collection after the burst of connections. */
const SETTLE_MS = 15_000;
const KIB = 1024;
const MIB = 1024 * KIB;
const PER_SESSION_KIB_MAX = 20;
const TOTAL_MIB_MAX = 400;

interface Sample {
  readonly baseBytes: number;
  readonly fullBytes: number;
}

/**
 * Measures the memory of a real server with idle, authenticated sessions (G3): in total, and per session. The embedded
 * database is a PostgreSQL in the same process and uses most of its memory before the first session, so the total is also
 * measured with a database server when `BENCH_DATABASE_URL` names an empty database.
 */
export async function measureMemory(): Promise<Finding> {
  const url = process.env.BENCH_DATABASE_URL;
  const variants: readonly (readonly [string, readonly string[]])[] = [
    ['embedded database', []],
    ...(url ? [['PostgreSQL', ['--set', `database_url=${url}`]] as const] : []),
  ];
  const lines = [
    `${SESSIONS} idle sessions of ${BOTS} bots in one guild; ${ROUNDS} servers, median (min–max)`,
  ];
  const figures: Record<string, object> = {};
  for (const [name, args] of variants) {
    const samples: Sample[] = [];
    for (let round = 0; round < ROUNDS; round += 1) samples.push(await sample(args));
    const spreads = {
      base: spreadOf(samples.map(({ baseBytes }) => baseBytes / MIB)),
      perSession: spreadOf(
        samples.map(({ baseBytes, fullBytes }) => (fullBytes - baseBytes) / SESSIONS / KIB),
      ),
      total: spreadOf(samples.map(({ fullBytes }) => fullBytes / MIB)),
    };
    lines.push(...linesOf(name, spreads));
    figures[name] = { samples, ...spreads };
  }
  return { lines, figures: { sessions: SESSIONS, bots: BOTS, variants: figures } };
}

function linesOf(
  name: string,
  { base, perSession, total }: Record<'base' | 'perSession' | 'total', Spread>,
): string[] {
  return [
    `${name}: ${show(base, 0)} MiB before the first session`,
    `  a session  ${show(perSession, 1)} KiB, target ≤ ${PER_SESSION_KIB_MAX}: ${verdictOf(perSession, PER_SESSION_KIB_MAX)}`,
    `  in all     ${show(total, 0)} MiB, target ≤ ${TOTAL_MIB_MAX}: ${verdictOf(total, TOTAL_MIB_MAX)}`,
  ];
}

async function sample(args: readonly string[]): Promise<Sample> {
  const server = await spawnServer(process.execPath, [
    fileURLToPath(new URL('../../cli.js', import.meta.url)),
    ...['dev', '--json', '--port', '0', '--no-rate-limits', '--bots', String(BOTS)],
    // These connections only count frames; they send no heartbeats.
    ...['--set', 'heartbeat_interval_ms=600000'],
    ...args,
  ]);
  try {
    return await fill(server);
  } finally {
    await server.stop();
  }
}

async function fill({ pid, gateway, tokens }: SpawnedServer): Promise<Sample> {
  const load = new Load();
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS / 3));
  const before = usageOf(pid);
  const gathered = load.next('gathered');
  load.order({
    kind: 'gather',
    crowd: 0,
    url: `${gateway.replace(/\/?$/, '/')}?v=10&encoding=json&compress=zlib-stream`,
    manner: 'gateway',
    tokens: Array.from({ length: SESSIONS }, (_, index) => present(tokens[index % tokens.length])),
    intents: READING,
  });
  await gathered;
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const after = usageOf(pid);
  load.end();
  if (!before || !after) throw new Error('The memory of the server cannot be read here.');
  return { baseBytes: before.rssBytes, fullBytes: after.rssBytes };
}
