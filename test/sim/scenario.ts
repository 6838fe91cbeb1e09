import { type Config, DEFAULTS } from '../../config/config.ts';
import { Random } from '../fuzz/random.ts';
import { FAULT_NAMES, type FaultName } from './faults.ts';
import type { Feature } from './features.ts';
import type { World } from './world.ts';

/** The parameters of one seed. */
export interface Scenario {
  readonly shards: number;
  readonly users: number;
  readonly guilds: number;
  /** Users with a second client. */
  readonly seconds: number;
  readonly everyMs: number;
  readonly workMs: number;
  readonly faults: readonly FaultName[];
  readonly faultEveryMs: number;
  readonly breaks: number;
  readonly doubles: number;
  /** The most frames that a link queues. */
  readonly framesMax: number;
  /** Share of the messages to and from the database that take long. */
  readonly lateShare: number;
  readonly config: SimConfig;
}

type SimConfig = ReturnType<typeof boundsOf> &
  ReturnType<typeof retryOf> &
  Partial<ReturnType<typeof callsOf>>;

export function scenarioOf(world: World, features: readonly Feature[], seed: number): Scenario {
  const usual = drawnOf(world);
  // A third of the runs with links have no faults: there, nothing excuses a lobby or channel whose link is one-sided.
  const isCalm = features.includes('links') && usual.seconds === 0;
  const calmed = isCalm ? { ...usual, faults: [], breaks: 0 } : usual;
  const lateShare = lateShareOf(seed, slowSeeds(isCalm, calmed.faults));
  const config = features.includes('voice') ? { ...calmed.config, ...callsOf(seed) } : calmed.config;
  const drawn = { ...calmed, lateShare, config: { ...config, ...retryOf(seed) } };
  // Missed lobby and direct message dispatches are sent at once: a link without room for them never catches up.
  const hasDirect = features.some((feature) => !INDIRECT.includes(feature));
  return !hasDirect ? drawn : { ...drawn, framesMax: Math.max(drawn.framesMax, CATCHING_UP) };
}

/** The share of seeds with a slow database among those with these faults. */
function slowSeeds(isCalm: boolean, faults: readonly FaultName[]): number {
  // Changes overlap when the database is slow.
  if (isCalm) return LATE_SEEDS.linked;
  // A slow database that is lost too commits joins of lobbies long after their decision, which is known and not mended.
  return faults.includes('loseDatabase') ? 0 : LATE_SEEDS.most;
}

function drawnOf(world: World) {
  const { random } = world;
  const some = FAULT_NAMES.filter(() => world.chance(0.35));
  return {
    shards: 2 + random.below(2),
    users: 4 + random.below(3),
    guilds: 1 + random.below(2),
    seconds: random.below(3),
    everyMs: world.between(60, 200),
    workMs: world.between(8_000, 16_000),
    faults: world.chance(0.1) ? [] : some,
    faultEveryMs: world.between(700, 3_000),
    breaks: world.chance(0.5) ? 0.01 : 0,
    doubles: world.chance(0.5) ? 0.03 : 0,
    framesMax: world.chance(0.35) ? 2 + random.below(45) : FRAMES_MAX,
    config: boundsOf(world),
  };
}

/** Features without dispatches that are sent again at once. */
const INDIRECT: readonly Feature[] = ['reads', 'slow', 'voice'];
const FRAMES_MAX = 2_000;
const CATCHING_UP = 200;
/** The share of seeds that draw each bound small. */
const SMALL = 0.2;

/** Share of the seeds whose database is slow. */
const LATE_SEEDS = { most: 0.25, linked: 0.8 };
/** Share of messages that are late, with a fast database and with a slow one. */
const LATE_SHARE = { fast: 0.01, from: 0.05, to: 0.4 };

/** Drawn from a separate random sequence, so that a seed is the same world with a fast database. */
function lateShareOf(seed: number, slowShare: number): number {
  const random = new Random(seed ^ 0x1a7e_5a1e);
  const { fast, from, to } = LATE_SHARE;
  return random.next() < slowShare ? from + random.next() * (to - from) : fast;
}

