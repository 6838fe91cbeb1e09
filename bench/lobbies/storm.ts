import { randomBytes } from 'node:crypto';
import { present } from '../../protocol/present.ts';
import { millis, type Percentiles, percentilesOf } from '../gateway/report.ts';
import { boundsOf, judged, type Metrics } from '../gateway/threshold.ts';
import { type Failure, MORE, sumOf } from '../gateway/verdict.ts';
import type { TableRow } from '../table.ts';
import { Latencies } from '../wire/histogram.ts';
import { nowNs } from '../wire/pace.ts';
import { cpuMicrosOfTree } from '../wire/process.ts';
import { type Api, inParallel } from './api.ts';
import { apiOf, botAuthorization, type Target } from './bench.ts';
import { join, type Player, signIn } from './players.ts';
import { Turns } from './turns.ts';

interface StormOptions extends Target {
  /** Number of joins, each by its own player. */
  readonly joins: number;
  readonly lobbies: number;
  /** Concurrent requests. */
  readonly atOnce: number;
  /** Called once when half of the joins are answered, to disturb the server. */
  readonly halfway?: () => void;
  readonly thresholds?: readonly string[];
}

/** The state after a storm, read back from every lobby, in the format of `--json`. */
interface StormReport {
  readonly headline: string;
  readonly joins: number;
  readonly atOnce: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly answerMs: Percentiles;
  /** CPU time of the server's processes, those that were killed or started meanwhile included; null when it runs elsewhere. */
  readonly cpuMicrosPerJoin: number | null;
  /** Requests repeated after a missing answer or 503, by the earlier status; 0 means no answer. */
  readonly retried: Readonly<Record<string, number>>;
  /** Requests that failed in the end, by status; 0 means no answer. */
  readonly failed: Readonly<Record<string, number>>;
  /** Number of secrets, and of lobbies found by them: more lobbies than secrets mean that a secret created two. */
  readonly lobbiesAsked: number;
  readonly lobbiesFound: number;
  /** Players who joined successfully but are not members of the lobby in the answer. */
  readonly missing: number;
  /** Additional memberships of the same player, in one lobby or in two. */
  readonly doubled: number;
  /** Whether the state is correct. */
  readonly kept: boolean;
  readonly thresholds: readonly { readonly text: string; readonly kept: boolean }[];
  /** Why the run failed; empty when it did not. */
  readonly failures: readonly Failure[];
}

/** Figures of a storm that can be bounded, named as in a lobby run where both have them. */
export const STORM_METRICS = {
  joins: (report: StormReport) => report.perSecond,
  'joins.p50': (report: StormReport) => report.answerMs.p50,
  'joins.p99': (report: StormReport) => report.answerMs.p99,
  'joins.max': (report: StormReport) => report.answerMs.max,
  'joins.cpu': (report: StormReport) => report.cpuMicrosPerJoin ?? Number.NaN,
  failed: (report: StormReport) => sumOf(report.failed),
  missing: (report: StormReport) => report.missing,
  doubled: (report: StormReport) => report.doubled,
} satisfies Metrics<StormReport, string>;

const IDLE_SECONDS = 3600;
/** Statuses after which a request is repeated: no answer, or no server to give one. */
const AGAIN: ReadonlySet<number> = new Set([0, 502, 503, 504]);
const RETRIES_MAX = 20;
const RETRY_MS = 250;

/**
 * Lets many players join lobbies by secret at once, in random order, and reads every lobby back.
 *
 * @throws CommandError when a host is neither this machine nor confirmed as one's own, or players cannot sign in.
 */
export async function stormLobbies(options: StormOptions): Promise<StormReport> {
  const { joins, lobbies, atOnce, onProgress } = options;
  // The first of several is the parent of the others.
  const server = [options.serverPid ?? []].flat()[0];
  const thresholds = boundsOf(options.thresholds ?? [], STORM_METRICS);
  const api = await apiOf(options, atOnce);
  const bot = botAuthorization(options.token);
  const runId = randomBytes(4).toString('hex');
  try {
    const told = { ...(onProgress && { onProgress }), ...(options.onNote && { onNote: options.onNote }) };
    const signing = { bot, runId, count: joins, atOnce: Math.min(atOnce, 64) };
    const players = await signIn(api, { ...signing, ...told });
    const order = shuffled(joins);
    const joined: string[] = [];
    const failed: Record<string, number> = {};
    const retried: Record<string, number> = {};
    const latencies = new Latencies();
    let done = 0;
    const cpuMicros = () => (server === undefined ? null : cpuMicrosOfTree(server));
    const cpuBefore = cpuMicros();
    const startNs = nowNs();
    await inParallel(joins, atOnce, async (turn) => {
      const index = present(order[turn]);
      const secret = `storm ${runId} ${index % lobbies}`;
      const askedNs = nowNs();
      const { lobbyId, answer } = await again(retried, async () => {
        const joining = await join(api, present(players[index]), secret, IDLE_SECONDS);
        return { ...joining, status: joining.answer.status };
      });
      latencies.record((nowNs() - askedNs) / 1000);
      joined[index] = lobbyId;
      if (lobbyId === '') failed[answer.status] = (failed[answer.status] ?? 0) + 1;
      done += 1;
      if (done === joins >> 1) options.halfway?.();
      onProgress?.({ phase: 'joining', done, of: joins });
    });
    const seconds = (nowNs() - startNs) / 1e9;
    const cpuAfter = cpuMicros();
    const members = await membersOf(api, bot, new Set(joined.filter((id) => id !== '')), onProgress);
    const settled = {
      seconds,
      perSecond: joins / seconds,
      answerMs: percentilesOf(latencies),
      cpuMicrosPerJoin: cpuBefore === null || cpuAfter === null ? null : (cpuAfter - cpuBefore) / joins,
      retried,
      failed,
    };
    const report = judge(options, settled, { players, joined, members });
    return { ...report, thresholds: judged(report, thresholds, STORM_METRICS) };
  } finally {
    api.close();
  }
}

