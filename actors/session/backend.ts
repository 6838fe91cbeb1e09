import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Recipient } from '../../engine/fanout/body.ts';
import type { Cursor } from '../../engine/session/cursors.ts';
import type { Shard } from '../../engine/session/identify.ts';
import type { ReadyApplication, ReadyRelations } from '../../engine/session/ready.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Principal } from './ports.ts';
import type { RequestName, Requests, SessionRequest } from './requests.ts';

/** A session as the rest of the engine sees it. */
export interface LiveSession extends Recipient {
  readonly userId: UserId;
  /** By which its shard names it, on links and in its journal; never used twice by one run of a shard. */
  readonly handle: number;
  readonly principal: Principal;
  readonly shard: Shard;
  /** 50 to 250; for GUILD_CREATE of guilds joined later. */
  readonly largeThreshold: number;
  /** True from the moment the session has ended; what is delivered then is dropped. */
  readonly over: boolean;
  /** Resolves when the session's socket has room, at once when it has none: to be awaited between large dispatches. */
  writable(): Promise<void>;
  /** From here on it hears the stream of this aggregate; it has everything up to `n`. */
  following(ownerId: string, n: number): void;
  /** It does not hear that stream any more. */
  left?(ownerId: string): void;
}

/** What a session that comes from another home, or from the journal of one, goes on with. */
export interface Reopening {
  /** What its client has said last; null: the session has said nothing of its user. */
  readonly presence: GatewayPresenceUpdateData | null;
  /** How far it has the streams that it followed, when this is called: one that is here hears them meanwhile. */
  readonly cursors: () => readonly Cursor[];
}

/** What READY says of a session's user. */
export interface Opening {
  readonly user: APIUser;
  readonly application: ReadyApplication | null;
  /** Guilds of the user, of all shards, in the order in which they are to be sent. */
  readonly guildIds: readonly GuildId[];
  /** Channel objects of the user's direct messages. */
  readonly privateChannels: readonly object[];
  /** Null for bots. */
  readonly circle: ReadyRelations | null;
  /** Lobbies that an application's session is in from now on; what happens there is delivered already. */
  readonly lobbies: readonly object[];
}

/** What is done for each request; a rejected promise is a fault. */
export type RequestHandlers = {
  readonly [N in RequestName]: (session: LiveSession, input: Requests[N]) => Promise<void> | void;
};

/**
 * What sessions ask of the rest of the engine. A rejected promise is a fault.
 *
 * For one session the order is: `open`, `presence`, `subscribe` for one guild after the other, and meanwhile whatever
 * the client sends; then `ended`, exactly once and after the last `subscribe` has settled.
 */
export interface SessionBackend {
  /** Null for a token that is unknown, malformed or revoked. */
  authenticate(token: string): Promise<Principal | null>;
  /** From its call on the session may be delivered to; what comes before READY waits for it. */
  open(session: LiveSession): Promise<Opening>;
  /**
   * The same for a session that was open at another home, in place of it there: nothing of what its client knows is told
   * again, and what the streams had beyond its cursors is delivered. Resolves when all of it follows; false: some of what
   * it missed cannot be had any more. May be asked again after a fault.
   */
  reopen(session: LiveSession, reopening: Reopening): Promise<boolean>;
  /** The session goes on at another home: what is kept of it here goes, without a word to anyone. */
  transferred(session: LiveSession): void;
  /** Makes the guild deliver GUILD_CREATE to the session (if its intents allow) and everything after it. */
  subscribe(session: LiveSession, guildId: GuildId): Promise<void>;
  /** Undoes `open` and every `subscribe`. */
  ended(session: LiveSession): void;
  /**
   * Does what the session's client asks for; nothing when the session's user may not have it. Who may ask and how often
   * was looked at before.
   */
  ask(session: LiveSession, request: SessionRequest): Promise<void> | void;
}
