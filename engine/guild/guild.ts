import type {
  APIAttachment,
  APIEmbed,
  APIGuildChannel,
  APIGuildMember,
  APIMessage,
  GatewayPresenceUpdate,
  GuildChannelType,
} from 'discord-api-types/v10';
import type { ChannelId, GuildId, MessageId, RoleId, UserId } from '../../protocol/ids.ts';
import type { APIRole, APIUser, GatewayVoiceState } from '../../protocol/objects.ts';
import type { AudienceList, Recipient } from '../fanout/body.ts';

/**
 * State of the guild aggregate on its owning shard.
 *
 * Roles, channels, and everything ephemeral are resident. Members, messages, bans and invites are a bounded
 * window on the database: what a command needs is read into the window before the command is decided
 * (`needs`), members that have a session stay in it, and the rest is evicted when no commit depends on it.
 *
 * Every object in here is an immutable value in the wire's own shape: `apply` replaces it, never edits it.
 * That is what lets a dispatch be encoded after later commands have already been applied.
 */
export interface Guild {
  readonly id: GuildId;
  info: GuildInfo;
  readonly roles: Map<RoleId, APIRole>;
  readonly channels: Map<ChannelId, GuildChannel>;
  /** The window on members. `null` is the knowledge that the user is not a member. */
  readonly members: Map<UserId, Member | null>;
  memberCount: number;
  /** Window on messages, by message id. `null`: known not to exist. */
  readonly messages: Map<MessageId, StoredMessage | null>;
  /** Window on bans. `null`: known not to be banned. */
  readonly bans: Map<UserId, Ban | null>;
  /** Window on invites, by code. `null`: known not to exist. */
  readonly invites: Map<string, Invite | null>;
  /** Window on users who are not members (mentioned, banned, invited). `null`: no such user. */
  readonly users: Map<UserId, APIUser | null>;
  /** Presence of the users that are online here; absent is offline. */
  readonly presences: Map<UserId, GatewayPresenceUpdate>;
  /** Among shards: the number of the latest presence update of a user; least recently updated first. */
  readonly presenceNumbers: Map<UserId, number>;
  readonly voiceStates: Map<UserId, GatewayVoiceState>;
  /** What voice channels have only while they live; absent is nothing. Never on the channel object. */
  readonly liveVoice: Map<ChannelId, LiveVoiceChannel>;
  /** What is on in the stage channels, at most one each. Resident, as the channels are. */
  readonly stageInstances: Map<ChannelId, StageInstance>;
  /** Sessions that receive this guild's dispatches, by session id. */
  readonly subscribers: Map<string, Recipient>;
  /** How many sessions each subscribed user has: those members stay in the window. */
  readonly sessionCounts: Map<UserId, number>;
  /** Memo of `engine/fanout/audience.ts`; cleared by `touchAudiences` whenever who-sees-what may have changed. */
  readonly audiences: Map<string, AudienceList>;
  /** Window on the pins of channels, as `Messages` has it. */
  readonly pins: Map<ChannelId, ReadonlyMap<MessageId, number>>;
  /** Window on who has reacted, as `Reacted` has it. */
  readonly reacted: Map<string, boolean>;
  /** The guild is deleted: it answers no command, and only the audience of GUILD_DELETE is read from it. */
  gone: boolean;
  /** Recent nonces for `enforce_nonce`: `author:nonce` to message; bounded by count and age. */
  readonly nonces: Map<string, { readonly message: StoredMessage; readonly atMs: number }>;
  /** Last slow-mode message of a user in a channel (`channel:user`), Unix milliseconds; bounded. */
  readonly slowmode: Map<string, number>;
}

/** Ephemeral data of a voice channel. */
export interface LiveVoiceChannel {
  readonly status: string | null;
  /** Unix milliseconds at which the first of its members joined; null for an empty call. */
  readonly startedMs: number | null;
}

/** A stage instance in the wire's shape. */
export interface StageInstance {
  readonly id: string;
  readonly guild_id: GuildId;
  readonly channel_id: ChannelId;
  readonly topic: string;
  readonly privacy_level: 1 | 2;
  readonly discoverable_disabled: true;
  readonly guild_scheduled_event_id: null;
}

