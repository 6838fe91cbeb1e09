import type { UserId } from '../../protocol/ids.ts';
import type { Authorization } from '../oauth/authorization.ts';

/** What a list's entry takes: the object and its encoding, of a member with a few roles. */
const ENTRY_BYTES = 1024;

/** Dispatches made for one session, whose lists may be long. */
const isLarge = (t: string): boolean => t === 'READY' || t === 'GUILD_CREATE' || t === 'GUILD_MEMBERS_CHUNK';

/** A rough count by the lists that stand in the payload itself: O(their number), whatever their length. */
function weigh(t: string, d: unknown): number {
  if (!isLarge(t)) return 0;
  let entries = 1;
  for (const value of Object.values(d ?? {})) if (Array.isArray(value)) entries += value.length;
  return entries * ENTRY_BYTES;
}

/** The stream that a dispatch is part of: dispatches of one aggregate are numbered, ascending but not without gaps. */
export interface Origin {
  readonly ownerId: string;
  readonly n: number;
  /** The number of the previous recent dispatch, by which receivers detect gaps; 0 when none is known. */
  readonly after?: number;
}

/**
 * One dispatch, shared by all its recipients: encoded at most once per lane, kept by every replay buffer
 * by reference, and sent with each session's own sequence number.
 *
 * `lanes` belongs to the gateway codec; the engine only carries it.
 */
export class DispatchBody {
  readonly t: string;
  /** Monotonic milliseconds, for the replay buffer's age bound. */
  readonly bornMs: number;
  /** About how much memory it takes for its one recipient; 0 for what is small and shared. */
  readonly weightBytes: number;
  /** Null for what is part of no stream. */
  readonly origin: Origin | null;
  readonly lanes: (Uint8Array | undefined)[] = [];
  #d: unknown;
  #json: string | null = null;

  constructor(t: string, d: unknown, bornMs: number, origin: Origin | null = null) {
    this.t = t;
    this.#d = d;
    this.bornMs = bornMs;
    this.weightBytes = weigh(t, d);
    this.origin = origin;
  }

  /** From the encoding of a payload, as another shard or a journal brings it. @throws SyntaxError when `d` is asked of one that is no JSON. */
  static ofJson(t: string, json: string, bornMs: number, origin: Origin | null = null): DispatchBody {
    const body = new DispatchBody(t, undefined, bornMs, origin);
    body.#json = json;
    if (isLarge(t)) (body as { weightBytes: number }).weightBytes = json.length;
    return body;
  }

  get d(): unknown {
    if (this.#d === undefined && this.#json !== null) this.#d = JSON.parse(this.#json);
    return this.#d;
  }

  /** The payload as JSON. Not kept unless the body came as such: the lanes hold its encodings, and twice is too much. */
  get json(): string {
    return this.#json ?? JSON.stringify(this.#d) ?? 'null';
  }
}

/** A session as fan-out sees it. Immutable for the session's life but for what `deliver` reaches. */
export interface Recipient {
  readonly sessionId: string;
  readonly userId: UserId;
  /** Gateway intents of the session, as a bit field below 2^31. */
  readonly intents: number;
  /** True for the session of a bot; the sessions of people themselves are not gated by intents. */
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
   * When the list expires, Unix milliseconds: the end of a time-out changes what a member may see, without a fact.
   * Infinite for lists that depend on no time-out.
   */
  readonly untilMs: number;
  /** The sessions by user, built on first use. */
  byUser: ReadonlyMap<string, readonly Recipient[]> | null;
}
