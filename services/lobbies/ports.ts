import type { APIUser } from 'discord-api-types/v10';
import type { LiveSession } from '../../actors/session/backend.ts';
import type { LobbyVoiceRequest } from '../../actors/session/ports.ts';
import type { Seat } from '../../engine/call/seat.ts';
import type { LinkNews } from '../../engine/guild/lobbylinks.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { LobbyChange, MemberDraft } from '../../engine/lobby/members.ts';
import type { LobbyMessageDraft } from '../../engine/lobby/messages.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { LobbyMemberObject, LobbyMessageObject, LobbyObject } from '../../engine/lobby/objects.ts';
import type { LobbyCommands } from '../../engine/lobby/rules.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { Mergeable } from '../players/ports.ts';
import type { LobbyExtensions } from './extensions.ports.ts';

export interface MemberEntry {
  readonly userId: UserId;
  readonly draft: MemberDraft;
}

/** The operations of lobbies. Every one is bounded to the application that the authority names. */
export interface LobbyOperations {
  /** For what needs nothing but the lobby itself. */
  call<K extends keyof LobbyCommands>(
    lobbyId: ChannelId,
    type: K,
    input: LobbyCommands[K]['input'],
    authority: Authority,
  ): Promise<Reply<LobbyCommands[K]['value']>>;
  create(
    input: { readonly change: LobbyChange; readonly members: readonly MemberEntry[] },
    authority: Authority,
  ): Promise<Reply<LobbyObject>>;
  /** The one lobby of the application's secret, with the caller in it. What was answered is durable. */
  createOrJoin(
    input: { readonly secret: string; readonly lobby: LobbyChange; readonly member: MemberDraft },
    authority: Authority,
  ): Promise<Reply<LobbyObject>>;
  update(
    lobbyId: ChannelId,
    input: { readonly change: LobbyChange; readonly members: readonly MemberEntry[] | null },
    authority: Authority,
  ): Promise<Reply<LobbyObject>>;
  setMember(lobbyId: ChannelId, entry: MemberEntry, authority: Authority): Promise<Reply<LobbyMemberObject>>;
  setMembers(
    lobbyId: ChannelId,
    entries: readonly (MemberEntry & { readonly remove: boolean })[],
    authority: Authority,
  ): Promise<Reply<readonly LobbyMemberObject[]>>;
  /** `channelId` null: unlinks. */
  link(lobbyId: ChannelId, channelId: ChannelId | null, authority: Authority): Promise<Reply<LobbyObject>>;
  /** Takes a channel's link away from the guild's side, as who manages the channel may; answers the channel. */
  unlinkChannel(channelId: ChannelId, authority: Authority): Promise<Reply<object>>;
  invite(lobbyId: ChannelId, userId: UserId, authority: Authority): Promise<Reply<{ readonly code: string }>>;
  send(
    lobbyId: ChannelId,
    draft: LobbyMessageDraft,
    authority: Authority,
  ): Promise<Reply<LobbyMessageObject>>;
  /** Newest first, at most `limit`, none older than three days. */
  history(
    lobbyId: ChannelId,
    limit: number,
    authority: Authority,
  ): Promise<Reply<readonly LobbyMessageObject[]>>;
  moderate(
    lobbyId: ChannelId,
    messageId: MessageId,
    metadata: Metadata,
    authority: Authority,
  ): Promise<Reply<null>>;
}

/** The lobbies, as everyone else reaches them. */
export interface Lobbies extends LobbyOperations, Mergeable {
  readonly beyond: LobbyExtensions;
  /** A session of an OAuth2 token began: lobbies of its user in its application count it as connected. Answers them for READY. */
  opened(session: LiveSession): Promise<readonly object[]>;
  /** The session is over. */
  ended(session: LiveSession): void;
  /** Op 17. */
  voiceStates(session: LiveSession, wanted: readonly LobbyVoiceRequest[]): void;
  /** Op 42: tells where the call is, once more. */
  voiceServerPing(session: LiveSession, lobbyId: ChannelId): void;
  /** Whether a call is one of a lobby. */
  owns(callId: string): boolean;
  /** Tells the session of a seat where its call is; `endpoint` null: nowhere yet. */
  invited(seat: Seat, token: string, endpoint: string | null): void;
  /** A call has lost a user for good. */
  drop(seat: Pick<Seat, 'callId' | 'userId' | 'sessionId'>): void;
  /** An account has changed, and durably so: lobbies at hand show it. */
  userChanged(user: APIUser): void;
  /** Something happened in a linked channel, and is durable. Never throws. */
  channelNews(news: LinkNews): void;
  /** Ends the actors: the server stops. */
  close(): void;
}
