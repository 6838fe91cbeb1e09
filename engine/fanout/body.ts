import type { UserId } from '../../protocol/ids.ts';
import type { Authorization } from '../oauth/authorization.ts';

/** Estimated memory of one list entry: the object and its encoding, for a member with a few roles. */
const ENTRY_BYTES = 1024;

/** Dispatches made for one session, whose lists may be long. */
const FOR_ONE: ReadonlySet<string> = new Set([
  'READY',
  'GUILD_CREATE',
  'GUILD_MEMBERS_CHUNK',
  'LOBBY_CREATE',
]);

/** Estimates the memory from the lengths of the payload's top-level lists. O(number of lists). */
function weigh(t: string, d: unknown): number {
  if (!FOR_ONE.has(t)) return 0;
  let entries = 1;
  for (const value of Object.values(d ?? {})) if (Array.isArray(value)) entries += value.length;
  return entries * ENTRY_BYTES;
}

/** The stream of a dispatch: the dispatches of one aggregate have ascending numbers, with gaps. */
export interface Origin {
  readonly ownerId: string;
  readonly n: number;
  /** The number of the previous recent dispatch, by which receivers detect gaps; 0 when none is known. */
  readonly after?: number;
}

/**
 * One dispatch, shared by all its recipients: encoded at most once per lane, referenced by every replay buffer, and
 * sent with each session's own sequence number.
 *
 * `lanes` belongs to the gateway codec; the engine only carries it.
 */
export class DispatchBody {
  readonly t: string;
  /** Monotonic milliseconds, for the replay buffer's age bound. */
  readonly bornMs: number;
  /** Approximate memory for a dispatch with one recipient; 0 for a small and shared one. */
  readonly weightBytes: number;
  /** Null for a dispatch outside any stream. */
  readonly origin: Origin | null;
  /**
   * The position in a direct stream of the state that this dispatch shows; null for a numbered one. It is not delivered to a user
   * who has received a later number of the stream.
   */
  readonly asOf: Origin | null;
  readonly lanes: (Uint8Array | undefined)[] = [];
  /** How many sessions receive it in one call of fan-out; 0 for a dispatch that is delivered otherwise. */
  recipients = 0;
  #d: unknown;
  #json: string | null = null;

  constructor(
    t: string,
    d: unknown,
    bornMs: number,
    origin: Origin | null = null,
    asOf: Origin | null = null,
  ) {
    this.t = t;
    this.#d = d;
    this.bornMs = bornMs;
    this.weightBytes = weigh(t, d);
    this.origin = origin;
    this.asOf = asOf;
  }

  /**
   * From the JSON of a payload, sent by another shard or read from a journal.
   *
   * @throws SyntaxError when `d` is read from invalid JSON.
   */
  static ofJson(
    t: string,
    json: string,
    bornMs: number,
    origin: Origin | null = null,
    asOf: Origin | null = null,
  ): DispatchBody {
    const body = new DispatchBody(t, undefined, bornMs, origin, asOf);
    body.#json = json;
    if (body.isForOne) (body as { weightBytes: number }).weightBytes = json.length;
    return body;
  }

  /** Whether it is made for one session: then its bytes are sent once. */
  get isForOne(): boolean {
    return FOR_ONE.has(this.t);
  }

  get d(): unknown {
    if (this.#d === undefined && this.#json !== null) this.#d = JSON.parse(this.#json);
    return this.#d;
  }

  /**
   * The payload as JSON. Cached only for a body made from JSON: the lanes hold its encodings, and a second copy costs
   * too much.
   */
  get json(): string {
    return this.#json ?? JSON.stringify(this.#d) ?? 'null';
  }
}

/** A session as fan-out sees it. Immutable for the session's life, except for the state behind `deliver`. */
export interface Recipient {
  readonly sessionId: string;
  readonly userId: UserId;
  /** Gateway intents of the session, as a bit field below 2^31. */
  readonly intents: number;
  /** True for the session of a bot; people's own sessions are not filtered by intents. */
  readonly bot: boolean;
  /** Set for the session of an application that acts for a user: the scopes and intents it may receive. */
  readonly authorization?: Authorization | null;
  /** Numbers the dispatch, keeps it for RESUME and writes it to the socket, if the session has one. */
  deliver(body: DispatchBody): void;
}

/** Sessions that receive the same dispatches. */
export interface AudienceList {
  readonly sessions: readonly Recipient[];
  /**
   * Expiry of the list, Unix milliseconds: the end of a time-out changes permissions without a fact. Infinite for lists
   * that depend on no time-out.
   */
  readonly untilMs: number;
  /** The sessions by user, built on first use. */
  byUser: ReadonlyMap<string, readonly Recipient[]> | null;
}
