import type {
  APIAttachment,
  APIEmbed,
  APIGuildChannel,
  APIGuildMember,
  APIMessage,
  GatewayPresenceUpdate,
  GuildChannelType,
} from 'discord-api-types/v10';
import type {
  ApplicationId,
  ChannelId,
  GuildId,
  MessageId,
  RoleId,
  ScheduledEventId,
  UserId,
  WebhookId,
} from '../../protocol/ids.ts';
import type { APIRole, APIUser, GatewayVoiceState } from '../../protocol/objects.ts';
import type { AutoModeration } from '../automod/state.ts';
import type { RecentMessages } from '../channel/recent.ts';
import type { ScheduledEvents } from '../scheduledevent/event.ts';
import type { Thread, ThreadMember } from '../thread/thread.ts';
import type { Webhook } from '../webhook/webhook.ts';
import type { Expressions } from './expressions.ts';
import type { JoinRequest } from './joinrequests.types.ts';
import type { GuildPages, MemberAnswers } from './pages.types.ts';

/**
 * State of the guild aggregate on its owning shard.
 *
 * Roles, channels, and everything ephemeral are resident. Members, messages, bans and invites are a bounded window on
 * the database: rows that a command needs are read into the window before the command is decided (`needs`). Members
 * with a session stay in the window; other rows are evicted when no commit depends on them.
 *
 * Every object in it is an immutable value in the wire's own shape: `apply` replaces it and never mutates it, so that a
 * dispatch can be encoded after later commands have been applied.
 */
export interface Guild {
  readonly id: GuildId;
  info: GuildInfo;
  readonly roles: Map<RoleId, APIRole>;
  readonly channels: Map<ChannelId, GuildChannel>;
  /** Active threads, which are resident, and a window on archived ones. `null`: known not to exist. */
  readonly threads: Map<ChannelId, ThreadRecord | null>;
  /** Window on members. `null`: known not to be a member. */
  readonly members: Map<UserId, Member | null>;
  memberCount: number;
  /** Window on users who were members before. `null`: a member now, or never one. */
  readonly formerMembers: Map<UserId, FormerMember | null>;
  /** Window on messages, by message id. `null`: known not to exist. */
  readonly messages: Map<MessageId, StoredMessage | null>;
  /** The newest messages of some channels. */
  readonly recent: RecentMessages<StoredMessage>;
  /** Window on bans. `null`: known not to be banned. */
  readonly bans: Map<UserId, Ban | null>;
  /** Window on requests of users to become full members. `null`: known to have none. */
  readonly joinRequests: Map<UserId, JoinRequest | null>;
  /** Window on what members chose in the onboarding. `null`: known to have chosen nothing. */
  readonly onboardingAnswers: Map<UserId, MemberAnswers | null>;
  /** Window on invites, by code. `null`: known not to exist. */
  readonly invites: Map<string, Invite | null>;
  /** All webhooks of the guild, once a command has needed them; null before. At most `webhooks_per_guild_max`. */
  webhooks: Map<WebhookId, Webhook> | null;
  /** Window on copies of messages that channels here follow, by `copyKey`. `null`: known not to exist. */
  readonly copies: Map<string, { readonly channelId: ChannelId; readonly messageId: MessageId } | null>;
  /** Window on users who are not members (mentioned, banned, invited). `null`: known not to exist. */
  readonly users: Map<UserId, APIUser | null>;
  /** Presences of the guild's online users; an offline user has none. */
  readonly presences: Map<UserId, GatewayPresenceUpdate>;
  /** Among shards: the number of the latest presence update of a user; least recently updated first. */
  readonly presenceNumbers: Map<UserId, number>;
  readonly voiceStates: Map<UserId, GatewayVoiceState>;
  /** State of voice channels that ends with the process; absent without any. Never on the channel object. */
  readonly liveVoice: Map<ChannelId, LiveVoiceChannel>;
  /** Instances of the stage channels, at most one each. Resident like the channels. */
  readonly stageInstances: Map<ChannelId, StageInstance>;
  readonly scheduledEvents: ScheduledEvents;
  /** Rules of auto moderation, what is derived from them, and what they need to know of the latest messages. */
  readonly autoModeration: AutoModeration;
  /** Small pages that few guilds have. Replaced whole by every change. */
  pages: GuildPages;
  /** Emoji, stickers and sounds. Resident like the channels. */
  readonly expressions: Expressions;
  /** Sessions per subscribed user, kept by the actor's `Audiences`; members with sessions stay in the window. */
  readonly sessionCounts: ReadonlyMap<UserId, number>;
  /**
   * Raised whenever what a member sees may have changed: roles, overwrites, channels, a member's roles, time-out or flags,
   * the owner. By it `Audiences` knows when its lists are out of date. Members of a private thread do not raise it.
   */
  visibilityVersion: number;
  /** Window on the pins of channels; see `Messages`. */
  readonly pins: Map<ChannelId, ReadonlyMap<MessageId, number>>;
  /** Window on users' reactions; see `Reacted`. */
  readonly reacted: Map<string, boolean>;
  /** Recent nonces for `enforce_nonce`: `author:nonce` to message; bounded by count and age. */
  readonly nonces: Map<string, { readonly message: StoredMessage; readonly atMs: number }>;
  /** The latest time at which a thread was archived, Unix microseconds; 0 before the first of this owner. */
  lastArchiveUs: number;
  /** Window on the last message or thread of a user in a channel with a slow mode, by `slowmodeKey`: Unix milliseconds, 0 for none. */
  readonly slowmode: Map<string, number>;
}

