import { randomBytes } from 'node:crypto';
import { CommandError } from '../../cli/world.ts';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { present } from '../../protocol/present.ts';
import { requireServer } from '../answering.ts';
import { CURVE, percentilesOf, type ServerUse } from '../gateway/report.ts';
import { stampOf } from '../gateway/stamp.ts';
import { boundsOf, judged } from '../gateway/threshold.ts';
import { add, endedSessions, type Failure, MORE, refusedSends } from '../gateway/verdict.ts';
import type { Progress } from '../progress.ts';
import { Latencies } from '../wire/histogram.ts';
import { guardHosts } from '../wire/loopback.ts';
import { nowNs, Pacer, runPaced } from '../wire/pace.ts';
import { type Pids, usageOf } from '../wire/process.ts';
import { type Answer, Api, inParallel, isSuccess } from './api.ts';
import { Audience, type Kind, stampRunOf } from './audience.ts';
import { join, type Player, signIn } from './players.ts';
import { type Joins, LOBBY_METRICS, type LobbiesReport, lobbiesHeadlineOf, type Part } from './report.ts';
import { GLOBAL_PER_SECOND, Turns } from './turns.ts';

/** A server, and the bot of a game on it. */
export interface Target {
  readonly url: string;
  /** Base URL of the REST API, ending in `/api`; derived from the gateway's when null. */
  readonly api: string | null;
  /** Token of a bot whose application may sign players in. */
  readonly token: string;
  /** Process ids of the server, if it runs on this machine. */
  readonly serverPid: Pids | null;
  readonly isOwnHost: boolean;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with notes about a reduced run, and how to enlarge it. */
  readonly onNote?: (note: string) => void;
}

export interface LobbiesOptions extends Target {
  readonly lobbies: number;
  readonly membersEach: number;
  /** Null: 50, or what the server's rate limits allow if that is less. */
  readonly messagesPerSecond: number | null;
  /** Updates per second of lobbies' metadata, then of members'; null as above. */
  readonly updatesPerSecond: number | null;
  /** Duration of each part. */
  readonly durationSeconds: number;
  readonly contentBytes: number;
  readonly identifyPerSecond: number;
  /** Concurrent requests while players sign in and join. */
  readonly atOnce: number;
  /** How long to wait after the last answer for outstanding deliveries. */
  readonly settleMs: number;
  readonly thresholds: readonly string[];
}

/** The intents of lobby events. */
const INTENTS = (1 << 27) | (1 << 28);
const SOCKETS_MAX = 64;
const START_DELAY_MS = 200;
const IDLE_SECONDS = 3600;
/** Bound of the events, since tallies need memory. */
const SENDS_MAX = 1_000_000;
const VALUE_BYTES_MAX = 900;
const FILLER = 'the quick brown fox jumps over the lazy dog and on to the next field ';

/** Default rate, unless the server's limits are lower. */
const PER_SECOND = 50;
/** Share of a rate limit that is used, so that requests delayed by a stall still fit into a window. */
const MARGIN = 0.8;
const PROBES_MAX = 3;
const PROBE = 'guildhall bench asks how often this may be sent ';

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export const botAuthorization = (token: string): string => (token.includes(' ') ? token : `Bot ${token}`);

/** The API of a target whose hosts are confirmed as the user's own. @throws CommandError when they are not, or nothing answers. */
export async function apiOf({ url, api, isOwnHost }: Target, socketsMax: number): Promise<Api> {
  const gateway = new URL(url);
  const base = api === null ? new URL('/api', gateway.href.replace(/^ws/, 'http')) : new URL(api);
  guardHosts([gateway, base], isOwnHost);
  await requireServer(base);
  return new Api(base, socketsMax);
}

interface Run {
  readonly options: LobbiesOptions;
  readonly api: Api;
  readonly bot: string;
  readonly runId: string;
  readonly parties: readonly (readonly Player[])[];
  readonly lobbyIds: readonly string[];
  readonly audience: Audience;
  readonly onNote: (note: string) => void;
}

/**
 * Measures lobbies: signs players in, connects them, lets them join by secret, and follows messages and updates of metadata,
 * created at a fixed rate, to every member.
 *
 * @throws CommandError when a host is neither this machine nor confirmed as one's own, or players cannot sign in, join or connect.
 */
