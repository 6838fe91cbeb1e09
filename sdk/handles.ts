import { type Activity, activityFromWire } from './activity.ts';
import type { CallInfoHandle } from './call/index.ts';
import {
  type AdditionalContentType,
  AvatarType,
  avatarTypeToString,
  ChannelType,
  type DisclosureTypes,
  ExternalIdentityProviderType,
  type RelationshipType,
  StatusType,
} from './enums.ts';
import { channelWith, messageAt } from './store/messages.ts';
import { gameActivityOf, relationshipWith } from './store/people.ts';
import { madeMs } from './store/read.ts';
import type {
  ChannelRecord,
  LinkedChannel,
  LobbyMemberRecord,
  LobbyRecord,
  MessageRecord,
  Metadata,
  ProfileRecord,
  State,
  UserRecord,
} from './store/store.ts';

/**
 * Handles are small: each reads the store on access, so it shows the current state. An object removed from the
 * store is shown as it was when the handle was created.
 */
export interface Handles {
  user(userId: string): UserHandle | null;
  relationship(userId: string): RelationshipHandle;
  lobby(lobbyId: string): LobbyHandle | null;
  /** `record` is given for messages outside of the store, such as a lobby's history. */
  message(messageId: string, record?: MessageRecord): MessageHandle | null;
  channel(channelId: string): ChannelHandle | null;
  call(lobbyId: string): CallInfoHandle | null;
}

export interface UserHandle {
  readonly id: string;
  readonly username: string;
  readonly globalName: string | null;
  /** The global name if set, else the user name. */
  readonly displayName: string;
  /** Hash of the avatar. */
  readonly avatar: string | null;
  readonly isProvisional: boolean;
  readonly status: StatusType;
  /** The user's activity in this game. */
  readonly gameActivity: Activity | null;
  readonly relationship: RelationshipHandle;
  readonly userApplicationProfiles: readonly UserApplicationProfileHandle[];
  /** URL of the avatar, or of a default avatar. */
  avatarUrl(animatedType?: AvatarType, staticType?: AvatarType): string;
}

export interface UserApplicationProfileHandle {
  readonly username: string;
  readonly metadata: string;
  readonly avatarHash: string;
  readonly providerType: ExternalIdentityProviderType;
  readonly providerId: string | null;
  readonly providerIssuedUserId: string;
}

export interface RelationshipHandle {
  /** The other user. */
  readonly id: string;
  readonly platformRelationshipType: RelationshipType;
  readonly gameRelationshipType: RelationshipType;
  readonly isSpamRequest: boolean;
  readonly user: UserHandle | null;
  toJSON(): object;
}

export interface LobbyMemberHandle {
  readonly id: string;
  readonly metadata: Metadata;
  /** Set by the game's server. */
  readonly additionalName: string | null;
  readonly canLinkLobby: boolean;
  readonly connected: boolean;
  readonly user: UserHandle | null;
}

export interface LobbyHandle {
  readonly id: string;
  readonly metadata: Metadata;
  readonly linkedChannel: LinkedChannel | null;
  readonly lobbyMemberIds: readonly string[];
  readonly lobbyMembers: readonly LobbyMemberHandle[];
  getLobbyMemberHandle(memberId: string): LobbyMemberHandle | null;
  getCallInfoHandle(): CallInfoHandle | null;
}

export interface ChannelHandle {
  readonly id: string;
  readonly name: string;
  readonly type: ChannelType;
  readonly recipients: readonly string[];
}

export interface AdditionalContent {
  readonly type: AdditionalContentType;
  readonly title: string | null;
  readonly count: number;
}

export interface MessageHandle {
  readonly id: string;
  readonly authorId: string;
  readonly author: UserHandle | null;
  /** The author's name in the lobby when it was written, as the game's server set it. */
  readonly additionalName: string | null;
  /** Content for display: mentions replaced by names. */
  readonly content: string;
  readonly rawContent: string;
  readonly metadata: Metadata;
  readonly moderationMetadata: Metadata;
  readonly applicationId: string | null;
  readonly sentFromGame: boolean;
  /** Content that is not text. */
  readonly additionalContent: AdditionalContent | null;
  readonly channelId: string;
  readonly channel: ChannelHandle | null;
  readonly lobby: LobbyHandle | null;
  /** Recipient of a direct message; null in a lobby. */
  readonly recipientId: string | null;
  readonly recipient: UserHandle | null;
  /** Unix milliseconds. */
  readonly sentTimestamp: number;
  /** Unix milliseconds; 0 when never edited. */
  readonly editedTimestamp: number;
  readonly disclosureType: DisclosureTypes | null;
}

