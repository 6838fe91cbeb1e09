import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Shard } from '../../engine/session/identify.ts';
import type { ApplicationId, SessionId, UserId } from '../../protocol/ids.ts';
import type { SessionRequest } from '../../protocol/sessionrequests.ts';

/** The connection a session writes to. Implemented by the gateway socket; a session may outlive many. */
export interface FrameSink {
  /** Queues one dispatch; it is sent at the end of the tick, together with the socket's other messages. */
  dispatch(body: DispatchBody, seq: number): void;
  /** Sends an operation other than a dispatch (7, 9, 11 …), in order with the dispatches. */
  send(op: number, d: unknown): void;
  /**
   * Calls `run` once, after queued messages were handed to the network and little of them waits there; also when the
   * connection is gone. Senders of much data must wait for it: unrequested data is bounded only by closing the socket.
   */
  whenWritable(run: () => void): void;
  /** Closes with one of the gateway's close codes. */
  close(code: number, reason: string): void;
}

/** The identity that a token authenticates. */
export interface Principal {
  readonly userId: UserId;
  readonly bot: boolean;
  /** The bot's application, or the application that acts for the user. */
  readonly applicationId: ApplicationId | null;
  /** Application flags, for privileged intents; 0 for a user. */
  readonly applicationFlags: number;
  /** Set when an application acts for the user; limits its permissions. Null for bots and for people themselves. */
  readonly authorization: Authorization | null;
  /** Id of the bot's or the person's own token; absent for tokens of applications that act for users. */
  readonly tokenId?: string;
}

/** IDENTIFY after it was parsed and checked for form. */
export interface Identify {
  readonly token: string;
  /** Gateway version of the connection, 9 or 10. */
  readonly version: number;
  /** Any number, as the client sent it; null when the field is missing. */
  readonly intents: number | null;
  /** Any two numbers, as the client sent them. */
  readonly shard: Shard;
  /** 50 to 250. */
  readonly largeThreshold: number;
  readonly presence: GatewayPresenceUpdateData | null;
  /** `CAPABILITY` bits; unknown bits are ignored. */
  readonly capabilities: number;
}

/** A live session as the socket sees it. Every method is cheap and never throws on client input. */
export interface GatewaySession {
  readonly id: string;
  /** The last sequence number that was assigned. */
  readonly seq: number;
  readonly principal: Principal;
  /** 0 when a user's client sent none. */
  readonly intents: number;
  /** The socket closed. `resumable`: keep the session for the resume window; otherwise end it now. */
  detach(sink: FrameSink, resumable: boolean): void;
  /** The client reports that it has received the dispatches up to `seq`, an unchecked integer. */
  acknowledge(seq: number): void;
  ask(request: SessionRequest): void;
}

/**
 * `closed`: close the socket with this code. `invalid`: answer op 9 (d=false) and leave the socket open.
 */
export type OpenOutcome =
  | { readonly kind: 'open'; readonly session: GatewaySession }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  | { readonly kind: 'invalid' };

/** Operations that the gateway transport requests from the actors. A rejection is a fault: the socket closes with 4000. */
export interface GatewayPort {
  /** Checks token, intents, shard and start limits, creates the session, and dispatches READY and the guilds. */
  identify(identify: Identify, sink: FrameSink): Promise<OpenOutcome>;
  /** Attaches a session to this socket, replays the missed dispatches and dispatches RESUMED. */
  resume(
    resume: { readonly token: string; readonly sessionId: string; readonly seq: number },
    sink: FrameSink,
  ): Promise<OpenOutcome>;
}

/** The fields of a session that never change. */
export interface SessionIdentity {
  readonly sessionId: SessionId;
  readonly principal: Principal;
  readonly intents: number;
  readonly shard: Shard;
  readonly largeThreshold: number;
}
