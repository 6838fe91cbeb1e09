/**
 * What an activity and the page that shows it say to each other.
 *
 * @source https://github.com/discord/embedded-app-sdk, `src/schema`
 */
export const EMBEDDED_OP = { HANDSHAKE: 0, FRAME: 1, CLOSE: 2 } as const;

/** @source https://docs.discord.food/topics/rpc#rpc-error-codes */
export const RPC_ERROR = {
  UNKNOWN_ERROR: 1000,
  INVALID_PAYLOAD: 4000,
  INVALID_COMMAND: 4002,
  INVALID_EVENT: 4004,
  INVALID_CHANNEL: 4005,
  INVALID_PERMISSIONS: 4006,
  INVALID_CLIENTID: 4007,
  INVALID_TOKEN: 4009,
  INVALID_USER: 4010,
  OAUTH2_ERROR: 5000,
  PURCHASE_ERROR: 5009,
  RATE_LIMITED: 5011,
} as const;

/** @source https://docs.discord.food/topics/rpc#rpc-close-event-codes */
export const RPC_CLOSE = {
  NORMAL: 1000,
  INVALID_CLIENTID: 4000,
  RATELIMITED: 4002,
  INVALID_VERSION: 4004,
  INVALID_ENCODING: 4005,
} as const;

/**
 * What a command or an event needs: nothing, an activity that has authenticated, or one with all scopes of any of these
 * lists.
 */
type Needs = 'nothing' | 'authenticated' | readonly (readonly string[])[];

const VOICE: Needs = [['rpc'], ['rpc.voice.read']];

/** @source https://docs.discord.food/topics/rpc#rpc-commands */
export const EMBEDDED_COMMANDS = {
  AUTHORIZE: 'nothing',
  AUTHENTICATE: 'nothing',
  SUBSCRIBE: 'nothing',
  UNSUBSCRIBE: 'nothing',
  CAPTURE_LOG: 'nothing',
  ENCOURAGE_HW_ACCELERATION: 'nothing',
  GET_PLATFORM_BEHAVIORS: 'nothing',
  SET_CONFIG: 'nothing',
  SET_ORIENTATION_LOCK_STATE: 'nothing',
  OPEN_EXTERNAL_LINK: 'nothing',
  GET_USER: 'nothing',
  REQUEST_PROXY_TICKET_REFRESH: 'nothing',
  GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: 'authenticated',
  GET_SKUS_EMBEDDED: 'authenticated',
  GET_ENTITLEMENTS_EMBEDDED: 'authenticated',
  START_PURCHASE: 'authenticated',
  OPEN_INVITE_DIALOG: 'authenticated',
  OPEN_SHARE_MOMENT_DIALOG: 'authenticated',
  INITIATE_IMAGE_UPLOAD: 'authenticated',
  SHARE_INTERACTION: 'authenticated',
  SHARE_LINK: 'authenticated',
  GET_QUEST: 'authenticated',
  GET_QUEST_ENROLLMENT_STATUS: 'authenticated',
  QUEST_START_TIMER: 'authenticated',
  USER_SETTINGS_GET_LOCALE: [['identify']],
  GET_CHANNEL: [['guilds'], ['dm_channels.read']],
  GET_CHANNEL_PERMISSIONS: [['guilds.members.read'], ['guilds.channels.read']],
  GET_RELATIONSHIPS: [['relationships.read']],
  INVITE_USER_EMBEDDED: [['relationships.read']],
  SET_ACTIVITY: [['rpc'], ['rpc.activities.write']],
} as const satisfies Record<string, Needs>;

export type EmbeddedCommand = keyof typeof EMBEDDED_COMMANDS;

/** @source https://docs.discord.food/topics/rpc#rpc-events */
export const EMBEDDED_EVENTS = {
  VOICE_STATE_UPDATE: VOICE,
  SPEAKING_START: VOICE,
  SPEAKING_STOP: VOICE,
  ACTIVITY_LAYOUT_MODE_UPDATE: 'nothing',
  ORIENTATION_UPDATE: 'nothing',
  THERMAL_STATE_UPDATE: 'nothing',
  CURRENT_USER_UPDATE: [['identify']],
  CURRENT_GUILD_MEMBER_UPDATE: [['identify', 'guilds.members.read']],
  ENTITLEMENT_CREATE: 'authenticated',
  ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: 'authenticated',
  RELATIONSHIP_UPDATE: [['relationships.read']],
  ACTIVITY_JOIN: 'authenticated',
  QUEST_ENROLLMENT_STATUS_UPDATE: 'authenticated',
} as const satisfies Record<string, Needs>;

export type EmbeddedEvent = keyof typeof EMBEDDED_EVENTS;

/** Whether an activity with these scopes has what is needed; null before it has authenticated. */
export function hasNeeded(needs: Needs, scopes: ReadonlySet<string> | null): boolean {
  if (needs === 'nothing') return true;
  if (scopes === null) return false;
  return needs === 'authenticated' || needs.some((all) => all.every((scope) => scopes.has(scope)));
}
