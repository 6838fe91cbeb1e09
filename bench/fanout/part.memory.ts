import { fileURLToPath } from 'node:url';
import { type SpawnedServer, spawnServer } from '../gateway/spawn.ts';
import { usageOf } from '../wire/process.ts';
import { Load } from './arena.ts';
import { READING } from './house.ts';
import type { Finding } from './main.ts';
import { show, spreadOf } from './spread.ts';

const SESSIONS = 15_000;
const BOTS = 100;
const ROUNDS = 3;
const SETTLE_MS = 15_000;
const KIB = 1024;
const PER_SESSION_MAX = 20 * KIB;
const TOTAL_MAX = 400 * KIB * KIB;

/** Memory of a real server with idle, authenticated sessions (G3): all of it, and what each added. */
export async function measureMemory(): Promise<Finding> {
  const samples: { baseBytes: number; fullBytes: number; perSessionBytes: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const server = await spawnServer(process.execPath, [
      fileURLToPath(new URL('../../cli.js', import.meta.url)),
      ...['dev', '--json', '--port', '0', '--no-rate-limits', '--bots', String(BOTS)],
      // The connections here only count; they send no heartbeats.
      ...['--set', 'heartbeat_interval_ms=600000'],
    ]);
    try {
      samples.push(await fill(server));
    } finally {
      await server.stop();
    }
  }
  const perSession = spreadOf(samples.map(({ perSessionBytes }) => perSessionBytes / KIB));
  const total = spreadOf(samples.map(({ fullBytes }) => fullBytes / KIB / KIB));
  return {
    lines: [
      `${SESSIONS} idle sessions of ${BOTS} bots in one guild; ${ROUNDS} servers, median (min–max)`,
      `RSS per session  ${show(perSession, 1)} KiB, target ≤ ${PER_SESSION_MAX / KIB}`,
      `RSS in all       ${show(total, 0)} MiB, target ≤ ${TOTAL_MAX / KIB / KIB}`,
    ],
    figures: { sessions: SESSIONS, bots: BOTS, samples, perSessionKib: perSession, totalMib: total },
  };
}

async function fill(server: SpawnedServer) {
  const load = new Load();
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS / 3));
  const before = usageOf(server.pid);
  const gathered = load.next('gathered');
  load.order({
    kind: 'gather',
    crowd: 0,
    url: `${server.gateway.replace(/\/?$/, '/')}?v=10&encoding=json&compress=zlib-stream`,
    manner: 'gateway',
    tokens: Array.from(
      { length: SESSIONS },
      (_, index) => server.tokens[index % server.tokens.length] as string,
    ),
    intents: READING,
  });
  await gathered;
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const after = usageOf(server.pid);
  load.end();
  if (!before || !after) throw new Error('The memory of the server cannot be read here.');
  const baseBytes = before.rssBytes;
  const fullBytes = after.rssBytes;
  return { baseBytes, fullBytes, perSessionBytes: (fullBytes - baseBytes) / SESSIONS };
}
