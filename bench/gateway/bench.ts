import { randomBytes } from 'node:crypto';
import { CommandError } from '../../cli/world.ts';
import { messageOf } from '../../protocol/thrown.ts';
import { requireServer } from '../answering.ts';
import { Latencies } from '../wire/histogram.ts';
import { guardHosts } from '../wire/loopback.ts';
import { nowNs } from '../wire/pace.ts';
import { type Pids, type Usage, usageOf } from '../wire/process.ts';
import { type Admission, admit } from './admission.ts';
import type { ScoutedGuild } from './connection.ts';
import type { FleetPlan, FleetResult } from './fleet.ts';
import { inlineFleet, threadFleet } from './fleets.ts';
import { allowedSends, authorizationOf } from './place.ts';
import type { RunningFleet } from './remotefleet.ts';
import { CURVE, headlineOf, percentilesOf, type Report, type ServerUse } from './report.ts';
import { Sender, type SendResult } from './sender.ts';
import { dissenters } from './tally.ts';
import { missedThresholds, parseThreshold } from './threshold.ts';
import { endedSessions, MORE, mergeCounts, refusedSends } from './verdict.ts';

export interface BenchOptions {
  readonly url: string;
  /** Base URL of the REST API, ending in `/api`; derived from the gateway's when null. */
  readonly api: string | null;
  /** Tokens of bots; a token with a scheme, as `Bearer x`, is used unchanged. Connections use them in rotation. */
  readonly tokens: readonly string[];
  readonly connections: number;
  /** Connections that decode all frames. Decoding plain JSON is cheap; a compressed stream needs an inflate each. */
  readonly measured: number;
  /** Number of threads; 0 runs everything in this thread. */
  readonly threads: number;
  readonly compress: boolean;
  readonly intents: number;
  /** Messages per second. Null: 10, or the server's rate limit if that is lower. */
  readonly perSecond: number | null;
  readonly durationSeconds: number;
  /** Number of messages before the run that do not count. */
  readonly warmUp?: number;
  readonly contentBytes: number;
  /** Channel of the messages; null for the first text channel of the first guild. */
  readonly channelId: string | null;
  /** IDENTIFYs per second, whatever the server reports; null follows the server's start limits. */
  readonly identifyPerSecond: number | null;
  /** Process ids of the server, if it runs on this machine. */
  readonly serverPid: Pids | null;
  /** How long to wait after the last answer for outstanding deliveries. */
  readonly settleMs: number;
  readonly thresholds: readonly string[];
  readonly isOwnHost: boolean;
  /** How long a start bucket is occupied; default: the platform's five seconds. */
  readonly startWindowMs?: number;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with notes about a run that is smaller than requested, and how to enlarge it. */
  readonly onNote?: (note: string) => void;
}

interface Progress {
  readonly phase: 'connecting' | 'sending';
  readonly done: number;
  readonly of: number;
}

/** Bounds of a run, since tallies need memory. */
const MESSAGES_MAX = 1_000_000;
const START_DELAY_MS = 300;
const QUIET_WAITS_MAX = 20;
const RETRIES_MAX = 3;
const SOCKET_TURNS = 3;
/** Default rate of messages, unless the server's limit is lower. */
const PER_SECOND = 10;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Measures a gateway: connects, has messages created at a fixed rate, and follows each to every connection.
 *
 * @throws CommandError when a host is neither this machine nor confirmed as one's own, or when connections cannot identify.
 */
export async function benchGateway(options: BenchOptions): Promise<Report> {
  const url = new URL(options.url);
  const api = apiOf(url, options.api);
  guardHosts([url, api], options.isOwnHost);
  const [token] = options.tokens;
  if (token === undefined)
    throw new CommandError(
      'There is no token to identify with.',
      'Give one with --token, or several with --tokens.',
    );
  const thresholds = options.thresholds.map(parseThreshold);
  const runId = randomBytes(4).toString('hex');
  await requireServer(api);
  const admission = await admit(options, api);
  const place = admission.place;
  const pace = await paceOf(options, api, token, place?.channelId ?? null);
  const { perSecond } = pace;
  const total = Math.min(MESSAGES_MAX, Math.ceil(perSecond * options.durationSeconds));
  const notes = [...admission.notes, ...pace.notes];
  for (const note of notes) options.onNote?.(note);

  const guilds: ScoutedGuild[] = [];
  const fleets = gather(options, { url, total, runId, admission }, guilds);
  const connectSeconds = await connectAll(fleets);
  const channelId = place?.channelId ?? guilds.find((guild) => guild.textChannelId)?.textChannelId;
  if (!channelId) {
    await Promise.all(fleets.map((fleet) => fleet.abandon()));
    throw new CommandError(
      'No guild of the first token has a text channel.',
      'Name a channel with --channel.',
    );
  }
  const authorization = authorizationOf(token);
  const { contentBytes } = options;
  // A rate derived from the server's limit may exceed it on a busy machine and is retried; a requested rate then fails.
  const retriesMax = options.perSecond === null ? RETRIES_MAX : 0;
  const sender = new Sender({
    api,
    authorization,
    channelId,
    runId,
    perSecond,
    total,
    contentBytes,
    retriesMax,
  });
  await sleep(pace.freeAtMs - Date.now());
  if (options.warmUp) {
    await sender.warmUp(options.warmUp);
    await sleep(options.settleMs);
  }
  const run = await sendAll(options, fleets, sender, total);
  const results = await Promise.all(fleets.map((fleet) => fleet.finish()));
  const members = (guilds.find(({ id }) => id === place?.guildId) ?? guilds[0])?.members ?? 0;
  const connections = admission.connections;
  const report = assemble(options, { results, run, connectSeconds, members, perSecond, connections, notes });
  const missed = new Set(missedThresholds(report, thresholds).map(({ text }) => text));
  return { ...report, thresholds: thresholds.map(({ text }) => ({ text, kept: !missed.has(text) })) };
}

