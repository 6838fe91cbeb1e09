import { CAPABILITY } from './capabilities.ts';

/**
 * Gateway intents: the dispatches that a bot's session subscribes to. Bits from the 27th on are for OAuth2 sessions
 * only; 17 to 19, 22, 23 and 26 are for users. `DISPATCH` maps dispatches to intents.
 *
 * @source https://docs.discord.com/developers/events/gateway#list-of-intents and
 * https://docs.discord.food/gateway/using-gateway#list-of-intents
 */
export const INTENTS = {
  GUILDS: 1 << 0,
  GUILD_MEMBERS: 1 << 1,
  GUILD_MODERATION: 1 << 2,
  GUILD_EXPRESSIONS: 1 << 3,
  GUILD_INTEGRATIONS: 1 << 4,
  GUILD_WEBHOOKS: 1 << 5,
  GUILD_INVITES: 1 << 6,
  GUILD_VOICE_STATES: 1 << 7,
  GUILD_PRESENCES: 1 << 8,
  GUILD_MESSAGES: 1 << 9,
  GUILD_MESSAGE_REACTIONS: 1 << 10,
  GUILD_MESSAGE_TYPING: 1 << 11,
  DIRECT_MESSAGES: 1 << 12,
  DIRECT_MESSAGE_REACTIONS: 1 << 13,
  DIRECT_MESSAGE_TYPING: 1 << 14,
  MESSAGE_CONTENT: 1 << 15,
  GUILD_SCHEDULED_EVENTS: 1 << 16,
  GUILD_EMBEDDED_ACTIVITIES: 1 << 17,
  PRIVATE_CHANNELS: 1 << 18,
  CALLS: 1 << 19,
  AUTO_MODERATION_CONFIGURATION: 1 << 20,
  AUTO_MODERATION_EXECUTION: 1 << 21,
  USER_RELATIONSHIPS: 1 << 22,
  USER_PRESENCE: 1 << 23,
  GUILD_MESSAGE_POLLS: 1 << 24,
  DIRECT_MESSAGE_POLLS: 1 << 25,
  DIRECT_EMBEDDED_ACTIVITIES: 1 << 26,
  LOBBIES: 1 << 27,
  LOBBY_DELETE: 1 << 28,
} as const satisfies Record<string, number>;

/** Beside the intents of a session: its client has the capability LOBBY_CHANGES. An IDENTIFY that sets it is closed with 4013. */
const LOBBY_CHANGES = 1 << 29;

/** The intents of a session, from those that its client asks for and from its capabilities. */
export const sessionIntents = (asked: number | null, capabilities: number): number =>
  (asked ?? 0) | ((capabilities & CAPABILITY.LOBBY_CHANGES) === 0 ? 0 : LOBBY_CHANGES);

/** Whether the client of a session with these intents has the capability LOBBY_CHANGES. */
export const takesLobbyChanges = (intents: number): boolean => (intents & LOBBY_CHANGES) !== 0;

export type IntentName = keyof typeof INTENTS;

/** Every known bit; an IDENTIFY with another one is closed with 4013. */
export const ALL_INTENTS: number = Object.values(INTENTS).reduce((all: number, bit) => all | bit, 0);

/**
 * Privileged intents, and the application flags any of which grants each: the approved flag, or the LIMITED one that an
 * application enables by itself while it is small.
 */
export const PRIVILEGED = [
  { intent: INTENTS.GUILD_PRESENCES, flags: (1 << 12) | (1 << 13) },
  { intent: INTENTS.GUILD_MEMBERS, flags: (1 << 14) | (1 << 15) },
  { intent: INTENTS.MESSAGE_CONTENT, flags: (1 << 18) | (1 << 19) },
] as const satisfies readonly { intent: number; flags: number }[];

/** Application flags that grant all privileged intents. */
export const ALL_PRIVILEGED_FLAGS: number = (1 << 12) | (1 << 14) | (1 << 18);

/** The privileged intents that an application with `applicationFlags` has been granted. */
export function grantedIntents(applicationFlags: number): number {
  let granted = 0;
  for (const { intent, flags } of PRIVILEGED) if ((applicationFlags & flags) !== 0) granted |= intent;
  return granted;
}

/** The bits of `intents` that are privileged and not granted: an IDENTIFY with any is closed with 4014. */
export function deniedIntents(intents: number, applicationFlags: number): number {
  let denied = 0;
  for (const { intent, flags } of PRIVILEGED)
    if ((applicationFlags & flags) === 0) denied |= intents & intent;
  return denied;
}

interface PrivilegedReader {
  readonly bot: boolean;
  readonly applicationFlags: number;
}

/** Whether the caller may list the members of a guild or of a thread: a bot needs the intent. */
export const listsMembers = ({ bot, applicationFlags }: PrivilegedReader): boolean =>
  !bot || (grantedIntents(applicationFlags) & INTENTS.GUILD_MEMBERS) !== 0;

/** Whether the caller may read and search the content of all messages of a guild that it sees: a bot needs the intent. */
export const readsAllContent = ({ bot, applicationFlags }: PrivilegedReader): boolean =>
  !bot || (grantedIntents(applicationFlags) & INTENTS.MESSAGE_CONTENT) !== 0;

/**
 * Whether the caller may read the content of a guild's message, over HTTP too: a bot without the intent reads only its own
 * messages and messages that mention it.
 *
 * @source https://docs.discord.com/developers/events/gateway#message-content-intent
 */
export const readsContent = (
  reader: PrivilegedReader & { readonly userId: string },
  {
    author,
    mentions,
  }: { readonly author: { readonly id: string }; readonly mentions: readonly { readonly id: string }[] },
): boolean =>
  readsAllContent(reader) || author.id === reader.userId || mentions.some(({ id }) => id === reader.userId);
