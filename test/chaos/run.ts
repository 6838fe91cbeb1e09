import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './faults.ts';
import { allServing, type Ground, openGround } from './ground.ts';
import { judge, type Verdict } from './judge.ts';
import { ChannelWriter, Listener, seedWorld, type World } from './load.ts';
import { PARTITIONS, type Shard } from './shard.ts';

interface ChaosOptions {
  /** Where `dist/cli.js` is. */
  readonly root: string;
  /** Fixes which faults meet which shards; what the machine does meanwhile it cannot fix. */
  readonly seed: number;
  /** Answers the next fault, or null when it is enough. */
  readonly next: (random: () => number) => Fault | null;
  /** Whether the database refuses stale writes; it does unless said otherwise. */
  readonly fence?: boolean;
  /** Two servers of PostgreSQL under Patroni. */
  readonly patroni?: boolean;
  /** Shards with a network, a clock and a disk of their own. */
  readonly system?: boolean;
  readonly log: (line: string) => void;
}

interface ChaosReport extends Verdict {
  readonly acknowledged: number;
  readonly heard: number;
  readonly resumed: number;
  /** How often a session had to identify again. */
  readonly anew: number;
  /** Writes that were answered with 503, and how many of these answers had a Retry-After. */
  readonly later: number;
  readonly laterWithHint: number;
  /** Answers to writes that were neither: status to count. */
  readonly refused: Readonly<Record<string, number>>;
}

const GUILDS = 6;
const LISTENERS = 6;
const WRITE_EVERY_MS = 80;
/** Between two faults. */
const CALM_MS = 1_500;
const SETTLE_MS = 40_000;

/** Numbers from 0 to 1, the same for the same seed: xorshift32. */
function randomOf(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/**
 * Faults one after the other under a load; then all faults are removed, and the dispatches are compared with the
 * database.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { fence = true, patroni = false, system = false, root, log } = options;
  const ground = await openGround({ root, fence, patroni, system });
  try {
    await allServing(ground.shards);
    const world = await seedWorld(ground.shards[0] as Shard, GUILDS);
    return await underLoad(ground, world, options);
  } catch (error) {
    for (const shard of ground.shards) log(`${shard.id}: ${shard.log.slice(-30).join('\n')}`);
    throw error;
  } finally {
    await ground.close();
  }
}

async function underLoad(ground: Ground, world: World, options: ChaosOptions): Promise<ChaosReport> {
  const { shards } = ground;
  const random = randomOf(options.seed);
  const given = { shards, token: world.token, random: randomOf(options.seed + 1) };
  const channelIds = world.guilds.map(({ channelId }) => channelId);
  const listeners = Array.from(
    { length: LISTENERS },
    (_, n) =>
      new Listener({ ...given, name: `session ${n}`, channelIds }, shards[n % shards.length] as Shard),
  );
  try {
    await Promise.all(listeners.map(({ ready }) => ready));
    const writers = channelIds.map(
      (channelId) => new ChannelWriter({ ...given, channelId, everyMs: WRITE_EVERY_MS }),
    );
    await delay(CALM_MS);
    const startedMs = Date.now();
    await inflict(ground, random, options);
    await allServing(shards);
    await Promise.all(writers.map((writer) => writer.stop()));
    const report = await reportOf(ground, writers, listeners);
    for (const [n, { anewAtMs }] of listeners.entries())
      for (const atMs of anewAtMs)
        options.log(`session ${n} was lost at ${((atMs - startedMs) / 1_000).toFixed(1)} s`);
    const found = [...report.lost, ...report.doubled, ...report.reordered];
    for (const id of new Set(found.flatMap((each) => /\d{17,20}/.exec(each) ?? [])))
      explain(id, ground, listeners, options.log);
    return report;
  } finally {
    for (const listener of listeners) listener.stop();
  }
}

async function inflict(ground: Ground, random: () => number, { next, log }: ChaosOptions): Promise<void> {
  const startedMs = Date.now();
  for (let fault = next(random); fault; fault = next(random)) {
    const shard = ground.shards[Math.floor(random() * ground.shards.length)] as Shard;
    log(`${((Date.now() - startedMs) / 1_000).toFixed(1)} s  ${shard.id}: ${fault.name}`);
    await fault.run(ground, shard, random);
    await delay(CALM_MS * (0.5 + random()));
  }
}

/** When an id was made, after the epoch of the platform. */
const madeMs = (id: string): number => Number(BigInt(id) >> 22n) + 1_420_070_400_000;
/** The lines that are printed around a finding. */
const AROUND_MS = { before: 8_000, after: 15_000 };

/** Logs what sessions and shards recorded around the time of a lost or doubled message. */
function explain(
  id: string,
  { shards }: Ground,
  listeners: readonly Listener[],
  log: (line: string) => void,
): void {
  const atMs = madeMs(id);
  const isNear = (ms: number) => ms > atMs - AROUND_MS.before && ms < atMs + AROUND_MS.after;
  log(`${id} was written at ${new Date(atMs).toISOString()}`);
  const lines = listeners.flatMap(({ diary }) =>
    diary.filter((line) => isNear(Date.parse(line.slice(0, 24)))),
  );
  for (const shard of shards)
    for (const line of shard.log) {
      const ms = Number(/"time":(\d+)/.exec(line)?.[1]);
      if (isNear(ms)) lines.push(`${new Date(ms).toISOString()} ${shard.id} ${line}`);
    }
  for (const line of lines.sort()) log(line);
}

async function reportOf(
  ground: Ground,
  writers: readonly ChannelWriter[],
  listeners: readonly Listener[],
): Promise<ChaosReport> {
  const written = writers.flatMap((each) => each.written);
  const last = writers.flatMap((each) => each.written.at(-1)?.id ?? []);
  const isBehind = ({ heardLast }: Listener) => last.some((id) => !heardLast.has(id));
  for (const giveUpMs = Date.now() + SETTLE_MS; listeners.some(isBehind) && Date.now() < giveUpMs; )
    await delay(100);
  const verdict = judge({
    written,
    hearings: listeners.flatMap((listener) => listener.hearings()),
    stored: await ground.stored(),
    noted: await ground.noted(),
    partitions: PARTITIONS,
  });
  const sum = (of: (writer: ChannelWriter) => number) => writers.reduce((total, each) => total + of(each), 0);
  const refused: Record<string, number> = {};
  for (const writer of writers)
    for (const [status, count] of writer.refused) refused[status] = (refused[status] ?? 0) + count;
  return {
    ...verdict,
    acknowledged: written.length,
    heard: listeners.flatMap((each) => each.hearings()).reduce((total, { heard }) => total + heard.length, 0),
    resumed: listeners.reduce((total, each) => total + each.resumed, 0),
    anew: listeners.reduce((total, { anewAtMs }) => total + anewAtMs.length, 0),
    later: sum((each) => each.later),
    laterWithHint: sum((each) => each.laterWithHint),
    refused,
  };
}