/** The guild object of the wire without what is kept beside it (roles, channels, members, emojis, stickers). */
export interface GuildInfo {
  readonly id: GuildId;
  readonly name: string;
  readonly owner_id: UserId;
  readonly icon: string | null;
  readonly description: string | null;
  readonly home_header: string | null;
  readonly splash: string | null;
  readonly discovery_splash: string | null;
  readonly banner: string | null;
  readonly features: readonly string[];
  readonly application_id: string | null;
  readonly region: string;
  readonly afk_channel_id: ChannelId | null;
  readonly afk_timeout: number;
  readonly system_channel_id: ChannelId | null;
  readonly system_channel_flags: number;
  readonly widget_enabled: boolean;
  readonly widget_channel_id: ChannelId | null;
  readonly verification_level: number;
  readonly default_message_notifications: number;
  readonly mfa_level: number;
  readonly explicit_content_filter: number;
  readonly max_presences: number | null;
  readonly max_members: number;
  readonly max_stage_video_channel_users: number;
  readonly max_video_channel_users: number;
  readonly vanity_url_code: string | null;
  readonly premium_tier: number;
  readonly premium_subscription_count: number;
  readonly preferred_locale: string;
  readonly rules_channel_id: ChannelId | null;
  readonly safety_alerts_channel_id: ChannelId | null;
  readonly public_updates_channel_id: ChannelId | null;
  readonly premium_progress_bar_enabled: boolean;
  readonly nsfw: boolean;
  readonly nsfw_level: number;
}

/** A channel in the wire's shape; `permission_overwrites`, `position` and `guild_id` are always there. */
export type GuildChannel = APIGuildChannel<GuildChannelType> & {
  readonly id: ChannelId;
  readonly guild_id: GuildId;
  readonly position: number;
  readonly parent_id?: ChannelId | null;
};

/** A member in the wire's shape, user included. */
export type Member = Omit<APIGuildMember, 'user'> & { readonly user: APIUser };

export interface Ban {
  readonly user: APIUser;
  readonly reason: string | null;
}

export interface Invite {
  readonly code: string;
  readonly channel_id: ChannelId;
  readonly guild_id: GuildId;
  readonly inviter: APIUser | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  /** Seconds; 0 is for ever. */
  readonly max_age: number;
  /** 0 is without limit. */
  readonly max_uses: number;
  readonly uses: number;
  readonly temporary: boolean;
  readonly role_ids?: readonly RoleId[];
  /** Who alone may take it up; the server's own, not shown. Absent: anyone. */
  readonly target_user_ids?: readonly UserId[];
}

/**
 * A message as it is stored: the wire's object without what depends on who looks (`me` of reactions) and with
 * reactions as counts. Users in it (author, mentions) are as they were when it was written.
 */
export type StoredMessage = Omit<
  APIMessage,
  'reactions' | 'thread' | 'attachments' | 'embeds' | 'nonce' | 'referenced_message' | 'author' | 'mentions'
> & {
  readonly id: MessageId;
  readonly channel_id: ChannelId;
  readonly author: APIUser;
  readonly mentions: APIUser[];
  readonly attachments: readonly APIAttachment[];
  readonly embeds: readonly APIEmbed[];
  readonly reactions: readonly ReactionCount[];
  /** Unix milliseconds of the pin; null when not pinned. */
  readonly pinned_ms: number | null;
  /** Stored files that go when the message does; the server's own, never shown. Absent: none. */
  readonly files?: readonly StoredFile[];
  /** What a game says of its user's message. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** What the application's moderation says of it; gone with the next edit. */
  readonly moderation_metadata?: Readonly<Record<string, string>>;
};

/** Names a file of a channel: the two last parts of its path. */
export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  /** Its object, when only components show it: such a message lists no attachments. */
  readonly attachment?: APIAttachment;
}

export interface ReactionCount {
  /** `name` of a Unicode emoji, or `name:id` of a custom one: the route's own form. */
  readonly key: string;
  readonly emoji: { readonly id: string | null; readonly name: string | null; readonly animated?: boolean };
  readonly count: number;
}
