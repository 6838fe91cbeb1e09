/**
 * Permission bits. On the wire a set of them is a decimal string; in the engine it is a bigint. Bit 47 is unassigned.
 *
 * @source https://docs.discord.com/developers/topics/permissions#permissions-bitwise-permission-flags
 */
export const P = {
  CREATE_INSTANT_INVITE: 1n << 0n,
  KICK_MEMBERS: 1n << 1n,
  BAN_MEMBERS: 1n << 2n,
  ADMINISTRATOR: 1n << 3n,
  MANAGE_CHANNELS: 1n << 4n,
  MANAGE_GUILD: 1n << 5n,
  ADD_REACTIONS: 1n << 6n,
  VIEW_AUDIT_LOG: 1n << 7n,
  PRIORITY_SPEAKER: 1n << 8n,
  STREAM: 1n << 9n,
  VIEW_CHANNEL: 1n << 10n,
  SEND_MESSAGES: 1n << 11n,
  SEND_TTS_MESSAGES: 1n << 12n,
  MANAGE_MESSAGES: 1n << 13n,
  EMBED_LINKS: 1n << 14n,
  ATTACH_FILES: 1n << 15n,
  READ_MESSAGE_HISTORY: 1n << 16n,
  MENTION_EVERYONE: 1n << 17n,
  USE_EXTERNAL_EMOJIS: 1n << 18n,
  VIEW_GUILD_INSIGHTS: 1n << 19n,
  CONNECT: 1n << 20n,
  SPEAK: 1n << 21n,
  MUTE_MEMBERS: 1n << 22n,
  DEAFEN_MEMBERS: 1n << 23n,
  MOVE_MEMBERS: 1n << 24n,
  USE_VAD: 1n << 25n,
  CHANGE_NICKNAME: 1n << 26n,
  MANAGE_NICKNAMES: 1n << 27n,
  MANAGE_ROLES: 1n << 28n,
  MANAGE_WEBHOOKS: 1n << 29n,
  MANAGE_GUILD_EXPRESSIONS: 1n << 30n,
  USE_APPLICATION_COMMANDS: 1n << 31n,
  REQUEST_TO_SPEAK: 1n << 32n,
  MANAGE_EVENTS: 1n << 33n,
  MANAGE_THREADS: 1n << 34n,
  CREATE_PUBLIC_THREADS: 1n << 35n,
  CREATE_PRIVATE_THREADS: 1n << 36n,
  USE_EXTERNAL_STICKERS: 1n << 37n,
  SEND_MESSAGES_IN_THREADS: 1n << 38n,
  USE_EMBEDDED_ACTIVITIES: 1n << 39n,
  MODERATE_MEMBERS: 1n << 40n,
  VIEW_CREATOR_MONETIZATION_ANALYTICS: 1n << 41n,
  USE_SOUNDBOARD: 1n << 42n,
  CREATE_GUILD_EXPRESSIONS: 1n << 43n,
  CREATE_EVENTS: 1n << 44n,
  USE_EXTERNAL_SOUNDS: 1n << 45n,
  SEND_VOICE_MESSAGES: 1n << 46n,
  SET_VOICE_CHANNEL_STATUS: 1n << 48n,
  SEND_POLLS: 1n << 49n,
  USE_EXTERNAL_APPS: 1n << 50n,
  PIN_MESSAGES: 1n << 51n,
  BYPASS_SLOWMODE: 1n << 52n,
} as const satisfies Record<string, bigint>;

export type PermissionName = keyof typeof P;

/** Every assigned bit: the permissions of owners and administrators. */
export const ALL_PERMISSIONS: bigint = Object.values(P).reduce((all: bigint, bit) => all | bit, 0n);

/** Permissions of @everyone in a new guild: view, write, talk and invite, without moderation. Our choice. */
export const DEFAULT_EVERYONE: bigint =
  P.CREATE_INSTANT_INVITE |
  P.ADD_REACTIONS |
  P.STREAM |
  P.VIEW_CHANNEL |
  P.SEND_MESSAGES |
  P.EMBED_LINKS |
  P.ATTACH_FILES |
  P.READ_MESSAGE_HISTORY |
  P.MENTION_EVERYONE |
  P.USE_EXTERNAL_EMOJIS |
  P.CONNECT |
  P.SPEAK |
  P.USE_VAD |
  P.CHANGE_NICKNAME |
  P.USE_APPLICATION_COMMANDS |
  P.REQUEST_TO_SPEAK |
  P.CREATE_PUBLIC_THREADS |
  P.CREATE_PRIVATE_THREADS |
  P.USE_EXTERNAL_STICKERS |
  P.SEND_MESSAGES_IN_THREADS |
  P.USE_EMBEDDED_ACTIVITIES |
  P.USE_SOUNDBOARD |
  P.USE_EXTERNAL_SOUNDS |
  P.SEND_VOICE_MESSAGES |
  P.SET_VOICE_CHANNEL_STATUS |
  P.SEND_POLLS |
  P.USE_EXTERNAL_APPS;

/** The only permissions that a timed-out member keeps. */
export const TIMED_OUT_PERMISSIONS: bigint = P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY;
/**
 * The only permissions that a member with a quarantined name or tag keeps: enough to see the reason and change the
 * name.
 */
export const QUARANTINED_PERMISSIONS: bigint = TIMED_OUT_PERMISSIONS | P.CHANGE_NICKNAME;
/** Member flags that quarantine: AUTOMOD_QUARANTINED_USERNAME_OR_GUILD_NICKNAME and AUTOMOD_QUARANTINED_GUILD_TAG. */
export const QUARANTINE_FLAGS = (1 << 7) | (1 << 10);
/**
 * Bits that a guild with `mfa_level` 1 grants only to users with a second factor, and to bots whose owner has one.
 *
 * @source https://docs.discord.com/developers/topics/permissions, the rows with an asterisk
 */
export const TWO_FACTOR_PERMISSIONS: bigint =
  P.KICK_MEMBERS |
  P.BAN_MEMBERS |
  P.ADMINISTRATOR |
  P.MANAGE_CHANNELS |
  P.MANAGE_GUILD |
  P.MANAGE_MESSAGES |
  P.MANAGE_ROLES |
  P.MANAGE_WEBHOOKS |
  P.MANAGE_GUILD_EXPRESSIONS |
  P.MANAGE_THREADS;
/** Bits without effect for a member who may not send messages. */
export const SENDING_PERMISSIONS: bigint =
  P.MENTION_EVERYONE | P.SEND_TTS_MESSAGES | P.ATTACH_FILES | P.EMBED_LINKS;

/** 78 bits or fewer: far above every assigned bit, and cheap to parse. */
const DECIMAL = /^[0-9]{1,23}$/;

/**
 * Parses a set of bits from the wire: a decimal string, or a non-negative integer that a number holds exactly.
 * Unassigned bits are dropped, because clients of another version may send them.
 *
 * @returns The assigned bits; null when `value` is neither.
 */
export function parsePermissions(value: unknown): bigint | null {
  if (typeof value === 'string') return DECIMAL.test(value) ? BigInt(value) & ALL_PERMISSIONS : null;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) {
    return BigInt(value) & ALL_PERMISSIONS;
  }
  return null;
}

/** The wire form of a set of bits. */
export const formatPermissions = (permissions: bigint): string => permissions.toString();