/** How long commits are repeated when the database is lost, drawn from a separate random sequence; mostly as by default. */
function retryOf(seed: number) {
  const random = new Random(seed ^ 0x2e71_2e71);
  const commit_retry_ms = random.next() < 0.4 ? random.below(3_000) : DEFAULTS.commit_retry_ms;
  return { commit_retry_ms } satisfies Partial<Config>;
}

/** Bounds of calls, drawn from a separate random sequence. The voice clients of a run have no end-to-end encryption. */
function callsOf(seed: number) {
  const random = new Random(seed ^ 0x0ca1_15ed);
  const voice_resume_window_ms = random.next() < SMALL ? 500 + random.below(3_000) : 10_000;
  return { voice_resume_window_ms, e2ee_required: false } satisfies Partial<Config>;
}

/** Every bound of the configuration: most as they are by default, some so small that the run meets them. */
function boundsOf(world: World) {
  const between = (from: number, to: number) => Math.floor(world.between(from, to + 1));
  const small = (from: number, to: number, usual: number) =>
    world.chance(SMALL) ? between(from, to) : usual;
  // A queue fills only when it processes few items at once.
  const [hasFewLoads, hasFewStarts] = [world.chance(SMALL), world.chance(SMALL)];
  const few = (isTight: boolean, from: number, to: number, usual: number) =>
    isTight ? between(from, to) : usual;
  return {
    partitions: world.chance(SMALL) ? between(1, 64) : 12,
    lease_ttl_ms: small(1_500, 5_000, 3_000),
    handover_timeout_ms: small(100, 3_000, 1_000),
    command_deadline_ms: small(1_000, 8_000, 5_000),
    resume_window_ms: small(1_000, 30_000, 15_000),
    guild_idle_ms: small(200, 20_000, 5_000),
    user_idle_ms: small(200, 20_000, 5_000),
    replay_frames_max: small(0, 60, DEFAULTS.replay_frames_max),
    stream_dispatches_max: small(16, 64, DEFAULTS.stream_dispatches_max),
    // Longer than a caller waits before it retries: a repeated command is recognized within this time.
    record_age_ms: small(22_000, 30_000, DEFAULTS.record_age_ms),
    journal_bytes_max: small(4_096, 65_536, DEFAULTS.journal_bytes_max),
    guild_member_window_max: small(1, 4, DEFAULTS.guild_member_window_max),
    guild_message_window_max: small(10, 20, DEFAULTS.guild_message_window_max),
    guild_backlog_max: small(2, 30, DEFAULTS.guild_backlog_max),
    commit_batch_max: small(1, 4, DEFAULTS.commit_batch_max),
    commit_depth_max: small(4, 30, DEFAULTS.commit_depth_max),
    loads_max: few(hasFewLoads, 1, 2, DEFAULTS.loads_max),
    loads_waiting_max: few(hasFewLoads && world.chance(0.7), 1, 2, DEFAULTS.loads_waiting_max),
    identifies_per_sec: few(hasFewStarts, 1, 2, DEFAULTS.identifies_per_sec),
    identifies_waiting_max: few(hasFewStarts && world.chance(0.7), 1, 2, DEFAULTS.identifies_waiting_max),
  } satisfies Partial<Config>;
}

/**
 * For how long a session without a connection can be resumed; 0: it may end at any time, because a bound is small, or because a
 * shard may claim it, and end or lose its membership before it has the answer.
 */
export function resumableMs({ config, faults, breaks }: Scenario): number {
  const has = (...names: readonly FaultName[]) => names.some((name) => faults.includes(name));
  const losesAnswers = breaks > 0 || has('breakLink', 'partPeers');
  if (has('kill') && has('stop', 'loseDirectory', 'drain')) return 0;
  if ((losesAnswers && has('kill', 'drain')) || (has('drain') && has('stop', 'loseDirectory'))) return 0;
  const keepsAll =
    config.replay_frames_max === DEFAULTS.replay_frames_max &&
    config.stream_dispatches_max === DEFAULTS.stream_dispatches_max &&
    config.journal_bytes_max === DEFAULTS.journal_bytes_max;
  return keepsAll ? config.resume_window_ms : 0;
}