export async function benchLobbies(options: LobbiesOptions): Promise<LobbiesReport> {
  const { lobbies, membersEach, messagesPerSecond, updatesPerSecond, url } = options;
  const thresholds = boundsOf(options.thresholds, LOBBY_METRICS);
  const api = await apiOf(options, SOCKETS_MAX);
  const runId = randomBytes(4).toString('hex');
  const bot = botAuthorization(options.token);
  const count = lobbies * membersEach;
  const { onProgress, atOnce } = options;
  const notes: string[] = [];
  const onNote = (note: string): void => {
    notes.push(note);
    options.onNote?.(note);
  };
  const players = await signIn(api, {
    ...{ bot, runId, count, atOnce, onNote },
    ...(onProgress && { onProgress }),
  });
  const parties = Array.from({ length: lobbies }, (_, at) =>
    players.slice(at * membersEach, (at + 1) * membersEach),
  );
  const audience = audienceOf(options, runId, parties);
  try {
    const startMs = performance.now();
    await audience.connect().catch((error: Error) => {
      throw new CommandError(
        error.message,
        `Look at what the server says of it, or lower --identify-rate. ${MORE}`,
      );
    });
    const connectSeconds = (performance.now() - startMs) / 1000;
    const { joins, lobbyIds } = await joinAll(options, api, runId, players);
    const run: Run = { options, api, bot, runId, parties, lobbyIds, audience, onNote };
    const messages = await part(run, 'message', messagesPerSecond);
    const updates = await part(run, 'lobby', updatesPerSecond);
    const members = await part(run, 'member', updatesPerSecond);
    const { dropped, closes } = audience;
    const parts = { joins, messages, updates, members };
    const base = { url, lobbies, membersEach, connectSeconds, dropped, closes, ...parts };
    const whole = { ...base, thresholds: [], failures: failuresOf(base), notes };
    const report = { ...whole, headline: lobbiesHeadlineOf(whole) };
    return { ...report, thresholds: judged(report, thresholds, LOBBY_METRICS) };
  } finally {
    audience.close();
    api.close();
  }
}

const failuresOf = ({
  joins,
  messages,
  updates,
  members,
  closes,
}: Pick<LobbiesReport, 'joins' | 'messages' | 'updates' | 'members' | 'closes'>): Failure[] => [
  ...refusedSends('joins', joins.asked, joins.refused),
  ...refusedSends('messages', messages.sent, messages.refused),
  ...refusedSends("updates of lobbies' metadata", updates.sent, updates.refused),
  ...refusedSends("updates of members' metadata", members.sent, members.refused),
  ...endedSessions('sessions', closes),
];

function audienceOf(options: LobbiesOptions, runId: string, parties: Run['parties']): Audience {
  const of = parties.flat().length;
  return new Audience({
    url: new URL(options.url),
    intents: INTENTS,
    capabilities: CAPABILITY.AUTO_LOBBY_CONNECT,
    runId,
    lobbies: parties,
    identifyPerSecond: options.identifyPerSecond,
    onReady: (done) => options.onProgress?.({ phase: 'connecting', done, of }),
  });
}

const secretOf = (runId: string, lobby: number): string => `bench ${runId} ${lobby}`;

/** Lets all players join with bounded concurrency; those of a lobby join together, like a party. */
async function joinAll(
  { membersEach, atOnce, onProgress }: LobbiesOptions,
  api: Api,
  runId: string,
  players: readonly Player[],
): Promise<{ readonly joins: Joins; readonly lobbyIds: readonly string[] }> {
  const latencies = new Latencies();
  const lobbyIds: string[] = [];
  const refused: Record<string, number> = {};
  let failed = 0;
  const startNs = nowNs();
  await inParallel(players.length, atOnce, async (index) => {
    const lobby = Math.floor(index / membersEach);
    const player = present(players[index]);
    const { lobbyId, answer } = await join(api, player, secretOf(runId, lobby), IDLE_SECONDS);
    latencies.record(answer.micros);
    if (lobbyId === '') {
      failed += 1;
      add(refused, answer.status);
    } else lobbyIds[lobby] = lobbyId;
    onProgress?.({ phase: 'joining', done: index + 1, of: players.length });
  });
  const seconds = (nowNs() - startNs) / 1e9;
  if (failed === players.length)
    throw new CommandError(
      `No player could join a lobby (${Object.keys(refused).join(', ')}).`,
      `Look at what the server says of it. ${MORE}`,
    );
  const perSecond = (players.length - failed) / seconds;
  const joins = {
    asked: players.length,
    failed,
    refused,
    seconds,
    perSecond,
    answerMs: percentilesOf(latencies),
  };
  return { joins, lobbyIds };
}

