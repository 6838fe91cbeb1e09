import { INTENTS as I } from './intents.ts';
import { P } from './permissions.ts';
import type { Scope } from './scopes.ts';

/** Conditions for the session of a bot to receive a dispatch, besides being in its audience. */
export interface DispatchRow {
  /** The intent that gates the dispatch in a guild. Null: always sent. */
  readonly intent: number | null;
  /** The intent that gates it in a direct message, when it differs. */
  readonly dmIntent?: number;
  /** Requires any of these bits in the guild or in the dispatch's channel, for users and bots alike. */
  readonly permission?: { readonly at: 'guild' | 'channel'; readonly anyOf: bigint };
  /** User-written content in it reaches only sessions with MESSAGE_CONTENT, its author and its addressees. */
  readonly contentGated?: true;
  /** The affected user (`d.user`) receives it without the intent when it is sent to the guild or to users. */
  readonly ownWithoutIntent?: true;
  /**
   * Scopes, any of which lets the session of an OAuth2 token receive the dispatch; without the column such a session
   * never does. Dispatches of guilds never reach such sessions.
   */
  readonly scope?: Scope | readonly Scope[] | 'any';
  /** The intent that gates it for sessions of OAuth2 tokens, when it differs from that of direct messages. */
  readonly oauth2Intent?: number;
  /** Only for clients with (true) or without (false) the capability LOBBY_CHANGES. Outside guilds. */
  readonly lobbyChanges?: boolean;
  /**
   * In a large guild, the session of a person receives it only for users near the person: the person, and everyone in the
   * same call. Otherwise N users who connect would cause N² deliveries.
   */
  readonly onlyNearInLarge?: true;
  /** Thread members who were added or removed receive it with this intent instead, wherever they can see now. */
  readonly ownAmongMembers?: number;
  /** The affected user (`d.user_id`) always receives it, even for a channel that the user cannot see. */
  readonly ownAlways?: true;
  /** It names no channel, and all members of its guild may see it. */
  readonly guildWide?: true;
  /** Made for one session, and its lists may be long. */
  readonly forOne?: true;
  /** Members may see other channels after it: all of them, or the affected one (`d.user`). */
  readonly changesVisibility?: 'all' | 'own';
  /** The affected user (`d.user`) is a member of the guild after it, or is not. */
  readonly membership?: 'joined' | 'left';
  /** It shows all of a lobby, with who is connected: an older one would undo what a session has been shown since. */
  readonly showsAll?: true;
  /** It shows new state of a guild that is in no table, so that it must reach sessions after a handover too. */
  readonly showsUnstored?: true;
}

const OF_PRIVATE_CHANNELS = { scope: 'dm_channels.read', oauth2Intent: I.PRIVATE_CHANNELS } as const;
const OF_CALLS = { scope: 'voice', oauth2Intent: I.CALLS } as const;
const MANAGERS = { at: 'guild', anyOf: P.MANAGE_GUILD } as const;
const KICKERS = { at: 'guild', anyOf: P.KICK_MEMBERS } as const;
const BANS = { at: 'guild', anyOf: P.BAN_MEMBERS | P.VIEW_AUDIT_LOG } as const;

/**
 * Every dispatch of the gateway, one row each. The audience (a guild, a channel, some users) comes with the dispatch
 * itself; `engine/fanout/audience.ts` combines the two.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#receive-events
 */
