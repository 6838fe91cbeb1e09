import { randomBytes } from 'node:crypto';
import { CommandError } from '../../cli/world.ts';
import { Latencies } from '../wire/histogram.ts';
import { guardHosts } from '../wire/loopback.ts';
import { nowNs } from '../wire/pace.ts';
import { type Pids, type Usage, usageOf } from '../wire/process.ts';
import type { ScoutedGuild } from './connection.ts';
import type { FleetPlan, FleetResult } from './fleet.ts';
import { inlineFleet, type RunningFleet, threadFleet } from './fleets.ts';
import { CURVE, headlineOf, percentilesOf, type Report, type ServerUse } from './report.ts';
import { Sender, type SendResult } from './sender.ts';
import { dissenters } from './tally.ts';
import { missedThresholds, parseThreshold } from './threshold.ts';

export interface BenchOptions {
  readonly url: string;
  /** Base URL of the REST API, ending in `/api`; beside the gateway when null. */
  readonly api: string | null;
  /** Of bots; one with a scheme, as `Bearer x`, is used as it is. Connections take them in turn. */
  readonly tokens: readonly string[];
  readonly connections: number;
  /** Connections that decode all they get. With plain JSON decoding is cheap, with a stream each needs an inflate. */
  readonly measured: number;
  /** 0: everything in this thread. */
  readonly threads: number;
  readonly compress: boolean;
  readonly intents: number;
  readonly perSecond: number;
  readonly durationSeconds: number;
  readonly contentBytes: number;
  /** Where to send; the first text channel of the first guild when null. */
  readonly channelId: string | null;
  /** IDENTIFYs per second; what the server's `max_concurrency` allows when null. */
  readonly identifyPerSecond: number | null;
  /** Process of the server, or all of them, if they run on this machine. */
  readonly serverPid: Pids | null;
  /** How long to wait after the last answer for what is still on its way. */
  readonly settleMs: number;
  readonly thresholds: readonly string[];
  readonly isOwnHost: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly phase: 'connecting' | 'sending';
  readonly done: number;
  readonly of: number;
}

/** Bounds of a run: tallies take memory by both. */
const MESSAGES_MAX = 1_000_000;
const START_DELAY_MS = 300;
const IDENTIFY_WINDOW_S = 5;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const authorizationOf = (token: string): string => (token.includes(' ') ? token : `Bot ${token}`);
const bareToken = (token: string): string => token.slice(token.indexOf(' ') + 1);

/**
 * Measures a gateway: connects, has messages created at a fixed pace, and follows each to every connection.
 *
 * @throws CommandError when a host is not this machine's and not claimed, or when connections cannot identify.
 */
export async function benchGateway(options: BenchOptions): Promise<Report> {
  const url = new URL(options.url);
  const api = apiOf(url, options.api);
  guardHosts([url, api], options.isOwnHost);
  if (options.tokens.length === 0)
    throw new CommandError(
      'There is no token to identify with.',
      'Give one with --token, or several with --tokens.',
    );
  const thresholds = options.thresholds.map(parseThreshold);
  const total = Math.min(MESSAGES_MAX, Math.ceil(options.perSecond * options.durationSeconds));
  const runId = randomBytes(4).toString('hex');

  const guilds: ScoutedGuild[] = [];
  const fleets = await gather(options, url, { api, total, runId }, guilds);
  const connectSeconds = await connectAll(fleets);
  const channelId = options.channelId ?? guilds.find((guild) => guild.textChannelId)?.textChannelId;
  if (!channelId) {
    await Promise.all(fleets.map((fleet) => fleet.abandon()));
    throw new CommandError(
      'No guild of the first token has a text channel.',
      'Name a channel with --channel.',
    );
  }
  const authorization = authorizationOf(options.tokens[0] as string);
  const { perSecond, contentBytes } = options;
  const sender = new Sender({ api, authorization, channelId, runId, perSecond, total, contentBytes });
  const run = await sendAll(options, fleets, sender, total);
  const results = await Promise.all(fleets.map((fleet) => fleet.finish()));
  const report = assemble(options, { results, run, connectSeconds, members: guilds[0]?.members ?? 0 });
  const missed = new Set(missedThresholds(report, thresholds).map(({ text }) => text));
  return { ...report, thresholds: thresholds.map(({ text }) => ({ text, kept: !missed.has(text) })) };
}

function apiOf(url: URL, api: string | null): URL {
  if (api !== null) return new URL(api);
  return new URL('/api', url.href.replace(/^ws/, 'http'));
}