/** Sends request number `index` of a kind. */
function request(run: Run, kind: Kind, index: number, stamp: string): Promise<Answer> {
  const { options, api, bot, parties, lobbyIds } = run;
  const at = index % parties.length;
  const path = `/lobbies/${lobbyIds[at]}`;
  const members = present(parties[at]);
  const player = present(members[Math.floor(index / parties.length) % members.length]);
  const filler = FILLER.repeat(Math.ceil(options.contentBytes / FILLER.length));
  const text = `${stamp}${filler}`.slice(0, Math.max(stamp.length, options.contentBytes));
  const metadata = { bench: text.slice(0, VALUE_BYTES_MAX) };
  if (kind === 'message') return api.ask('POST', `${path}/messages`, player.authorization, { content: text });
  if (kind === 'lobby') return api.ask('PATCH', path, bot, { metadata });
  return api.ask('PUT', `${path}/members/${player.userId}`, bot, { metadata });
}

const TITLES: Readonly<Record<Kind, string>> = {
  message: 'messages',
  lobby: "updates of lobbies' metadata",
  member: "updates of members' metadata",
};

/**
 * The rate of one kind. A requested rate is kept whatever the server reports; otherwise the answer to one request, which is
 * not counted, shows what the limit allows each sender.
 */
async function paceOf(run: Run, kind: Kind, asked: number | null): Promise<number> {
  if (asked !== null) return asked;
  const senders = kind === 'message' ? run.parties.flat().length : 1;
  for (let tries = 0; tries < PROBES_MAX; tries += 1) {
    const { limit } = await new Turns().ask(() => request(run, kind, 0, PROBE));
    if (limit === null) return PER_SECOND;
    await sleep(limit.resetAfterMs);
    // Only the first request of a window sees its full duration.
    if (limit.remaining !== limit.limit - 1) continue;
    const each = (limit.limit * 1000) / limit.resetAfterMs;
    const allowed = each * senders * MARGIN;
    const pace = Number((senders > 1 ? allowed : Math.min(allowed, GLOBAL_PER_SECOND)).toPrecision(3));
    if (pace >= PER_SECOND) return PER_SECOND;
    run.onNote(`The run sends ${pace} ${TITLES[kind]} a second, as the server's rate limits allow. ${MORE}`);
    return pace;
  }
  return PER_SECOND;
}

/** Sends one kind at a fixed rate, whatever the server does; latencies start at the scheduled time. */
async function part(run: Run, kind: Kind, asked: number | null): Promise<Part> {
  const { options, audience, runId } = run;
  const perSecond = await paceOf(run, kind, asked);
  const total = Math.min(SENDS_MAX, Math.ceil(perSecond * options.durationSeconds));
  const startNs = nowNs() + START_DELAY_MS * 1e6;
  audience.follow(kind, total, startNs / 1000);
  const counts = { sent: 0, answered: 0, limited: 0, retried: 0, failed: 0 };
  const tally = { ...counts, refused: {} };
  const answers = new Latencies();
  const confirmed = new Uint8Array(total);
  const open: Promise<void>[] = [];
  const send = async (index: number, intendedNs: number): Promise<void> => {
    tally.sent += 1;
    const intendedMicros = Math.floor(intendedNs / 1000);
    const stamp = stampOf(stampRunOf(runId, kind), index, intendedMicros);
    const turns = new Turns();
    const once = () => request(run, kind, index, stamp);
    // A default rate respects the server's limits, even when a stall of this process has delayed requests.
    const answer = asked === null ? await turns.ask(once) : await once();
    tally.retried += turns.retried;
    if (isSuccess(answer)) {
      tally.answered += 1;
      confirmed[index] = 1;
      answers.record(nowNs() / 1000 - intendedMicros);
    } else {
      add(tally.refused, answer.status);
      if (answer.status === 429) tally.limited += 1;
      else tally.failed += 1;
    }
    options.onProgress?.({ phase: `sending (${kind})`, done: tally.sent, of: total });
  };
  const pid = options.serverPid;
  const before = pid === null ? null : usageOf(pid);
  await runPaced(new Pacer({ perSecond, total, startNs }), (index, intendedNs) => {
    open.push(send(index, intendedNs));
  });
  await Promise.all(open);
  await sleep(options.settleMs);
  const after = pid === null ? null : usageOf(pid);
  const seconds = (nowNs() - startNs) / 1e9;
  const { each, last, ...received } = audience.delivered(confirmed);
  return {
    ...tally,
    ...received,
    perSecond,
    answerMs: percentilesOf(answers),
    deliveryMs: percentilesOf(each),
    lastMs: percentilesOf(last),
    curve: CURVE.map((percentile) => ({ percentile, ms: last.millisAt(percentile) })),
    server:
      before &&
      after &&
      useOf(after.cpuMicros - before.cpuMicros, after.rssBytes, received.deliveries, seconds),
  };
}

const useOf = (cpuMicros: number, rssBytes: number, deliveries: number, seconds: number): ServerUse => ({
  cpuMicrosPerDelivery: deliveries === 0 ? 0 : cpuMicros / deliveries,
  cpuShare: cpuMicros / (seconds * 1e6),
  rssBytes,
});
