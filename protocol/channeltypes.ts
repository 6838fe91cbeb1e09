/**
 * Channel types, and named sets of them for the rules.
 *
 * @source https://docs.discord.com/developers/resources/channel#channel-object-channel-types
 */
export const CHANNEL = {
  GUILD_TEXT: 0,
  DM: 1,
  GUILD_VOICE: 2,
  GROUP_DM: 3,
  GUILD_CATEGORY: 4,
  GUILD_ANNOUNCEMENT: 5,
  ANNOUNCEMENT_THREAD: 10,
  PUBLIC_THREAD: 11,
  PRIVATE_THREAD: 12,
  GUILD_STAGE_VOICE: 13,
  GUILD_DIRECTORY: 14,
  GUILD_FORUM: 15,
  GUILD_MEDIA: 16,
} as const satisfies Record<string, number>;

/**
 * Channel types of the Social SDK only.
 *
 * @source https://discord.com/developers/docs/social-sdk/namespacediscordpp.html, `ChannelType`
 */
export const GAME_CHANNEL = { LOBBY: 17, EPHEMERAL_DM: 18 } as const;

export type ChannelTypeName = keyof typeof CHANNEL;

const types = (...members: readonly number[]): ReadonlySet<number> => new Set(members);

export const THREADS = types(CHANNEL.ANNOUNCEMENT_THREAD, CHANNEL.PUBLIC_THREAD, CHANNEL.PRIVATE_THREAD);
/** Channels people join to speak or listen. */
export const VOICE_LIKE = types(CHANNEL.GUILD_VOICE, CHANNEL.GUILD_STAGE_VOICE);
/** Channels that hold posts, each a thread, and no messages of their own. */
export const FORUMS = types(CHANNEL.GUILD_FORUM, CHANNEL.GUILD_MEDIA);
/** Text channels proper. */
export const TEXT_LIKE = types(CHANNEL.GUILD_TEXT, CHANNEL.GUILD_ANNOUNCEMENT);
/** Channels of a guild that messages can be written in. */
export const WITH_MESSAGES = types(...TEXT_LIKE, ...VOICE_LIKE, ...THREADS);
/** Channels without a guild. */
export const PRIVATE = types(CHANNEL.DM, CHANNEL.GROUP_DM);
/** Types that can be created by themselves in a guild; a thread needs a parent channel. */
export const CREATABLE = types(...TEXT_LIKE, ...VOICE_LIKE, ...FORUMS, CHANNEL.GUILD_CATEGORY);
/** Types that an invite can lead to. */
export const INVITABLE = types(...TEXT_LIKE, ...VOICE_LIKE, ...FORUMS);
/** Types that a channel can be converted between. */
export const CONVERTIBLE = TEXT_LIKE;

/**
 * Message types.
 *
 * @source https://docs.discord.com/developers/resources/message#message-object-message-types
 */
export const MESSAGE = {
  DEFAULT: 0,
  RECIPIENT_ADD: 1,
  RECIPIENT_REMOVE: 2,
  CALL: 3,
  CHANNEL_NAME_CHANGE: 4,
  CHANNEL_ICON_CHANGE: 5,
  CHANNEL_PINNED_MESSAGE: 6,
  USER_JOIN: 7,
  GUILD_BOOST: 8,
  GUILD_BOOST_TIER_1: 9,
  GUILD_BOOST_TIER_2: 10,
  GUILD_BOOST_TIER_3: 11,
  CHANNEL_FOLLOW_ADD: 12,
  GUILD_DISCOVERY_DISQUALIFIED: 14,
  GUILD_DISCOVERY_REQUALIFIED: 15,
  GUILD_DISCOVERY_GRACE_PERIOD_INITIAL_WARNING: 16,
  GUILD_DISCOVERY_GRACE_PERIOD_FINAL_WARNING: 17,
  THREAD_CREATED: 18,
  REPLY: 19,
  CHAT_INPUT_COMMAND: 20,
  THREAD_STARTER_MESSAGE: 21,
  GUILD_INVITE_REMINDER: 22,
  CONTEXT_MENU_COMMAND: 23,
  AUTO_MODERATION_ACTION: 24,
  ROLE_SUBSCRIPTION_PURCHASE: 25,
  INTERACTION_PREMIUM_UPSELL: 26,
  STAGE_START: 27,
  STAGE_END: 28,
  STAGE_SPEAKER: 29,
  STAGE_TOPIC: 31,
  GUILD_APPLICATION_PREMIUM_SUBSCRIPTION: 32,
  GUILD_INCIDENT_ALERT_MODE_ENABLED: 36,
  GUILD_INCIDENT_ALERT_MODE_DISABLED: 37,
  GUILD_INCIDENT_REPORT_RAID: 38,
  GUILD_INCIDENT_REPORT_FALSE_ALARM: 39,
  PURCHASE_NOTIFICATION: 44,
  POLL_RESULT: 46,
  HD_STREAMING_UPGRADED: 55,
} as const satisfies Record<string, number>;

export type MessageTypeName = keyof typeof MESSAGE;

/** System messages that may not be deleted. */
export const UNDELETABLE: ReadonlySet<number> = new Set([
  MESSAGE.RECIPIENT_ADD,
  MESSAGE.RECIPIENT_REMOVE,
  MESSAGE.CALL,
  MESSAGE.CHANNEL_NAME_CHANGE,
  MESSAGE.CHANNEL_ICON_CHANGE,
  MESSAGE.THREAD_STARTER_MESSAGE,
  MESSAGE.HD_STREAMING_UPGRADED,
]);
const DELETABLE: ReadonlySet<number> = new Set(
  Object.values(MESSAGE).filter((type) => !UNDELETABLE.has(type)),
);
/** Whether messages of this type may be deleted. An AUTO_MODERATION_ACTION always needs MANAGE_MESSAGES. */
export const isDeletable = (type: number): boolean => DELETABLE.has(type);

/** Types that users write: their author can edit them, and they can be replied to and forwarded. */
export const FORWARDABLE: ReadonlySet<number> = new Set([
  MESSAGE.DEFAULT,
  MESSAGE.REPLY,
  MESSAGE.CHAT_INPUT_COMMAND,
  MESSAGE.CONTEXT_MENU_COMMAND,
]);
