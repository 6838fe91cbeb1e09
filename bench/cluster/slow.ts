import { usageOf } from '../wire/process.ts';
import { openArena, pause } from './arena.ts';
import { Crowd, keepWriting, type Quantiles } from './crowd.ts';

interface SlowPlan {
  readonly sessions: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Pairs of runs: in one all sessions read, in the other some do not. */
  readonly rounds: number;
}

interface Run extends Quantiles {
  /** Highest memory of both shards together, MiB. */
  readonly rssMib: number;
}

interface SlowFigures {
  readonly sessions: number;
  readonly stopped: number;
  /** In the order of the runs, which alternate: all read, some do not, all read, … */
  readonly control: readonly Run[];
  readonly slow: readonly Run[];
  /** Ratio of the medians of both kinds of runs. */
  readonly rssOver: number;
  readonly p99Over: number;
}

const STOPPED_SHARE = 0.01;
/** The longest messages allowed: unread data must fill the system's buffers before the server has to buffer any. */
const CONTENT_BYTES = 2000;
const LOOK_MS = 250;
const WARM_MS = 3000;
const MIB = 2 ** 20;

/** Measures two shards under the same stream of messages, with and without sessions that do not read (G11). */
export async function measureSlow(plan: SlowPlan): Promise<SlowFigures> {
  const { sessions, rounds } = plan;
  const stopped = Math.max(1, Math.round(sessions * STOPPED_SHARE));
  const [control, slow]: [Run[], Run[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    control.push(await runOnce(plan, 0));
    slow.push(await runOnce(plan, stopped));
  }
  const over = (of: (run: Run) => number) => middle(slow.map(of)) / middle(control.map(of));
  const rssOver = over(({ rssMib }) => rssMib);
  return { sessions, stopped, control, slow, rssOver, p99Over: over(({ p99 }) => p99) };
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;

async function runOnce({ sessions, perSecond, seconds }: SlowPlan, stopped: number): Promise<Run> {
  const arena = await openArena(2, 8);
  const crowd = new Crowd(arena.addresses, sessions);
  try {
    await crowd.connect();
    const pids = (await arena.status()).shards.flatMap(({ pid }) => pid ?? []);
    const stop = keepWriting(arena.addresses, perSecond, CONTENT_BYTES);
    await pause(WARM_MS);
    for (const client of crowd.clients.slice(0, stopped)) client.stopReading();
    const fromMs = performance.now();
    let rssBytes = 0;
    while (performance.now() - fromMs < seconds * 1000) {
      rssBytes = Math.max(rssBytes, usageOf(pids)?.rssBytes ?? 0);
      await pause(LOOK_MS);
    }
    const untilMs = performance.now();
    await stop();
    const of = (index: number, sentMs: number) => index >= stopped && sentMs >= fromMs && sentMs < untilMs;
    return { rssMib: rssBytes / MIB, ...crowd.latencies(of) };
  } finally {
    crowd.close();
    await arena.stop();
  }
}
