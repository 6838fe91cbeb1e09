import { CommandError } from '../../cli/world.ts';
import { present } from '../../protocol/present.ts';
import { type BenchGuild, bareToken, guestsOf, placeOf } from './place.ts';
import { type Roster, seatsOf } from './seats.ts';
import { MORE } from './verdict.ts';

/** How the sessions of a run are started. */
export interface Admission extends Roster {
  readonly place: BenchGuild | null;
  /** The requested number of connections, or fewer if the server limits session starts. */
  readonly connections: number;
  readonly laneGapMs: number;
  readonly identifyPerSecond: number;
  /** Notes about a reduced or slow start. */
  readonly notes: readonly string[];
}

interface AdmissionInput {
  readonly tokens: readonly string[];
  readonly connections: number;
  readonly channelId: string | null;
  readonly identifyPerSecond: number | null;
  readonly startWindowMs?: number;
}

const START_WINDOW_MS = 5000;
/** Margin for differences between this machine's timers and the server's. */
const WINDOW_MARGIN = 1.02;
/** Rate of IDENTIFYs at a server without limits. */
const IDENTIFIES_PER_SECOND_MAX = 500;
const WORTH_SAYING_MS = 2000;

/**
 * Queries the server's limits and distributes the sessions: over start buckets, by shards that all receive the guild of the
 * run, and over the bots. A requested rate is kept whatever the server reports.
 *
 * @throws CommandError when no session may start.
 */
export async function admit(asked: AdmissionInput, api: URL): Promise<Admission> {
  const { connections: wanted, channelId, identifyPerSecond } = asked;
  const tokens = [...new Set(asked.tokens)];
  const place = await placeOf(api, present(tokens[0]), channelId);
  const isForced = identifyPerSecond !== null;
  const guests = isForced
    ? tokens.map((token) => ({ token: bareToken(token), allowance: null }))
    : await guestsOf(api, tokens);
  const roster = seatsOf(guests, place?.guildId ?? null, wanted);
  const connections = roster.seats.length;
  if (connections === 0)
    throw new CommandError(
      `The server lets no session start: the day's session starts of ${tokens.length === 1 ? 'the bot' : 'all bots'} are used up.`,
      `Wait until they are given back, or give other bots with --tokens. ${MORE}`,
    );
  const laneGapMs = isForced ? 0 : (asked.startWindowMs ?? START_WINDOW_MS) * WINDOW_MARGIN;
  const notes: string[] = [];
  if (connections < wanted)
    notes.push(
      `${connections} sessions start instead of ${wanted}: the bot has no more session starts left today. ${MORE}`,
    );
  const waitMs = roster.rounds * laneGapMs;
  if (waitMs >= WORTH_SAYING_MS)
    notes.push(
      `Connecting takes ${Math.ceil(waitMs / 1000)} s: the server's max_concurrency lets ${roster.lanes} of ${connections} sessions start at once, every five seconds. ${MORE}`,
    );
  const pace = identifyPerSecond ?? IDENTIFIES_PER_SECOND_MAX;
  return { ...roster, place, connections, laneGapMs, identifyPerSecond: pace, notes };
}
