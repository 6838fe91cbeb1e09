import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { Recipient } from '../../engine/fanout/body.ts';
import type { Cursor } from '../../engine/session/cursors.ts';
import type { Shard } from '../../engine/session/identify.ts';
import type { ReadyApplication, ReadyRelations } from '../../engine/session/ready.ts';
import type { ApplicationPreferences } from '../../engine/session/record.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { MemberListRequest } from '../../protocol/link.sessions.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { RequestName, Requests, SessionRequest } from '../../protocol/sessionrequests.ts';
import type { Principal } from './ports.ts';

/** A session as seen by the rest of the engine. */
export interface LiveSession extends Recipient {
  readonly userId: UserId;
  /** Identifies the session on links and in its shard's journal; one run of a shard never reuses a handle. */
  readonly handle: number;
  readonly principal: Principal;
  readonly shard: Shard;
  /** 50 to 250; used in GUILD_CREATE of guilds joined later. */
  readonly largeThreshold: number;
  /** True once the session has ended; later deliveries are dropped. */
  readonly over: boolean;
  /** What its client wants to be shown of guilds' members; null for nothing. Absent for a session of another shard. */
  readonly memberLists?: readonly MemberListRequest[] | null;
  /** What an application wants that acts for the user. Absent for a session of another shard. */
  readonly forUser?: ApplicationPreferences;
  /** What is on its way to its client. Absent for a session of another shard. */
  readonly feed?: { dropOutdated(): ReadonlySet<string> };
  /** Resolves when the session's socket has room, at once without a socket; await it between large dispatches. */
  writable(): Promise<void>;
  /** Subscribes the session to the stream of this aggregate; the session has everything up to `n`. */
  following(ownerId: string, n: number): void;
  /** The session is no longer subscribed to that stream. */
  left?(ownerId: string): void;
}

/** The state from which a session of another shard, or from the journal of one, is reopened. */
export interface Reopening {
  /** The client's latest presence; null: the session has set none. */
  readonly presence: GatewayPresenceUpdateData | null;
  /**
   * Returns the stream positions at the time of the call; those of a local session advance while it is being reopened.
   */
  readonly cursors: () => readonly Cursor[];
}

/** The content of READY that concerns the session's user. */
export interface Opening {
  readonly user: APIUser;
  readonly application: ReadyApplication | null;
  /** All guilds of the user, on any shard, in the order in which they are sent. */
  readonly guildIds: readonly GuildId[];
  /** Channel objects of the user's direct messages. */
  readonly privateChannels: readonly object[];
  /** Null for bots. */
  readonly relations: ReadyRelations | null;
  /** Lobbies that an application's session joins at this moment; their dispatches are already delivered. */
  readonly lobbies: readonly object[];
}

/** The handler of each request; a rejected promise is a fault. */
export type RequestHandlers = {
  readonly [N in RequestName]: (session: LiveSession, input: Requests[N]) => Promise<void> | void;
};

/**
 * Operations of the rest of the engine that sessions request. A rejected promise is a fault.
 *
 * For one session the order is: `open`, `presence`, `subscribe` for one guild after the other, with client requests in
 * between; then `ended`, exactly once and after the last `subscribe` has settled.
 */
export interface SessionBackend {
  /** Null for a token that is unknown, malformed or revoked. */
  authenticate(token: string): Promise<Principal | null>;
  /** The session may be delivered to as soon as this is called; deliveries before READY wait. */
  open(session: LiveSession): Promise<Opening>;
  /**
   * Opens a session that was open on another shard, in place of the open one. Nothing that its client knows is sent
   * again; dispatches beyond its cursors are delivered. Resolves when all its streams continue; false: some missed
   * dispatches are no longer available. May be repeated after a fault.
   */
  reopen(session: LiveSession, reopening: Reopening): Promise<boolean>;
  /** The session moved to another shard: its state here is removed without notifications. */
  transferred(session: LiveSession): void;
  /** Subscribes the session to the guild: delivers GUILD_CREATE (if its intents allow) and everything after it. */
  subscribe(session: LiveSession, guildId: GuildId): Promise<void>;
  /** Undoes `open` and every `subscribe`. */
  ended(session: LiveSession): void;
  /**
   * Handles a client's request; ignores it when the session's user lacks the permission. The session's own right to
   * send the request, and its rate limits, were checked before.
   */
  ask(session: LiveSession, request: SessionRequest): Promise<void> | void;
}
