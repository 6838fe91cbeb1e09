import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { Authorization } from '../../engine/oauth/authorization.ts';
import type { Shard } from '../../engine/session/identify.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';

/** The connection a session writes to. Implemented by the gateway socket; a session may outlive many. */
export interface FrameSink {
  /** Queues one dispatch; it leaves at the end of the tick, together with what else the socket has. */
  dispatch(body: DispatchBody, seq: number): void;
  /** Sends an operation other than a dispatch (7, 9, 11 …), in order with the dispatches. */
  send(op: number, d: unknown): void;
  /**
   * Calls `run` once, after what is queued has been handed to the network and little of it waits there; also when the
   * connection is gone. For who has much to send: what it sends unasked is bounded only by the socket's closing.
   */
  whenWritable(run: () => void): void;
  /** Closes with one of the gateway's close codes. */
  close(code: number, reason: string): void;
}

/** Who a token belongs to. */
export interface Principal {
  readonly userId: UserId;
  readonly bot: boolean;
  /** The bot's application, or the one that acts for the user. */
  readonly applicationId: ApplicationId | null;
  /** Application flags, for privileged intents; 0 for a user. */
  readonly applicationFlags: number;
  /** Set when an application acts for the user: bounds what it may do. Null for bots and for people themselves. */
  readonly authorization: Authorization | null;
  /** Which of the bot's or the person's own tokens it was. */
  readonly tokenId?: string;
}

/** IDENTIFY after it was parsed and checked for form. */
export interface Identify {
  readonly token: string;
  /** Gateway version of the connection, 9 or 10. */
  readonly version: number;
  /** Any number, as the client sent it; null when it sent none. */
  readonly intents: number | null;
  /** Any two numbers, as the client sent them. */
  readonly shard: Shard;
  /** 50 to 250. */
  readonly largeThreshold: number;
  readonly presence: GatewayPresenceUpdateData | null;
  /** `CAPABILITY` bits, and others that mean nothing here. */
  readonly capabilities: number;
}

/** Request Guild Members (op 8) after it was parsed. Exactly one of `query` and `userIds` is not null. */
export interface MembersRequest {
  readonly guildId: GuildId;
  /** Prefix of a name; with `limit` 0 it is empty and asks for every member. */
  readonly query: string | null;
  /** At most 100. */
  readonly userIds: readonly UserId[] | null;
  /** At most 100; 0 only for every member. */
  readonly limit: number;
  readonly presences: boolean;
  /** At most 32 bytes. */
  readonly nonce: string | null;
}

/** Where a session says that it is in lobby voice (op 17): the whole of it, a lobby left out is left. */
export interface LobbyVoiceRequest {
  readonly lobbyId: ChannelId;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** Voice State Update (op 4) after it was parsed. */
export interface VoiceStateRequest {
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId | null;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** One lobby of a Lobby Voice States request (op 17), which names every lobby of the session; the others are left. */
export interface LobbyVoiceRequest {
  readonly lobbyId: ChannelId;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** What the stream opcodes (18 to 22) ask, after they were parsed. */
export type StreamRequest =
  | {
      readonly type: 'create';
      /** Where the session's user is in voice, and streams from then on. */
      readonly place: { readonly guildId: GuildId | null; readonly channelId: ChannelId };
    }
  | { readonly type: 'delete' | 'watch' | 'ping'; readonly streamKey: string }
  | { readonly type: 'setPaused'; readonly streamKey: string; readonly paused: boolean };

/** A live session as the socket sees it. Every method is cheap and never throws on client input. */
export interface GatewaySession {
  readonly id: string;
  /** Last sequence number given out. */
  readonly seq: number;
  readonly principal: Principal;
  /** 0 when a user sent none. */
  readonly intents: number;
  /** The socket went away. `resumable`: keep the session for its window; otherwise end it now. */
  detach(sink: FrameSink, resumable: boolean): void;
  updatePresence(presence: GatewayPresenceUpdateData): void;
  requestMembers(request: MembersRequest): void;
  updateVoiceState(request: VoiceStateRequest): void;
  requestSoundboardSounds(guildIds: readonly GuildId[]): void;
  requestChannelInfo(guildId: GuildId, fields: readonly string[]): void;
  requestStream(request: StreamRequest): void;
  /** Op 17: the whole of where the session is in lobby voice. */
  updateLobbyVoice(wanted: readonly LobbyVoiceRequest[]): void;
  /** Op 42. */
  requestLobbyVoiceServer(lobbyId: ChannelId): void;
}

/**
 * `closed`: close the socket with this code. `invalid`: answer op 9 (d=false) and leave the socket open.
 */
export type OpenOutcome =
  | { readonly kind: 'open'; readonly session: GatewaySession }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  | { readonly kind: 'invalid' };

/** What the gateway transport asks of the actors. A rejection is a fault: the socket closes with 4000. */
export interface GatewayPort {
  /** Checks token, intents, shard and start limits, makes the session, dispatches READY and the guilds. */
  identify(identify: Identify, sink: FrameSink): Promise<OpenOutcome>;
  /** Takes a session over onto this socket, replays what was missed and dispatches RESUMED. */
  resume(
    resume: { readonly token: string; readonly sessionId: string; readonly seq: number },
    sink: FrameSink,
  ): Promise<OpenOutcome>;
}
