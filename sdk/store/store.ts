import type { RelationshipType } from '../enums.ts';
import type { Json } from '../voice/wire.ts';

export type Metadata = Readonly<Record<string, string>>;

export interface UserRecord {
  readonly id: string;
  readonly username: string;
  readonly globalName: string | null;
  readonly avatar: string | null;
  readonly provisional: boolean;
}

/** Wire names of statuses; a user without a presence is offline. */
export interface PresenceRecord {
  readonly status: string;
  readonly activities: readonly Json[];
}

/** Both kinds of relationship with one user; users without either have no record. */
export interface RelationshipRecord {
  readonly userId: string;
  readonly platform: RelationshipType;
  readonly game: RelationshipType;
  readonly isSpamRequest: boolean;
}

export interface LobbyMemberRecord {
  readonly id: string;
  readonly metadata: Metadata;
  readonly canLinkLobby: boolean;
  readonly additionalName: string | null;
  readonly connected: boolean;
}

export interface LinkedChannel {
  readonly id: string;
  readonly name: string;
  readonly guildId: string;
}

/** Members by user id. The map is mutated; each record is replaced. */
export interface LobbyRecord {
  readonly id: string;
  readonly applicationId: string;
  readonly metadata: Metadata;
  readonly linkedChannel: LinkedChannel | null;
  readonly members: Map<string, LobbyMemberRecord>;
  /** Whether the gateway sent this lobby; HTTP responses contain no users and no `connected`. */
  readonly whole: boolean;
}

export interface ChannelRecord {
  readonly id: string;
  readonly type: number;
  readonly name: string;
  readonly recipientIds: readonly string[];
  readonly lastMessageId: string | null;
}

export interface MessageRecord {
  readonly id: string;
  readonly channelId: string;
  readonly lobbyId: string | null;
  readonly authorId: string;
  /** Recipient of a direct message, as seen by its author; null in a lobby. */
  readonly recipientId: string | null;
  readonly content: string;
  readonly metadata: Metadata;
  readonly moderationMetadata: Metadata;
  readonly applicationId: string | null;
  readonly additionalName: string | null;
  readonly editedMs: number;
  readonly flags: number;
  /** Content besides text: attachments, embeds, a poll and others. */
  readonly additional: {
    readonly type: number;
    readonly title: string | null;
    readonly count: number;
  } | null;
  /** Names of mentioned users, for display. */
  readonly names: ReadonlyMap<string, string>;
  readonly disclosure: number | null;
}

export interface InviteRecord {
  readonly senderId: string;
  readonly channelId: string;
  readonly messageId: string;
  readonly type: number;
  readonly applicationId: string;
  readonly parentApplicationId: string;
  readonly partyId: string;
  readonly sessionId: string;
  readonly isValid: boolean;
}

export interface ProfileRecord {
  readonly username: string;
  readonly metadata: string;
  readonly avatarHash: string;
  readonly providerType: string;
  readonly providerId: string | null;
  readonly providerIssuedUserId: string;
}

/** Stored messages of one channel, oldest first. */
export interface MessageList {
  readonly messages: MessageRecord[];
  /** Number of newest messages without a gap between them; 0 when unknown. */
  known: number;
  /** The gapless messages reach the beginning of the history, or its maximum. */
  whole: boolean;
}

/** State of a client, from the gateway and its own calls. Only `reduce` changes it. */
export interface State {
  /** Absent until Ready. */
  meId: string | null;
  readonly applicationId: () => string | null;
  readonly users: Map<string, UserRecord>;
  readonly presences: Map<string, PresenceRecord>;
  readonly relationships: Map<string, RelationshipRecord>;
  readonly lobbies: Map<string, LobbyRecord>;
  readonly channels: Map<string, ChannelRecord>;
  /** By channel. */
  readonly messages: Map<string, MessageList>;
  /** Channel id by message id. */
  readonly places: Map<string, string>;
  readonly invites: Map<string, InviteRecord>;
  readonly profiles: Map<string, readonly ProfileRecord[]>;
}

/** Changes that the application can subscribe to. */
export type Notice =
  | { readonly type: 'lobbyCreated' | 'lobbyUpdated' | 'lobbyDeleted'; readonly lobbyId: string }
  | {
      readonly type: 'lobbyMemberAdded' | 'lobbyMemberUpdated' | 'lobbyMemberRemoved';
      readonly lobbyId: string;
      readonly memberId: string;
    }
  | { readonly type: 'messageCreated' | 'messageUpdated'; readonly messageId: string }
  | { readonly type: 'messageDeleted'; readonly messageId: string; readonly channelId: string }
  | {
      readonly type: 'relationshipCreated' | 'relationshipDeleted';
      readonly userId: string;
      readonly isPlatform: boolean;
    }
  | { readonly type: 'relationshipGroupsUpdated'; readonly userId: string }
  | { readonly type: 'userUpdated'; readonly userId: string }
  | { readonly type: 'activityInviteCreated' | 'activityInviteUpdated'; readonly invite: InviteRecord };

/** Maximum sizes of the store; our own, except messages per channel and per history. */
export const KEPT = {
  users_max: 20_000,
  invites_max: 200,
  channels_with_messages_max: 500,
  private_channels_max: 2_000,
  messages_per_channel_max: 25,
  history_messages_max: 200,
  history_ms: 72 * 3_600_000,
} as const;

export const emptyState = (applicationId: () => string | null): State => ({
  meId: null,
  applicationId,
  users: new Map(),
  presences: new Map(),
  relationships: new Map(),
  lobbies: new Map(),
  channels: new Map(),
  messages: new Map(),
  places: new Map(),
  invites: new Map(),
  profiles: new Map(),
});
