import type { LiveSession } from '../../actors/session/backend.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { LinkUpdate } from '../../engine/guild/lobbylinks.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { MemberDraft } from '../../engine/lobby/members.ts';
import type { LobbyMessageDraft } from '../../engine/lobby/messages.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { LobbyMemberObject, LobbyMessageObject, LobbyObject } from '../../engine/lobby/objects.ts';
import type { LobbyCommands } from '../../engine/lobby/rules.ts';
import type { ChannelId, MessageId, UserId } from '../../protocol/ids.ts';
import type { LobbyVoiceRequest } from '../../protocol/link.sessions.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { LobbyChange } from '../../protocol/schemas/lobbyfields.ts';
import type { Mergeable } from '../players/ports.ts';
import type { LobbyExtensions } from './extensions.ports.ts';

export interface MemberEntry {
  readonly userId: UserId;
  readonly draft: MemberDraft;
}

/** Operations on lobbies, restricted to the application of the authority. */
export interface LobbyOperations {
  /** Sends a command that needs only the lobby itself. */
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
  /** Joins the one lobby of a secret, creating it if needed. Durable when it resolves. */
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
  /** `channelId` null unlinks. */
  link(lobbyId: ChannelId, channelId: ChannelId | null, authority: Authority): Promise<Reply<LobbyObject>>;
  /** Removes the link of a channel on behalf of a user who may manage the channel; returns the channel. */
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

/** Lobbies, for the rest of the server. */
export interface Lobbies extends LobbyOperations, Mergeable {
  readonly extensions: LobbyExtensions;
  /**
   * An OAuth2 session opened: lobbies of its user in its application count it as connected. Returns those lobbies for
   * READY. `isBack`: the session was open at another owner of its user, or through another link.
   */
  opened(session: LiveSession, isBack?: boolean): Promise<readonly object[]>;
  /** The session has ended. */
  ended(session: LiveSession): void;
  /** Op 17: Lobby Voice States. */
  voiceStates(session: LiveSession, wanted: readonly LobbyVoiceRequest[]): void;
  /** Op 42: sends the voice server of a lobby again. */
  voiceServerPing(session: LiveSession, lobbyId: ChannelId): void;
  /** Whether a call belongs to a lobby of this shard. */
  owns(callId: string): boolean;
  /** Sends the voice server to the session of a voice member. `endpoint` is null while calls are not served. */
  invited(voiceMember: VoiceMember, token: string, endpoint: string | null): void;
  /** A call lost a user for good. */
  drop(voiceMember: Pick<VoiceMember, 'callId' | 'userId' | 'sessionId'>): Promise<Reply<null>>;
  /** A changed account is durable: resident lobbies update it. */
  userChanged(user: APIUser): void;
  /** News of a linked channel, after they are durable. Never throws. */
  channelNews(news: LinkUpdate): void;
  /** An application changed on any shard: which events it wants, and where. */
  applicationChanged(id: string): void;
}