function apiOf(url: URL, api: string | null): URL {
  if (api !== null) return new URL(api);
  return new URL('/api', url.href.replace(/^ws/, 'http'));
}

interface Pace {
  readonly perSecond: number;
  readonly freeAtMs: number;
  readonly notes: readonly string[];
}

/** The requested rate of messages; by default the usual one, or the server's limit if that is lower. */
async function paceOf(
  { perSecond }: BenchOptions,
  api: URL,
  token: string,
  channelId: string | null,
): Promise<Pace> {
  if (perSecond !== null) return { perSecond, freeAtMs: 0, notes: [] };
  if (channelId === null) return { perSecond: PER_SECOND, freeAtMs: 0, notes: [] };
  const { perSecond: allowed, freeAtMs } = await allowedSends(api, token, channelId);
  if (allowed === null || allowed >= PER_SECOND) return { perSecond: PER_SECOND, freeAtMs, notes: [] };
  const pace = Number(allowed.toPrecision(3));
  const limit = `The run sends ${pace} messages a second, as the server's rate limit of the channel allows. ${MORE}`;
  return { perSecond: pace, freeAtMs, notes: [limit] };
}

interface RunFacts {
  readonly url: URL;
  readonly total: number;
  readonly runId: string;
  readonly admission: Admission;
}

/** Distributes the connections over threads, each with its share of the rate of IDENTIFYs. */
function gather(
  options: BenchOptions,
  { url, total, runId, admission }: RunFacts,
  guilds: ScoutedGuild[],
): RunningFleet[] {
  const { measured, intents, compress } = options;
  const { seats, connections, laneGapMs, identifyPerSecond } = admission;
  const fleetCount = Math.max(1, Math.min(options.threads, admission.lanes));
  // A lane stays in one thread, because its sessions wait for each other.
  const shares = Array.from({ length: fleetCount }, (_, index) =>
    seats.filter(({ lane }) => lane % fleetCount === index),
  );
  const ready = new Array<number>(fleetCount).fill(0);
  let left = Math.min(measured, connections);
  return shares.map((own, index) => {
    const decoding = Math.min(own.length, Math.ceil(left / (fleetCount - index)));
    left -= decoding;
    const plan: FleetPlan = {
      url: url.href,
      tokens: [],
      seats: own,
      laneGapMs,
      intents,
      compress,
      connections: own.length,
      measured: decoding,
      scouts: index === 0,
      identifyIntervalMs: (1000 * fleetCount) / identifyPerSecond,
      identifyDelayMs: (1000 * index) / identifyPerSecond,
      runId,
      total,
    };
    const events = {
      progress: (count: number) => {
        ready[index] = count;
        const done = ready.reduce((sum, each) => sum + each, 0);
        options.onProgress?.({ phase: 'connecting', done, of: connections });
      },
      scouted: (found: readonly ScoutedGuild[]) => void guilds.push(...found),
    };
    return options.threads > 0 ? threadFleet(plan, events) : inlineFleet(plan, events);
  });
}

async function connectAll(fleets: readonly RunningFleet[]): Promise<number> {
  const startNs = nowNs();
  try {
    await Promise.all(fleets.map((fleet) => fleet.connect()));
  } catch (error) {
    await Promise.all(fleets.map((fleet) => fleet.abandon()));
    throw new CommandError(
      messageOf(error),
      `Look at whether the server runs, knows the tokens, and lets so many sessions start. ${MORE}`,
    );
  }
  return (nowNs() - startNs) / 1e9;
}