const STATUSES: Readonly<Record<string, StatusType>> = {
  online: StatusType.Online,
  offline: StatusType.Offline,
  idle: StatusType.Idle,
  dnd: StatusType.Dnd,
  invisible: StatusType.Invisible,
  streaming: StatusType.Streaming,
};
const PROVIDERS: readonly (readonly [RegExp, ExternalIdentityProviderType])[] = [
  [/^OIDC$/i, ExternalIdentityProviderType.OIDC],
  [/^EPIC/i, ExternalIdentityProviderType.EpicOnlineServices],
  [/^STEAM/i, ExternalIdentityProviderType.Steam],
  [/^UNITY/i, ExternalIdentityProviderType.Unity],
  [/BOT/i, ExternalIdentityProviderType.Bot],
  [/^$/, ExternalIdentityProviderType.None],
];
const ANIMATED = /^a_/;
const STOCK_AVATARS = 6n;

export function createHandles(
  state: State,
  cdnBase: string,
  callOf: (lobbyId: string) => CallInfoHandle | null,
): Handles {
  const handles: Handles = {
    user(userId) {
      const found = state.users.get(userId);
      return found === undefined ? null : userHandle(handles, state, found, cdnBase);
    },
    relationship: (userId) => ({
      id: userId,
      get platformRelationshipType() {
        return relationshipWith(state, userId).platform;
      },
      get gameRelationshipType() {
        return relationshipWith(state, userId).game;
      },
      get isSpamRequest() {
        return relationshipWith(state, userId).isSpamRequest;
      },
      get user() {
        return handles.user(userId);
      },
      // A function, because a user refers to the relationship and the relationship to the user.
      toJSON() {
        const { platform, game, isSpamRequest } = relationshipWith(state, userId);
        return {
          id: userId,
          platformRelationshipType: platform,
          gameRelationshipType: game,
          isSpamRequest,
        };
      },
    }),
    lobby(lobbyId) {
      const found = state.lobbies.get(lobbyId);
      return found === undefined ? null : lobbyHandle(handles, state, found);
    },
    message(messageId, record) {
      const found = messageAt(state, messageId) ?? record;
      return found === undefined ? null : messageHandle(handles, state, found);
    },
    channel(channelId) {
      const found = state.channels.get(channelId) ?? lobbyChannel(state, channelId);
      return found === null ? null : channelHandle(state, found);
    },
    call: callOf,
  };
  return handles;
}

function userHandle(handles: Handles, state: State, found: UserRecord, cdnBase: string): UserHandle {
  const { id } = found;
  const now = () => state.users.get(id) ?? found;
  return {
    id,
    get username() {
      return now().username;
    },
    get globalName() {
      return now().globalName;
    },
    get displayName() {
      const { globalName, username } = now();
      return globalName || username;
    },
    get avatar() {
      return now().avatar;
    },
    get isProvisional() {
      return now().provisional;
    },
    get status() {
      const status = state.presences.get(id)?.status;
      return status === undefined ? StatusType.Offline : (STATUSES[status] ?? StatusType.Unknown);
    },
    get gameActivity() {
      const activity = gameActivityOf(state, id);
      return activity === null ? null : activityFromWire(activity);
    },
    get relationship() {
      return handles.relationship(id);
    },
    get userApplicationProfiles() {
      return (state.profiles.get(id) ?? []).map(profileHandle);
    },
    avatarUrl(animatedType = AvatarType.Gif, staticType = AvatarType.Png) {
      const { avatar } = now();
      if (avatar === null) return `${cdnBase}/embed/avatars/${(BigInt(id) >> 22n) % STOCK_AVATARS}.png`;
      const type = avatarTypeToString(ANIMATED.test(avatar) ? animatedType : staticType);
      return `${cdnBase}/avatars/${id}/${encodeURIComponent(avatar)}.${type}`;
    },
  };
}