/** The guild's record of a member who left. */
export interface FormerMember {
  readonly userId: UserId;
  /** The end of the latest time-out, ISO 8601; null without one. */
  readonly timedOutUntil: string | null;
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
  readonly guild_scheduled_event_id: ScheduledEventId | null;
}

/**
 * The guild object of the wire without parts that are stored separately (roles, channels, members, emojis, stickers).
 */
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

/** A channel in the wire's shape; `permission_overwrites`, `position` and `guild_id` are always present. */
export type GuildChannel = APIGuildChannel<GuildChannelType> & {
  readonly id: ChannelId;
  readonly guild_id: GuildId;
  readonly position: number;
  readonly parent_id?: ChannelId | null;
  readonly linked_lobby?: LinkedLobby;
};

/**
 * The lobby link that a channel object shows.
 *
 * @source https://docs.discord.food/resources/channel#linked-lobby-object
 */
export interface LinkedLobby {
  readonly application_id: ApplicationId;
  readonly lobby_id: ChannelId;
  readonly linked_by: UserId;
  readonly linked_at: string;
  readonly require_application_authorization: boolean;
}

/** A thread with all its members. */
export interface ThreadRecord {
  readonly thread: Thread;
  /** The guild object as a channel, for rules that hold for both. */
  readonly channel: GuildChannel;
  readonly members: ReadonlyMap<UserId, ThreadMember>;
}

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
  /** Seconds; 0 for an invite that never expires. */
  readonly max_age: number;
  /** 0 for no limit. */
  readonly max_uses: number;
  readonly uses: number;
  readonly temporary: boolean;
  readonly role_ids?: readonly RoleId[];
  /** The only users who may accept it; known to the server only. Absent: anyone may. */
  readonly target_user_ids?: readonly UserId[];
  /** When a list of these users was uploaded last; absent when none was. */
  readonly target_users_at?: string;
  /** 1: somebody's stream in the channel; 2: an activity. Absent: the guild. */
  readonly target_type?: 1 | 2;
  readonly target_user?: APIUser;
  /** As anyone sees the application. */
  readonly target_application?: object;
}

/**
 * A message as it is stored: the wire's object without fields that depend on the reader (`me` of reactions) and with
 * reactions as counts. Its users (author, mentions) are as they were when it was written.
 */
export type StoredMessage = Omit<
  APIMessage,
  | 'reactions'
  | 'thread'
  | 'attachments'
  | 'embeds'
  | 'nonce'
  | 'referenced_message'
  | 'author'
  | 'mentions'
  | 'interaction'
  | 'interaction_metadata'
> & {
  /** The interaction that it answers; `interaction` is the deprecated form. */
  readonly interaction?: Readonly<Record<string, unknown>>;
  readonly interaction_metadata?: Readonly<Record<string, unknown>>;
  readonly id: MessageId;
  readonly channel_id: ChannelId;
  readonly author: APIUser;
  readonly mentions: APIUser[];
  readonly attachments: readonly APIAttachment[];
  readonly embeds: readonly APIEmbed[];
  readonly reactions: readonly ReactionCount[];
  /** Unix milliseconds of the pin; null when not pinned. */
  readonly pinned_ms: number | null;
  /** Stored files that are deleted with the message; never sent. Absent without any. */
  readonly files?: readonly StoredFile[];
  /** Metadata that a game set on its user's message. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Metadata from the application's moderation; the next edit removes it. */
  readonly moderation_metadata?: Readonly<Record<string, string>>;
};

/** Names a file of a channel: the last two parts of its path. */
export interface StoredFile {
  readonly id: string;
  readonly filename: string;
  /** Its object, when only components show it: such a message lists no attachments. */
  readonly attachment?: APIAttachment;
}

export interface ReactionCount {
  /** A Unicode emoji, or a custom one's id. */
  readonly key: string;
  readonly emoji: { readonly id: string | null; readonly name: string | null; readonly animated?: boolean };
  readonly count: number;
}
