import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { WebSocketWire } from '../wire/websocket.ts';
import { SERVER_CPU, Worker } from './arena.ts';
import { READING } from './house.ts';
import type { IdentifyHostNews, IdentifyHostOrder } from './identify.host.ts';
import { measureResume } from './part.resume.ts';
import type { Finding } from './parts.ts';
import { ratiosOf, show, spreadOf, verdictOf } from './spread.ts';

const GUILDS = 500;
/** IDENTIFYs of a round, one after the other. */
const TIMES = 5;
/** At most so many times the CPU of the other build. */
const TARGET = 0.5;
/** Within which the server ends a closed session. */
const SETTLE_MS = 200;
/** Beside its guilds, a session is sent HELLO and READY. */
const OTHER_FRAMES = 2;

const COMPRESSIONS = { json: '', 'zlib-stream': '&compress=zlib-stream' } as const;
type Dialect = keyof typeof COMPRESSIONS;
const DIALECTS: readonly Dialect[] = ['json', 'zlib-stream'];

type Host = Worker<IdentifyHostOrder, IdentifyHostNews>;
type Opened = Extract<IdentifyHostNews, { kind: 'opened' }>;
interface Contender extends Opened {
  readonly host: Host;
}

async function start(main: string, databaseUrl = ''): Promise<Contender> {
  const script = fileURLToPath(new URL('./identify.host.js', import.meta.url));
  const args = [main, String(GUILDS), databaseUrl];
  const host: Host = new Worker(script, args, SERVER_CPU, ['--max-semi-space-size=64']);
  return { ...(await host.next('opened')), host };
}

/** Identifies, and resolves when the last guild has come and the session has ended. */
function identify({ gateway, token, guilds }: Contender, dialect: Dialect): Promise<void> {
  return new Promise((resolve, reject) => {
    let frames = 0;
    const properties = { os: 'linux', browser: 'bench', device: 'bench' };
    const wire = new WebSocketWire(new URL(`${gateway}/?v=10&encoding=json${COMPRESSIONS[dialect]}`), {
      open: () => {
        wire.collecting = false;
        wire.send(JSON.stringify({ op: 2, d: { token, intents: READING, properties } }));
      },
      message: () => {
        frames += 1;
        if (frames === guilds + OTHER_FRAMES) wire.close();
      },
      closed: (code, reason) => {
        if (frames === guilds + OTHER_FRAMES) setTimeout(resolve, SETTLE_MS);
        else reject(new Error(`The session was closed with ${code} after ${frames} frames. ${reason}`));
      },
    });
  });
}

/** CPU-milliseconds of an IDENTIFY until its last GUILD_CREATE, the end of the session included. */
async function costOf(contender: Contender, dialect: Dialect): Promise<number> {
  const { host } = contender;
  host.order({ kind: 'begin' });
  for (let time = 0; time < TIMES; time += 1) await identify(contender, dialect);
  const ended = host.next('ended');
  host.order({ kind: 'end' });
  return (await ended).cpuMicros / 1000 / TIMES;
}

const emptyCosts = (): Record<Dialect, number[]> => ({ json: [], 'zlib-stream': [] });

/**
 * Measures an IDENTIFY of a bot in 500 guilds, beside the build in the directory that `BENCH_BESIDE` names, in turns; and
 * a RESUME beside an IDENTIFY with one guild (G21). `BENCH_DATABASE_URL` and `BENCH_BESIDE_DATABASE_URL` name empty databases.
 */
export async function measureIdentify(rounds: number): Promise<Finding> {
  const { BENCH_BESIDE, BENCH_DATABASE_URL, BENCH_BESIDE_DATABASE_URL } = process.env;
  const own = await start(new URL('../../main.js', import.meta.url).href, BENCH_DATABASE_URL);
  const beside = BENCH_BESIDE
    ? await start(pathToFileURL(join(BENCH_BESIDE, 'dist/main.js')).href, BENCH_BESIDE_DATABASE_URL)
    : null;
  const costs = { own: emptyCosts(), beside: emptyCosts() };
  try {
    // The first round does not count.
    for (let round = 0; round <= rounds; round += 1)
      for (const dialect of DIALECTS) {
        const cost = await costOf(own, dialect);
        const other = beside && (await costOf(beside, dialect));
        if (round === 0) continue;
        costs.own[dialect].push(cost);
        if (other !== null) costs.beside[dialect].push(other);
      }
  } finally {
    own.host.end();
    beside?.host.end();
  }
  const resume = await measureResume(rounds);
  return {
    lines: [
      `IDENTIFY of a bot in ${GUILDS} guilds, ${TIMES} one after the other, ${rounds} rounds; CPU-ms each, median (min–max)`,
      ...DIALECTS.map((dialect) => lineOf(dialect, costs.own[dialect], beside && costs.beside[dialect])),
      ...resume.lines,
    ],
    figures: { guilds: GUILDS, times: TIMES, rounds, cpuMs: costs, resume: resume.figures },
  };
}

function lineOf(dialect: Dialect, own: readonly number[], beside: readonly number[] | null): string {
  const ours = `${dialect.padEnd(11)} ${show(spreadOf(own), 1)}`;
  if (!beside) return `${ours}; BENCH_BESIDE names no other build to compare with`;
  const ratio = ratiosOf(own, beside);
  const verdict = `target ≤ ${TARGET}: ${verdictOf(ratio, TARGET)}`;
  return `${ours}, beside ${show(spreadOf(beside), 1)}, ratio ${show(ratio)}, ${verdict}`;
}