const profileHandle = (profile: ProfileRecord): UserApplicationProfileHandle => ({
  ...profile,
  providerType:
    PROVIDERS.find(([pattern]) => pattern.test(profile.providerType))?.[1] ??
    ExternalIdentityProviderType.Unknown,
});

function lobbyHandle(handles: Handles, state: State, found: LobbyRecord): LobbyHandle {
  const { id } = found;
  const now = () => state.lobbies.get(id) ?? found;
  const memberHandle = (member: LobbyMemberRecord): LobbyMemberHandle => {
    const current = () => now().members.get(member.id) ?? member;
    return {
      id: member.id,
      get metadata() {
        return current().metadata;
      },
      get additionalName() {
        return current().additionalName;
      },
      get canLinkLobby() {
        return current().canLinkLobby;
      },
      get connected() {
        return current().connected;
      },
      get user() {
        return handles.user(member.id);
      },
    };
  };
  return {
    id,
    get metadata() {
      return now().metadata;
    },
    get linkedChannel() {
      return now().linkedChannel;
    },
    get lobbyMemberIds() {
      return [...now().members.keys()];
    },
    get lobbyMembers() {
      return [...now().members.values()].map(memberHandle);
    },
    getLobbyMemberHandle(memberId) {
      const member = now().members.get(memberId);
      return member === undefined ? null : memberHandle(member);
    },
    getCallInfoHandle: () => handles.call(id),
  };
}

const lobbyChannel = (state: State, lobbyId: string): ChannelRecord | null => {
  const lobby = state.lobbies.get(lobbyId);
  if (lobby === undefined) return null;
  const recipientIds = [...lobby.members.keys()];
  return { id: lobbyId, type: ChannelType.Lobby, name: '', recipientIds, lastMessageId: null };
};

function channelHandle(state: State, found: ChannelRecord): ChannelHandle {
  const now = () => state.channels.get(found.id) ?? lobbyChannel(state, found.id) ?? found;
  return {
    id: found.id,
    get name() {
      return now().name;
    },
    get type() {
      return now().type;
    },
    get recipients() {
      return now().recipientIds;
    },
  };
}

const MENTION = /<@!?(\d{1,20})>|<a?(:\w{1,32}:)\d{1,20}>/g;

function messageHandle(handles: Handles, state: State, found: MessageRecord): MessageHandle {
  const now = () => messageAt(state, found.id) ?? found;
  const nameOf = (userId: string) => now().names.get(userId) ?? handles.user(userId)?.displayName ?? userId;
  return {
    id: found.id,
    authorId: found.authorId,
    channelId: found.channelId,
    sentTimestamp: madeMs(found.id),
    get author() {
      return handles.user(found.authorId);
    },
    get additionalName() {
      return now().additionalName;
    },
    get content() {
      return now().content.replaceAll(MENTION, (_, userId?: string, emoji?: string) =>
        userId === undefined ? (emoji ?? '') : `@${nameOf(userId)}`,
      );
    },
    get rawContent() {
      return now().content;
    },
    get metadata() {
      return now().metadata;
    },
    get moderationMetadata() {
      return now().moderationMetadata;
    },
    get applicationId() {
      return now().applicationId;
    },
    get sentFromGame() {
      return now().applicationId !== null;
    },
    get additionalContent() {
      return now().additional as AdditionalContent | null;
    },
    get channel() {
      const { channelId, authorId } = now();
      return handles.channel(channelId) ?? handles.channel(channelWith(state, authorId) ?? '');
    },
    get lobby() {
      const { lobbyId } = now();
      return lobbyId === null ? null : handles.lobby(lobbyId);
    },
    get recipientId() {
      return now().recipientId;
    },
    get recipient() {
      const { recipientId } = now();
      return recipientId === null ? null : handles.user(recipientId);
    },
    get editedTimestamp() {
      return now().editedMs;
    },
    get disclosureType() {
      return now().disclosure as DisclosureTypes | null;
    },
  };
}
