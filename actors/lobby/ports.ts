import type { Authority } from '../../engine/authority.ts';
import type { Seat } from '../../engine/call/seat.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import type { Mergeable } from '../provisional/ports.ts';
import type { LiveSession } from '../session/backend.ts';

/** Where a session says that it is in lobby voice (op 17): the whole of it, a lobby left out is left. */
export interface LobbyVoiceRequest {
  readonly lobbyId: ChannelId;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  readonly selfVideo: boolean;
}

/** The lobbies of this shard, as everyone else reaches them. Its REST operations come through `Services`. */
export interface Lobbies extends Mergeable {
  /** A session of an OAuth2 token began: lobbies of its user in its application count it as connected. Answers them for READY. */
  opened(session: LiveSession): Promise<readonly object[]>;
  /** The session is over. */
  ended(session: LiveSession): void;
  /** Op 17. */
  voiceStates(session: LiveSession, wanted: readonly LobbyVoiceRequest[]): void;
  /** Op 42: tells where the call is, once more. */
  voiceServerPing(session: LiveSession, lobbyId: ChannelId): void;
  /** A call has lost a user for good. */
  drop(seat: Pick<Seat, 'callId' | 'userId' | 'sessionId'>): void;
  /** Ends the actors: the server stops. */
  close(): void;
  /** A message was written in a linked channel: it is shown in the lobby. Called after it is durable; never throws. */
  messageInChannel(guildId: GuildId, channelId: ChannelId, message: object): void;
}

export type { Authority };