export const DISPATCH = {
  READY: { intent: null, scope: 'any', forOne: true },
  RESUMED: { intent: null, scope: 'any' },
  APPLICATION_COMMAND_PERMISSIONS_UPDATE: { intent: null },
  AUTO_MODERATION_RULE_CREATE: { intent: I.AUTO_MODERATION_CONFIGURATION, permission: MANAGERS },
  AUTO_MODERATION_RULE_UPDATE: { intent: I.AUTO_MODERATION_CONFIGURATION, permission: MANAGERS },
  AUTO_MODERATION_RULE_DELETE: { intent: I.AUTO_MODERATION_CONFIGURATION, permission: MANAGERS },
  AUTO_MODERATION_ACTION_EXECUTION: {
    intent: I.AUTO_MODERATION_EXECUTION,
    permission: MANAGERS,
    contentGated: true,
  },
  CHANNEL_CREATE: { intent: I.GUILDS, changesVisibility: 'all', ...OF_PRIVATE_CHANNELS },
  CHANNEL_UPDATE: { intent: I.GUILDS, changesVisibility: 'all', ...OF_PRIVATE_CHANNELS },
  CHANNEL_DELETE: { intent: I.GUILDS, changesVisibility: 'all', ...OF_PRIVATE_CHANNELS },
  CHANNEL_RECIPIENT_ADD: { intent: null, ...OF_PRIVATE_CHANNELS },
  CHANNEL_RECIPIENT_REMOVE: { intent: null, ...OF_PRIVATE_CHANNELS },
  // Calls in private channels, sent to sessions of users only.
  CALL_CREATE: { intent: null, ...OF_CALLS },
  CALL_UPDATE: { intent: null, ...OF_CALLS },
  CALL_DELETE: { intent: null, ...OF_CALLS },
  // Go Live, sent to the owner and the viewers.
  STREAM_CREATE: { intent: null, scope: 'voice' },
  STREAM_UPDATE: { intent: null, scope: 'voice' },
  STREAM_SERVER_UPDATE: { intent: null, scope: 'voice' },
  STREAM_DELETE: { intent: null, scope: 'voice' },
  CHANNEL_INFO: { intent: null },
  VOICE_CHANNEL_STATUS_UPDATE: { intent: I.GUILDS },
  VOICE_CHANNEL_START_TIME_UPDATE: { intent: I.GUILDS },
  THREAD_CREATE: { intent: I.GUILDS },
  THREAD_UPDATE: { intent: I.GUILDS },
  THREAD_DELETE: { intent: I.GUILDS },
  THREAD_LIST_SYNC: { intent: I.GUILDS },
  THREAD_MEMBER_UPDATE: { intent: I.GUILDS },
  THREAD_MEMBERS_UPDATE: { intent: I.GUILD_MEMBERS, ownAmongMembers: I.GUILDS },
  CHANNEL_PINS_UPDATE: { intent: I.GUILDS, dmIntent: I.DIRECT_MESSAGES },
  ENTITLEMENT_CREATE: { intent: null },
  ENTITLEMENT_UPDATE: { intent: null },
  ENTITLEMENT_DELETE: { intent: null },
  GUILD_CREATE: { intent: I.GUILDS, forOne: true },
  GUILD_UPDATE: { intent: I.GUILDS, changesVisibility: 'all' },
  GUILD_DELETE: { intent: I.GUILDS },
  GUILD_AUDIT_LOG_ENTRY_CREATE: {
    intent: I.GUILD_MODERATION,
    permission: { at: 'guild', anyOf: P.VIEW_AUDIT_LOG },
  },
  GUILD_BAN_ADD: { intent: I.GUILD_MODERATION, permission: BANS },
  GUILD_BAN_REMOVE: { intent: I.GUILD_MODERATION, permission: BANS },
  GUILD_EMOJIS_UPDATE: { intent: I.GUILD_EXPRESSIONS },
  GUILD_STICKERS_UPDATE: { intent: I.GUILD_EXPRESSIONS },
  GUILD_INTEGRATIONS_UPDATE: { intent: I.GUILD_INTEGRATIONS },
  // Documented for people only; bots that hear of members receive them too.
  GUILD_JOIN_REQUEST_CREATE: { intent: I.GUILD_MEMBERS, permission: KICKERS },
  GUILD_JOIN_REQUEST_UPDATE: { intent: I.GUILD_MEMBERS, permission: KICKERS },
  GUILD_JOIN_REQUEST_DELETE: { intent: I.GUILD_MEMBERS, permission: KICKERS },
  GUILD_MEMBER_ADD: { intent: I.GUILD_MEMBERS, guildWide: true, membership: 'joined' },
  GUILD_MEMBER_REMOVE: { intent: I.GUILD_MEMBERS, guildWide: true, membership: 'left' },
  GUILD_MEMBER_UPDATE: {
    intent: I.GUILD_MEMBERS,
    guildWide: true,
    ownWithoutIntent: true,
    changesVisibility: 'own',
  },
  // To people's sessions that requested the list.
  GUILD_MEMBER_LIST_UPDATE: { intent: null },
  GUILD_MEMBERS_CHUNK: { intent: null, forOne: true },
  GUILD_ROLE_CREATE: { intent: I.GUILDS },
  GUILD_ROLE_UPDATE: { intent: I.GUILDS, changesVisibility: 'all' },
  GUILD_ROLE_DELETE: { intent: I.GUILDS, changesVisibility: 'all' },
  GUILD_SCHEDULED_EVENT_CREATE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_UPDATE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_DELETE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_USER_ADD: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_USER_REMOVE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE: { intent: I.GUILD_SCHEDULED_EVENTS },
  GUILD_SOUNDBOARD_SOUND_CREATE: { intent: I.GUILD_EXPRESSIONS },
  GUILD_SOUNDBOARD_SOUND_UPDATE: { intent: I.GUILD_EXPRESSIONS },
  GUILD_SOUNDBOARD_SOUND_DELETE: { intent: I.GUILD_EXPRESSIONS },
  GUILD_SOUNDBOARD_SOUNDS_UPDATE: { intent: I.GUILD_EXPRESSIONS },
  SOUNDBOARD_SOUNDS: { intent: null },
  INTEGRATION_CREATE: { intent: I.GUILD_INTEGRATIONS },
  INTEGRATION_UPDATE: { intent: I.GUILD_INTEGRATIONS },
  INTEGRATION_DELETE: { intent: I.GUILD_INTEGRATIONS },
  INVITE_CREATE: { intent: I.GUILD_INVITES, permission: { at: 'channel', anyOf: P.MANAGE_CHANNELS } },
  INVITE_DELETE: { intent: I.GUILD_INVITES, permission: { at: 'channel', anyOf: P.MANAGE_CHANNELS } },
  MESSAGE_CREATE: {
    intent: I.GUILD_MESSAGES,
    dmIntent: I.DIRECT_MESSAGES,
    contentGated: true,
    scope: 'dm_channels.messages.read',
  },
  MESSAGE_UPDATE: {
    intent: I.GUILD_MESSAGES,
    dmIntent: I.DIRECT_MESSAGES,
    contentGated: true,
    scope: 'dm_channels.messages.read',
  },
  MESSAGE_DELETE: {
    intent: I.GUILD_MESSAGES,
    dmIntent: I.DIRECT_MESSAGES,
    scope: 'dm_channels.messages.read',
  },
  MESSAGE_DELETE_BULK: { intent: I.GUILD_MESSAGES },
  MESSAGE_REACTION_ADD: { intent: I.GUILD_MESSAGE_REACTIONS, dmIntent: I.DIRECT_MESSAGE_REACTIONS },
  MESSAGE_REACTION_REMOVE: { intent: I.GUILD_MESSAGE_REACTIONS, dmIntent: I.DIRECT_MESSAGE_REACTIONS },
  MESSAGE_REACTION_REMOVE_ALL: { intent: I.GUILD_MESSAGE_REACTIONS, dmIntent: I.DIRECT_MESSAGE_REACTIONS },
  MESSAGE_REACTION_REMOVE_EMOJI: { intent: I.GUILD_MESSAGE_REACTIONS, dmIntent: I.DIRECT_MESSAGE_REACTIONS },
  // Outside guilds: presences of friends.
  PRESENCE_UPDATE: {
    intent: I.GUILD_PRESENCES,
    scope: ['activities.read', 'presences.read'],
    oauth2Intent: I.USER_PRESENCE,
    onlyNearInLarge: true,
    guildWide: true,
    showsUnstored: true,
  },
  TYPING_START: { intent: I.GUILD_MESSAGE_TYPING, dmIntent: I.DIRECT_MESSAGE_TYPING },
  USER_UPDATE: { intent: null, scope: 'identify' },
  VOICE_CHANNEL_EFFECT_SEND: { intent: I.GUILD_VOICE_STATES },
  // A user who joins a call needs the session id in it.
  VOICE_STATE_UPDATE: { intent: I.GUILD_VOICE_STATES, ownAlways: true, ...OF_CALLS },
  VOICE_SERVER_UPDATE: { intent: null, scope: 'voice' },
  WEBHOOKS_UPDATE: { intent: I.GUILD_WEBHOOKS },
  EMBEDDED_ACTIVITY_UPDATE_V2: {
    intent: I.GUILD_EMBEDDED_ACTIVITIES,
    dmIntent: I.DIRECT_EMBEDDED_ACTIVITIES,
  },
  INTERACTION_CREATE: { intent: null },
  // To people, not to bots.
  GUILD_APPLICATION_COMMAND_INDEX_UPDATE: { intent: null },
  // To the session of the person who invoked.
  INTERACTION_SUCCESS: { intent: null },
  INTERACTION_FAILURE: { intent: null },
  INTERACTION_MODAL_CREATE: { intent: null },
  APPLICATION_COMMAND_AUTOCOMPLETE_RESPONSE: { intent: null },
  STAGE_INSTANCE_CREATE: { intent: I.GUILDS },
  STAGE_INSTANCE_UPDATE: { intent: I.GUILDS },
  STAGE_INSTANCE_DELETE: { intent: I.GUILDS },
  SUBSCRIPTION_CREATE: { intent: null },
  SUBSCRIPTION_UPDATE: { intent: null },
  SUBSCRIPTION_DELETE: { intent: null },
  MESSAGE_POLL_VOTE_ADD: { intent: I.GUILD_MESSAGE_POLLS, dmIntent: I.DIRECT_MESSAGE_POLLS },
  MESSAGE_POLL_VOTE_REMOVE: { intent: I.GUILD_MESSAGE_POLLS, dmIntent: I.DIRECT_MESSAGE_POLLS },
  // Friends, and the activities of their games.
  RELATIONSHIP_ADD: { intent: I.USER_RELATIONSHIPS, scope: 'relationships.read' },
  RELATIONSHIP_UPDATE: { intent: I.USER_RELATIONSHIPS, scope: 'relationships.read' },
  RELATIONSHIP_REMOVE: { intent: I.USER_RELATIONSHIPS, scope: 'relationships.read' },
  GAME_RELATIONSHIP_ADD: { intent: I.USER_RELATIONSHIPS, scope: 'relationships.read' },
  GAME_RELATIONSHIP_REMOVE: { intent: I.USER_RELATIONSHIPS, scope: 'relationships.read' },
  ACTIVITY_INVITE_CREATE: { intent: null, scope: ['activities.invites.write', 'activities.read'] },
  USER_MERGE_OPERATION_COMPLETED: { intent: null, scope: 'any' },
  OAUTH2_TOKEN_REVOKE: { intent: null, scope: 'any' },
  USER_APPLICATION_IDENTITY_UPDATE: { intent: null, scope: 'any' },
  USER_APPLICATION_IDENTITY_REMOVE: { intent: null, scope: 'any' },
  AUTHORIZE_REQUEST: { intent: null, scope: 'any' },
  // Lobbies, sent to sessions of their application.
  LOBBY_CREATE: { intent: I.LOBBIES, scope: 'lobbies.write', forOne: true },
  LOBBY_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write', lobbyChanges: false, showsAll: true },
  LOBBY_DELETE: { intent: I.LOBBY_DELETE, scope: 'lobbies.write' },
  LOBBY_MEMBER_ADD: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_MEMBER_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write', lobbyChanges: false },
  LOBBY_MEMBER_REMOVE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_MEMBER_CONNECT: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_MEMBER_DISCONNECT: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_MESSAGE_CREATE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_MESSAGE_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_MESSAGE_DELETE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_VOICE_STATE_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  LOBBY_VOICE_SERVER_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  // Lobbies and matches beyond the platform; clients ignore unknown dispatches.
  GUILDHALL_LOBBY_HOST: { intent: I.LOBBIES, scope: 'lobbies.write' },
  GUILDHALL_LOBBY_READY: { intent: I.LOBBIES, scope: 'lobbies.write' },
  GUILDHALL_LOBBY_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write', lobbyChanges: true },
  GUILDHALL_LOBBY_MEMBER_UPDATE: { intent: I.LOBBIES, scope: 'lobbies.write', lobbyChanges: true },
  GUILDHALL_LOBBY_MESSAGE: { intent: I.LOBBIES, scope: 'lobbies.write' },
  GUILDHALL_MATCHMAKING_UPDATE: { intent: null, scope: 'lobbies.write' },
  RATE_LIMITED: { intent: null, scope: 'any' },
} as const satisfies Record<string, DispatchRow>;

export type DispatchName = keyof typeof DISPATCH;

/** The rows of `DISPATCH`, with their optional columns. */
export const DISPATCH_ROWS: Readonly<Record<DispatchName, DispatchRow>> = DISPATCH;

const ROWS: ReadonlyMap<string, DispatchRow> = new Map(Object.entries(DISPATCH));
const UNKNOWN: DispatchRow = { intent: null };

/** The row of a dispatch that was received or stored by its name; a name from another version has no columns. */
export const dispatchRow = (t: string): DispatchRow => ROWS.get(t) ?? UNKNOWN;

/** The names of the dispatches that are made for one session: an index, because every dispatch is looked up in it. */
export const FOR_ONE: ReadonlySet<string> = new Set(
  [...ROWS].filter(([, row]) => row.forOne).map(([name]) => name),
);
