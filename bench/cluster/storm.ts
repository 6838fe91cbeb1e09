import { usageOf } from '../wire/process.ts';
import { type Arena, openArena, pause, until } from './arena.ts';
import { Crowd, LONG_MS, type Quantiles } from './crowd.ts';
import { Witnesses } from './witnesses.ts';

interface StormPlan {
  readonly sessions: number;
  /** Messages of the guild per second. */
  readonly perSecond: number;
  /** Whether the killed shard owns the guild, so that its messages wait for the next owner too. */
  readonly killsOwner: boolean;
}

/** CPU usage, as shares of one core. */
interface Work {
  readonly survivor: number;
  readonly clients: number;
}

interface StormFigures {
  readonly sessions: number;
  readonly killed: 'owner' | 'other';
  /** Sessions of the killed shard. */
  readonly lost: number;
  /** Time from the first connection to the last READY, and its share for the sessions that were lost. */
  readonly coldMs: number;
  readonly coldShareMs: number;
  /** Time from the kill until all lost sessions are back, and its ratio to the share above. */
  readonly backMs: number;
  readonly backOverCold: number;
  readonly resumed: number;
  readonly identified: number;
  /** Latencies at sessions of the surviving shard in a thread of their own: before the kill, and from then until all are back. */
  readonly survivors: Readonly<Record<'before' | 'meanwhile', Quantiles>>;
  readonly p99Over: number;
  /** CPU usage. If both values with PostgreSQL's reach the machine's capacity, the machine is measured instead of the server. */
  readonly cores: Readonly<Record<'before' | 'meanwhile', Work>>;
  /** Metrics that show afterwards that a bound was reached. */
  readonly overflows: readonly string[];
}

const BEFORE_MS = 10_000;
const SETTLE_MS = 2_000;
const WITNESS_SHARE = 0.1;
const OVERFLOW = /^guildhall_\w*(overflow|dropped|too_slow|refused|lost)\w*(\{[^}]*\})? [1-9]/gm;

/** Measures how long the sessions of a killed shard, half of all, need to be back (G10). */
export async function measureStorm(plan: StormPlan): Promise<StormFigures> {
  const arena = await openArena(2, 8);
  const { addresses } = arena;
  const witnessing = Math.round(plan.sessions * WITNESS_SHARE);
  const crowd = new Crowd(addresses, plan.sessions - witnessing);
  const witnesses = new Witnesses({ addresses, sessions: witnessing, perSecond: plan.perSecond });
  try {
    return await storm(arena, crowd, witnesses, plan);
  } finally {
    crowd.close();
    await witnesses.close();
    await arena.stop();
  }
}

/** Chooses the shard to kill and the one that survives. */
async function victimOf(arena: Arena, killsOwner: boolean) {
  const { shards } = await arena.status();
  const owns = shards.map(({ residents }) => (residents?.guild ?? 0) > 0);
  const at = owns.indexOf(killsOwner);
  const [victim, survivor] = [shards[at]?.pid, shards[1 - at]?.pid];
  if (!victim || !survivor) throw new Error('There are no two shards, of which one has the guild.');
  return { victim, survivor };
}

/** Starts measuring CPU usage of the processes; the returned function reads it. */
function watch(survivor: number): () => Work {
  const startMs = performance.now();
  const used = [survivor, process.pid].map((pid) => usageOf(pid)?.cpuMicros ?? 0);
  return () => {
    const micros = (performance.now() - startMs) * 1000;
    const share = (pid: number, before = 0) => ((usageOf(pid)?.cpuMicros ?? 0) - before) / micros;
    return { survivor: share(survivor, used[0]), clients: share(process.pid, used[1]) };
  };
}

async function storm(
  arena: Arena,
  crowd: Crowd,
  witnesses: Witnesses,
  { sessions, killsOwner }: StormPlan,
): Promise<StormFigures> {
  const { clients } = crowd;
  const startMs = performance.now();
  await Promise.all([crowd.connect(), witnesses.order('connect')]);
  const coldMs = performance.now() - startMs;
  const { victim, survivor } = await victimOf(arena, killsOwner);
  const [ready, resumed] = [crowd.ready, crowd.resumed];
  const { ready: readyThere } = await witnesses.order('write');
  const quiet = watch(survivor);
  await pause(BEFORE_MS);
  const before = quiet();
  const storming = watch(survivor);
  const killedMs = performance.now();
  process.kill(victim, 'SIGKILL');
  await witnesses.order('killed');
  await until('connections end', LONG_MS, () => clients.some(({ isOpen }) => !isOpen));
  await pause(100);
  await until('all are back', LONG_MS, async () => {
    if (clients.some(({ isOpen }) => !isOpen)) return false;
    return (await witnesses.order('look')).away === 0;
  });
  const backMs = performance.now() - killedMs;
  const cores = { before, meanwhile: storming() };
  await witnesses.order('finish');
  // The last messages are still on their way.
  await pause(SETTLE_MS);
  const seen = await witnesses.order('look');
  const back = {
    resumed: crowd.resumed - resumed + seen.resumed,
    identified: crowd.ready - ready + seen.ready - readyThere,
  };
  // Each lost session opens once more. Closed connections cannot be counted: the first return before the last have ended.
  const lost = back.resumed + back.identified;
  const coldShareMs = (coldMs * lost) / sessions;
  return {
    ...{ sessions, killed: killsOwner ? 'owner' : 'other', lost, coldMs, coldShareMs, backMs },
    backOverCold: backMs / coldShareMs,
    ...back,
    survivors: { before: seen.before, meanwhile: seen.meanwhile },
    p99Over: seen.meanwhile.p99 / seen.before.p99,
    cores,
    overflows: (await arena.metrics()).match(OVERFLOW) ?? [],
  };
}
