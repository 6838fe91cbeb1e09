import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { SessionRef } from '../fanout/direct.ts';
import type { FactOf } from '../kernel/aggregate.ts';
import type {
  Listing,
  Lobby,
  LobbyLink,
  LobbyMember,
  LobbyMessage,
  LobbyVoiceState,
  ReadyCheck,
} from './lobby.ts';
import type { Metadata } from './metadata.ts';

/** Durable facts of a lobby. */
export type LobbyFacts = {
  lobbyCreated: { readonly lobby: Lobby };
  /**
   * Makes the lobby reachable by this secret. The commit fails when the secret already belongs to another lobby; then
   * nothing was created.
   */
  lobbySecretKept: {
    readonly applicationId: ApplicationId;
    /** Keyed hash of the secret, hexadecimal. */
    readonly hash: string;
    readonly lobbyId: ChannelId;
    /** Unix milliseconds. A secret that has expired by `nowMs` is replaced. */
    readonly nowMs: number;
    readonly expiresMs: number;
  };
  lobbyUpdated: { readonly lobby: Lobby };
  /** The start of its idle time changed; no client is notified. */
  lobbySettled: { readonly lobby: Lobby };
  lobbyDeleted: { readonly lobby: Lobby; readonly memberIds: readonly UserId[] };
  /** `sessions`: the user's open sessions in the application; they are not stored. `allSessions`: see `Person`. */
  lobbyMemberAdded: {
    readonly lobbyId: ChannelId;
    readonly applicationId: ApplicationId;
    readonly member: LobbyMember;
    readonly sessions: readonly SessionRef[];
    readonly allSessions?: true;
  };
  lobbyMemberUpdated: { readonly lobbyId: ChannelId; readonly member: LobbyMember };
  lobbyMemberRemoved: {
    readonly lobbyId: ChannelId;
    readonly applicationId: ApplicationId;
    readonly member: LobbyMember;
    readonly sessions: readonly SessionRef[];
  };
  lobbyLinked: { readonly lobby: Lobby; readonly link: LobbyLink };
  lobbyUnlinked: { readonly lobby: Lobby; readonly link: LobbyLink };
  /** `metadata` is the sender's; it is sent once, not stored. */
  lobbyMessageCreated: { readonly message: LobbyMessage; readonly metadata: Metadata | null };
  lobbyMessageUpdated: { readonly message: LobbyMessage };
  lobbyHostChanged: { readonly lobby: Lobby; readonly previousId: UserId | null };
  /** The lobby's current entry in search. */
  lobbyListed: { readonly listing: Listing };
  lobbyUnlisted: { readonly lobbyId: ChannelId };
  /** `turn`: whether the user joined or left the call with this change. */
  lobbyVoiceChanged: {
    readonly userId: UserId;
    readonly voiceState: LobbyVoiceState;
    readonly turn: 'joined' | 'left' | null;
  };
  /** The facts from here on are never stored. */
  lobbySessionsAttached: {
    readonly userId: UserId;
    readonly sessions: readonly SessionRef[];
    /** These sessions have not received the lobby yet. */
    readonly announce: boolean;
    /** They received it before, with their user shown as not connected. */
    readonly areEarly: boolean;
  };
  /** These sessions were sent the lobby again. */
  lobbyShown: { readonly sessions: readonly SessionRef[] };
  /** The profile of a member's account changed. */
  lobbyUserChanged: { readonly user: APIUser };
  lobbyHostAway: { readonly sinceMs: number | null };
  lobbyReadyChanged: { readonly check: ReadyCheck };
  lobbySessionDetached: { readonly userId: UserId; readonly sessionId: string };
  /** The session requests the address of its call again. */
  lobbyVoiceRepeated: { readonly userId: UserId };
  /** The lobby is that of a match, whose players have all joined. */
  lobbyMatched: { readonly ticket: MatchedTicket };
  /** A message was created or changed in the linked channel. */
  lobbyChannelMessage: { readonly guildId: GuildId; readonly news: ChannelMessageNews };
};
export type LobbyFact = FactOf<LobbyFacts>;

/** A matched ticket, as its players are shown it. */
export interface MatchedTicket {
  readonly user_ids: readonly UserId[];
}

/** A message of a linked channel, as in its own dispatch. */
export type ChannelMessageNews =
  | { readonly kind: 'created' | 'updated'; readonly message: ChannelMessage }
  | { readonly kind: 'deleted'; readonly messageId: string };

export interface ChannelMessage {
  readonly id: string;
  readonly channel_id: string;
  readonly application_id?: string;
  readonly [key: string]: unknown;
}