/** Waits for late deliveries, which are not lost: until none arrives for `settleMs`, a bounded number of times. */
export async function quiet(
  fleets: readonly Pick<RunningFleet, 'deliveries'>[],
  settleMs: number,
  wait = sleep,
): Promise<void> {
  const count = async (): Promise<number> => {
    // Read first what has reached this thread's sockets, in case the timer is late.
    for (let turn = 0; turn < SOCKET_TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    const counts = await Promise.all(fleets.map((fleet) => fleet.deliveries()));
    return counts.reduce((sum, each) => sum + each, 0);
  };
  let before = -1;
  for (let waits = 0; waits < QUIET_WAITS_MAX; waits += 1) {
    const now = await count();
    if (now === before) return;
    before = now;
    await wait(settleMs);
  }
}

interface Run {
  readonly sends: SendResult;
  readonly seconds: number;
  readonly usage: { readonly before: Usage; readonly after: Usage } | null;
}

async function sendAll(
  options: BenchOptions,
  fleets: readonly RunningFleet[],
  sender: Sender,
  total: number,
): Promise<Run> {
  const startNs = nowNs() + START_DELAY_MS * 1e6;
  for (const fleet of fleets) fleet.start(Math.floor(startNs / 1000));
  const progress = setInterval(
    () => options.onProgress?.({ phase: 'sending', done: sender.sent, of: total }),
    200,
  );
  const pid = options.serverPid;
  const before = pid === null ? null : usageOf(pid);
  const sends = await sender.run(startNs);
  await quiet(fleets, options.settleMs);
  const after = pid === null ? null : usageOf(pid);
  clearInterval(progress);
  options.onProgress?.({ phase: 'sending', done: total, of: total });
  return { sends, seconds: (nowNs() - startNs) / 1e9, usage: before && after ? { before, after } : null };
}

interface Findings {
  readonly results: readonly FleetResult[];
  readonly run: Run;
  readonly connectSeconds: number;
  readonly members: number;
  readonly perSecond: number;
  readonly connections: number;
  readonly notes: readonly string[];
}

function assemble(options: BenchOptions, findings: Findings): Report {
  const { results, run, connectSeconds, members, perSecond, connections, notes } = findings;
  const latencies = new Latencies();
  for (const result of results) latencies.merge(result.latencies);
  const sum = (of: (result: FleetResult) => number): number =>
    results.reduce((all, each) => all + of(each), 0);
  const deliveries = sum((each) => each.deliveries);
  const orders = results.flatMap((each) => each.orders);
  const lost = lostOf(run.sends.confirmed, results, orders.length);
  const { sends, usage } = run;
  const closes = mergeCounts(results.map((each) => each.closes));
  const seconds = Math.max(1e-9, options.durationSeconds);
  const report = {
    url: options.url,
    encoding: options.compress ? ('zlib-stream' as const) : ('json' as const),
    connections,
    connectionsAsked: options.connections,
    measuredConnections: orders.length,
    members,
    perSecond,
    durationSeconds: options.durationSeconds,
    connectSeconds,
    identifiesRefused: sum((each) => each.identifiesRefused),
    sends: {
      sent: sends.sent,
      answered: sends.answered,
      limited: sends.limited,
      failed: sends.failed,
      refused: sends.refused,
      latencyMs: percentilesOf(sends.latencies),
    },
    deliveries,
    deliveriesPerSecond: deliveries / seconds,
    bytesPerDelivery: deliveries === 0 ? 0 : sum((each) => each.payloadBytes) / deliveries,
    lost,
    duplicated: sum((each) => each.duplicated),
    // With losses, connections cannot have seen the same order; losses are counted above.
    reordered: lost === 0 ? dissenters(orders) : 0,
    dropped: sum((each) => each.dropped),
    closes,
    latencyMs: percentilesOf(latencies),
    curve: CURVE.map((percentile) => ({ percentile, ms: latencies.millisAt(percentile) })),
    timeline: mergeTimelines(results.map((each) => each.timeline)),
    server: usage && useOf(usage.before, usage.after, deliveries, run.seconds),
    thresholds: [],
    notes,
    failures: [...refusedSends('sends', sends.sent, sends.refused), ...endedSessions('sessions', closes)],
  };
  return { ...report, headline: headlineOf(report) };
}

function useOf(before: Usage, after: Usage, deliveries: number, seconds: number): ServerUse {
  const cpuMicros = after.cpuMicros - before.cpuMicros;
  return {
    cpuMicrosPerDelivery: deliveries === 0 ? 0 : cpuMicros / deliveries,
    cpuShare: cpuMicros / (seconds * 1e6),
    rssBytes: after.rssBytes,
  };
}

/** Messages that were confirmed but did not reach every measured connection. */
export function lostOf(
  confirmed: Uint8Array,
  results: readonly Pick<FleetResult, 'seen'>[],
  measured: number,
): number {
  let lost = 0;
  for (const [index, isConfirmed] of confirmed.entries()) {
    if (isConfirmed === 0) continue;
    const seen = results.reduce((sum, each) => sum + (each.seen[index] ?? 0), 0);
    lost += Math.max(0, measured - seen);
  }
  return lost;
}

export function mergeTimelines(timelines: readonly (readonly number[])[]): number[] {
  const seconds = Math.max(0, ...timelines.map(({ length }) => length));
  return Array.from({ length: seconds }, (_, second) =>
    timelines.reduce((sum, each) => sum + (each[second] ?? 0), 0),
  );
}
