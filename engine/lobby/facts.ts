import type { ApplicationId, ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { SessionRef } from '../fanout/direct.ts';
import type { FactOf } from '../kernel/topic.ts';
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

/** What can happen to a lobby and is stored. */
export type LobbyFacts = {
  lobbyCreated: { readonly lobby: Lobby };
  /** Under this secret the lobby is found. Fails when another one is found under it: then nothing was created. */
  lobbySecretKept: {
    readonly applicationId: ApplicationId;
    /** Keyed hash of the secret, hexadecimal. */
    readonly hash: string;
    readonly lobbyId: ChannelId;
    /** Unix milliseconds. A secret that is over by `nowMs` makes room. */
    readonly nowMs: number;
    readonly expiresMs: number;
  };
  lobbyUpdated: { readonly lobby: Lobby };
  /** The start of its idle time changed; no client is notified. */
  lobbySettled: { readonly lobby: Lobby };
  lobbyDeleted: { readonly lobby: Lobby; readonly memberIds: readonly UserId[] };
  /** `sessions`: those the user has open in the application; they are not stored. */
  lobbyMemberAdded: {
    readonly lobbyId: ChannelId;
    readonly applicationId: ApplicationId;
    readonly member: LobbyMember;
    readonly sessions: readonly SessionRef[];
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
  /** `metadata` is what the sender attached: shown, not stored. */
  lobbyMessageCreated: { readonly message: LobbyMessage; readonly metadata: Metadata | null };
  lobbyMessageUpdated: { readonly message: LobbyMessage };
  lobbyHostChanged: { readonly lobby: Lobby; readonly previousId: UserId | null };
  /** Search finds it, as it is now. */
  lobbyListed: { readonly listing: Listing };
  lobbyUnlisted: { readonly lobbyId: ChannelId };
  /** Never stored, from here on. */
  lobbySessionsAttached: {
    readonly userId: UserId;
    readonly sessions: readonly SessionRef[];
    /** They do not know the lobby yet. */
    readonly announce: boolean;
  };
  /** The account behind a member shows itself differently. */
  lobbyUserChanged: { readonly user: APIUser };
  lobbyHostAway: { readonly sinceMs: number | null };
  lobbyReadyChanged: { readonly check: ReadyCheck };
  lobbySessionDetached: { readonly userId: UserId; readonly sessionId: string };
  /** `turn`: whether the user came into the call or left it with this. */
  lobbyVoiceChanged: {
    readonly userId: UserId;
    readonly voiceState: LobbyVoiceState;
    readonly turn: 'joined' | 'left' | null;
  };
  /** The session asks where its call is once more. */
  lobbyVoiceRepeated: { readonly userId: UserId };
  /** A message was created or changed in the linked channel. */
  lobbyChannelMessage: { readonly guildId: GuildId; readonly news: ChannelMessageNews };
};
export type LobbyFact = FactOf<LobbyFacts>;

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