interface RunFacts {
  readonly api: URL;
  readonly total: number;
  readonly runId: string;
}

/** Shares the connections out over threads, each with its part of the pace of IDENTIFY. */
async function gather(
  options: BenchOptions,
  url: URL,
  { api, total, runId }: RunFacts,
  guilds: ScoutedGuild[],
): Promise<RunningFleet[]> {
  const { connections, measured, tokens, intents, compress } = options;
  const fleetCount = Math.max(1, Math.min(options.threads, connections));
  const perSecond = options.identifyPerSecond ?? (await allowedIdentifies(api, tokens));
  const share = (all: number, index: number): number =>
    Math.floor((all * (index + 1)) / fleetCount) - Math.floor((all * index) / fleetCount);
  const ready = new Array<number>(fleetCount).fill(0);
  return Array.from({ length: fleetCount }, (_, index) => {
    const plan: FleetPlan = {
      url: url.href,
      tokens: tokens.map((_, at) => bareToken(tokens[(at + index) % tokens.length] as string)),
      intents,
      compress,
      connections: share(connections, index),
      measured: share(Math.min(measured, connections), index),
      scouts: index === 0,
      identifyIntervalMs: (1000 * fleetCount) / perSecond,
      identifyDelayMs: (1000 * index) / perSecond,
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

/** IDENTIFYs a second that the server allows all tokens together. */
async function allowedIdentifies(api: URL, tokens: readonly string[]): Promise<number> {
  const authorization = authorizationOf(tokens[0] as string);
  const reply = await fetch(`${api.href}/v10/gateway/bot`, {
    headers: { authorization },
    signal: AbortSignal.timeout(10_000),
  }).catch(() => null);
  if (reply?.status === 401)
    throw new CommandError('The server does not know the token.', 'Use the token of a bot of that server.');
  const answer = reply?.ok ? ((await reply.json()) as GatewayBot) : {};
  const concurrency = Math.max(1, Number(answer.session_start_limit?.max_concurrency) || 1);
  return (concurrency * tokens.length) / IDENTIFY_WINDOW_S;
}

interface GatewayBot {
  readonly session_start_limit?: { readonly max_concurrency?: number };
}

async function connectAll(fleets: readonly RunningFleet[]): Promise<number> {
  const startNs = nowNs();
  try {
    await Promise.all(fleets.map((fleet) => fleet.connect()));
  } catch (error) {
    await Promise.all(fleets.map((fleet) => fleet.abandon()));
    throw new CommandError(
      (error as Error).message,
      'Look at whether the server runs, knows the tokens, and lets so many sessions start.',
    );
  }
  return (nowNs() - startNs) / 1e9;
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
  await sleep(options.settleMs);
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
}

function assemble(options: BenchOptions, { results, run, connectSeconds, members }: Findings): Report {
  const latencies = new Latencies();
  for (const result of results) latencies.merge(result.latencies);
  const sum = (of: (result: FleetResult) => number): number =>
    results.reduce((all, each) => all + of(each), 0);
  const deliveries = sum((each) => each.deliveries);
  const orders = results.flatMap((each) => each.orders);
  const lost = lostOf(run.sends.confirmed, results, orders.length);
  const { sends, usage } = run;
  const seconds = Math.max(1e-9, options.durationSeconds);
  const report = {
    url: options.url,
    encoding: options.compress ? ('zlib-stream' as const) : ('json' as const),
    connections: options.connections,
    measuredConnections: orders.length,
    members,
    perSecond: options.perSecond,
    durationSeconds: options.durationSeconds,
    connectSeconds,
    sends: {
      sent: sends.sent,
      answered: sends.answered,
      limited: sends.limited,
      failed: sends.failed,
      latencyMs: percentilesOf(sends.latencies),
    },
    deliveries,
    deliveriesPerSecond: deliveries / seconds,
    bytesPerDelivery: deliveries === 0 ? 0 : sum((each) => each.payloadBytes) / deliveries,
    lost,
    duplicated: sum((each) => each.duplicated),
    // What lost something cannot have seen the same as the others; it is counted above.
    reordered: lost === 0 ? dissenters(orders) : 0,
    dropped: sum((each) => each.dropped),
    latencyMs: percentilesOf(latencies),
    curve: CURVE.map((percentile) => ({ percentile, ms: latencies.millisAt(percentile) })),
    timeline: mergeTimelines(results.map((each) => each.timeline)),
    server: usage && useOf(usage.before, usage.after, deliveries, run.seconds),
    thresholds: [],
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

/** What was answered with success and did not reach every measured connection. */
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