/** Repeats a request until it gets a definite answer, a bounded number of times. Joining is idempotent. */
async function again<T extends { readonly status: number }>(
  retried: Record<string, number>,
  ask: () => Promise<T>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask();
    const { status } = answer;
    if (!AGAIN.has(status) || tries === RETRIES_MAX) return answer;
    retried[status] = (retried[status] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Each lobby's members, as read from the server. */
async function membersOf(
  api: Api,
  bot: string,
  ids: ReadonlySet<string>,
  onProgress: Target['onProgress'],
): Promise<Map<string, readonly string[]>> {
  const members = new Map<string, readonly string[]>();
  const all = [...ids];
  const turns = new Turns();
  await inParallel(all.length, 32, async (index) => {
    const id = present(all[index]);
    const { body } = await again({}, () => turns.ask(() => api.ask('GET', `/lobbies/${id}`, bot)));
    const listed = (body as { members?: readonly { id: string }[] } | null)?.members ?? [];
    members.set(
      id,
      listed.map((member) => member.id),
    );
    onProgress?.({ phase: 'reading back', done: members.size, of: all.length });
  });
  return members;
}

interface StormOutcome {
  readonly players: readonly Player[];
  /** For each player, the lobby in the answer, or an empty string. */
  readonly joined: readonly string[];
  readonly members: ReadonlyMap<string, readonly string[]>;
}

/** @param settled What the storm itself was like. */
export function judge(
  { joins, lobbies, atOnce }: Pick<StormOptions, 'joins' | 'lobbies' | 'atOnce'>,
  settled: Pick<
    StormReport,
    'seconds' | 'perSecond' | 'answerMs' | 'cpuMicrosPerJoin' | 'retried' | 'failed'
  >,
  { players, joined, members }: StormOutcome,
): StormReport {
  const seats = [...members.values()].flat();
  const missing = joined.filter(
    (id, index) => id !== '' && !members.get(id)?.includes(present(players[index]).userId),
  ).length;
  const doubled = seats.length - new Set(seats).size;
  const failures = Object.values(settled.failed).reduce((sum, each) => sum + each, 0);
  const lobbiesAsked = Math.min(joins, lobbies);
  const kept = failures === 0 && missing === 0 && doubled === 0 && members.size === lobbiesAsked;
  const headline =
    `${joins} joins into ${members.size} lobbies in ${settled.seconds.toFixed(1)} s ` +
    `(${Math.round(settled.perSecond)}/s, ${atOnce} at once, p50 ${millis(settled.answerMs.p50)}, ` +
    `p99 ${millis(settled.answerMs.p99)}): ${failures} failed, ${missing} missing, ${doubled} doubled`;
  const report = { joins, atOnce, ...settled, lobbiesAsked, lobbiesFound: members.size, missing, doubled };
  const message = `${failures} of ${joins} joins failed, ${missing} are missing, ${doubled} doubled, in ${members.size} lobbies of ${lobbiesAsked}`;
  const advice = settled.failed['429'] ? MORE : "Look at the server's log.";
  return { headline, ...report, kept, thresholds: [], failures: kept ? [] : [{ message, advice }] };
}

/** The storm as plain numbers. */
export const stormRowOf = (report: StormReport): TableRow => [
  ['joins', report.joins],
  ['at_once', report.atOnce],
  ['seconds', report.seconds],
  ['joins_per_s', report.perSecond],
  ['answer_p50_ms', report.answerMs.p50],
  ['answer_p99_ms', report.answerMs.p99],
  ['answer_max_ms', report.answerMs.max],
  ['cpu_us_per_join', report.cpuMicrosPerJoin ?? ''],
  ['retried', sumOf(report.retried)],
  ['failed', sumOf(report.failed)],
  ['lobbies_asked', report.lobbiesAsked],
  ['lobbies_found', report.lobbiesFound],
  ['missing', report.missing],
  ['doubled', report.doubled],
];

export const stormFiguresOf = (report: StormReport): [string, string][] => [
  ['joins, at once', `${report.joins}, ${report.atOnce}`],
  ['took', `${report.seconds.toFixed(2)} s (${Math.round(report.perSecond)}/s)`],
  ['join to answer p50, p90', `${millis(report.answerMs.p50)}, ${millis(report.answerMs.p90)}`],
  ['join to answer p99, max', `${millis(report.answerMs.p99)}, ${millis(report.answerMs.max)}`],
  ...(report.cpuMicrosPerJoin === null
    ? []
    : [['server CPU-µs per join', report.cpuMicrosPerJoin.toFixed(0)] satisfies [string, string]]),
  ['asked again, by status', JSON.stringify(report.retried)],
  ['failed, by status', JSON.stringify(report.failed)],
  ['lobbies asked for, found', `${report.lobbiesAsked}, ${report.lobbiesFound}`],
  ['answered and not a member', String(report.missing)],
  ['doubled', String(report.doubled)],
  ['outcome', report.kept ? 'kept' : 'BROKEN'],
  ...report.thresholds.map(({ text, kept }): [string, string] => [text, kept ? 'kept' : 'MISSED']),
];

/** Fisher and Yates. */
function shuffled(count: number): number[] {
  const order = Array.from({ length: count }, (_, index) => index);
  for (let at = count - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1));
    [order[at], order[other]] = [present(order[other]), present(order[at])];
  }
  return order;
}
