/**
 * Requests of applications to the client that shows them or runs beside them: activities by messages of their frame, games over
 * a local socket, pages over a WebSocket of this machine.
 *
 * @source https://docs.discord.com/developers/topics/rpc and https://github.com/discord/embedded-app-sdk, `src/schema`
 */
export const RPC_OP = { HANDSHAKE: 0, FRAME: 1, CLOSE: 2, PING: 3, PONG: 4 } as const;

/** @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#rpc and https://docs.discord.food/topics/rpc */
export const RPC_ERROR = {
  UNKNOWN_ERROR: 1000,
  SERVICE_UNAVAILABLE: 1001,
  INVALID_PAYLOAD: 4000,
  INVALID_COMMAND: 4002,
  INVALID_GUILD: 4003,
  INVALID_EVENT: 4004,
  INVALID_CHANNEL: 4005,
  INVALID_PERMISSIONS: 4006,
  INVALID_CLIENTID: 4007,
  INVALID_TOKEN: 4009,
  INVALID_USER: 4010,
  INVALID_ACTIVITY_JOIN_REQUEST: 4012,
  OAUTH2_ERROR: 5000,
  GET_GUILD_TIMED_OUT: 5002,
  SELECT_VOICE_FORCE_REQUIRED: 5003,
  PURCHASE_CANCELED: 5008,
  PURCHASE_ERROR: 5009,
  RATE_LIMITED: 5011,
} as const;

/** @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#rpc-rpc-close-event-codes */
export const RPC_CLOSE = {
  NORMAL: 1000,
  UNSUPPORTED: 1003,
  ABNORMAL: 1006,
  INVALID_CLIENTID: 4000,
  INVALID_ORIGIN: 4001,
  RATELIMITED: 4002,
  TOKEN_REVOKED: 4003,
  INVALID_VERSION: 4004,
  INVALID_ENCODING: 4005,
} as const;

/**
 * Scopes that no token has: they follow from how an application is connected, and from AUTHENTICATE.
 *
 * @source https://docs.discord.food/topics/rpc#restricted-scopes
 */
export const RPC_SCOPE = {
  /** Connected by a local socket. */
  LOCAL: 'rpc.local',
  /** Shown in a frame. */
  EMBEDDED: 'rpc.embedded_app',
  AUTHENTICATED: 'rpc.authenticated',
} as const;

/** The scopes that a command or an event needs: none, or all scopes of any of these lists. */
type Needs = 'nothing' | readonly (readonly string[])[];

const [LOCAL, EMBEDDED, AUTHENTICATED] = [
  ['rpc.local'],
  ['rpc.embedded_app'],
  ['rpc.authenticated'],
] as const;
const RPC = ['rpc'] as const;
/** Needs a scope of the platform's own pages, which this server grants to no application. */
const PRIVATE = ['rpc.private'] as const;
const VOICE_READ: Needs = [RPC, ['rpc.voice.read']];
const VOICE_WRITE: Needs = [RPC, ['rpc.voice.write']];
const GAME: Needs = [RPC, LOCAL];
const SHOWN: Needs = [AUTHENTICATED, LOCAL];

/**
 * Every command with its scopes, for all hosts. A host answers the commands that it serves; the others fail with
 * INVALID_COMMAND.
 *
 * @source https://docs.discord.com/developers/topics/rpc#commands-and-events and
 * https://docs.discord.food/topics/rpc#rpc-commands
 */
export const RPC_COMMANDS = {
  AUTHORIZE: 'nothing',
  AUTHENTICATE: 'nothing',
  SUBSCRIBE: 'nothing',
  UNSUBSCRIBE: 'nothing',
  GET_GUILD: [RPC],
  GET_GUILDS: [RPC],
  GET_CHANNEL: [RPC, ['guilds'], ['guilds.channels.read'], ['dm_channels.read']],
  GET_CHANNELS: [RPC],
  GET_CHANNEL_PERMISSIONS: [['guilds.members.read'], ['guilds.channels.read']],
  CREATE_CHANNEL_INVITE: [RPC],
  GET_RELATIONSHIPS: [['relationships.read']],
  GET_USER: [LOCAL, EMBEDDED],
  SET_USER_VOICE_SETTINGS: VOICE_WRITE,
  SELECT_VOICE_CHANNEL: [RPC],
  GET_SELECTED_VOICE_CHANNEL: VOICE_READ,
  SELECT_TEXT_CHANNEL: [RPC],
  GET_VOICE_SETTINGS: VOICE_READ,
  SET_VOICE_SETTINGS: VOICE_WRITE,
  PUSH_TO_TALK: [['rpc', 'rpc.voice.write']],
  SET_CERTIFIED_DEVICES: GAME,
  SET_ACTIVITY: [RPC, ['rpc.activities.write'], LOCAL],
  SEND_ACTIVITY_JOIN_INVITE: GAME,
  CLOSE_ACTIVITY_REQUEST: GAME,
  CLOSE_ACTIVITY_JOIN_REQUEST: GAME,
  ACTIVITY_INVITE_USER: GAME,
  ACCEPT_ACTIVITY_INVITE: GAME,
  VALIDATE_APPLICATION: [LOCAL],
  OPEN_EXTERNAL_LINK: [AUTHENTICATED, EMBEDDED],
  OPEN_INVITE_DIALOG: [RPC, LOCAL, AUTHENTICATED],
  OPEN_SHARE_MOMENT_DIALOG: [AUTHENTICATED],
  INITIATE_IMAGE_UPLOAD: [RPC, LOCAL, AUTHENTICATED],
  SHARE_INTERACTION: SHOWN,
  SHARE_LINK: [AUTHENTICATED],
  INVITE_USER_EMBEDDED: [['relationships.read']],
  GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: [AUTHENTICATED],
  GET_SKUS: SHOWN,
  GET_ENTITLEMENTS: SHOWN,
  GET_SKUS_EMBEDDED: SHOWN,
  GET_ENTITLEMENTS_EMBEDDED: SHOWN,
  START_PURCHASE: SHOWN,
  USER_SETTINGS_GET_LOCALE: [['identify']],
  GET_QUEST: [AUTHENTICATED],
  GET_QUEST_ENROLLMENT_STATUS: [AUTHENTICATED],
  QUEST_START_TIMER: [AUTHENTICATED],
  CAPTURE_LOG: 'nothing',
  SEND_ANALYTICS_EVENT: 'nothing',
  ENCOURAGE_HW_ACCELERATION: 'nothing',
  GET_PLATFORM_BEHAVIORS: 'nothing',
  SET_CONFIG: 'nothing',
  SET_ORIENTATION_LOCK_STATE: 'nothing',
  REQUEST_PROXY_TICKET_REFRESH: [AUTHENTICATED, EMBEDDED],
  NAVIGATE_TO_CONNECTIONS: [AUTHENTICATED],
  START_PREMIUM_PURCHASE: SHOWN,
  SET_USER_VOICE_SETTINGS_2: [LOCAL],
  SET_VOICE_SETTINGS_2: [LOCAL],
  GET_SOUNDBOARD_SOUNDS: GAME,
  PLAY_SOUNDBOARD_SOUND: [['rpc', 'rpc.voice.write']],
  TOGGLE_VIDEO: [['rpc', 'rpc.video.write']],
  TOGGLE_SCREENSHARE: [['rpc', 'rpc.screenshare.write']],
  GET_IMAGE: [LOCAL],
  GET_ENTITLEMENT_TICKET: [LOCAL],
  GET_APPLICATION_TICKET: [LOCAL],
  OPEN_MESSAGE: [LOCAL],
  DEEP_LINK: [LOCAL, PRIVATE],
  SET_OVERLAY_LOCKED: [LOCAL],
  OPEN_OVERLAY_ACTIVITY_INVITE: [LOCAL],
  OPEN_OVERLAY_GUILD_INVITE: [LOCAL],
  OPEN_OVERLAY_VOICE_SETTINGS: [LOCAL],
  OVERLAY: [PRIVATE],
  CONNECTIONS_CALLBACK: [PRIVATE],
  GIFT_CODE_BROWSER: [PRIVATE],
  GUILD_TEMPLATE_BROWSER: [PRIVATE],
  INVITE_BROWSER: [PRIVATE],
  BROWSER_HANDOFF: [['rpc.private.limited']],
} as const satisfies Record<string, Needs>;

export type RpcCommand = keyof typeof RPC_COMMANDS;

/**
 * @source https://docs.discord.com/developers/topics/rpc#commands-and-events-rpc-events and
 * https://docs.discord.food/topics/rpc#rpc-events
 */
export const RPC_EVENTS = {
  CURRENT_USER_UPDATE: [LOCAL, ['identify']],
  CURRENT_GUILD_MEMBER_UPDATE: [['identify', 'guilds.members.read']],
  GUILD_STATUS: [RPC],
  GUILD_CREATE: [RPC],
  CHANNEL_CREATE: [RPC],
  RELATIONSHIP_UPDATE: [['relationships.read']],
  VOICE_CHANNEL_SELECT: [RPC],
  VOICE_STATE_CREATE: VOICE_READ,
  VOICE_STATE_UPDATE: VOICE_READ,
  VOICE_STATE_DELETE: VOICE_READ,
  VOICE_SETTINGS_UPDATE: VOICE_READ,
  VOICE_CONNECTION_STATUS: VOICE_READ,
  SPEAKING_START: [RPC, ['rpc.voice.read'], LOCAL],
  SPEAKING_STOP: [RPC, ['rpc.voice.read'], LOCAL],
  MESSAGE_CREATE: [RPC],
  MESSAGE_UPDATE: [RPC],
  MESSAGE_DELETE: [RPC],
  NOTIFICATION_CREATE: [['rpc', 'rpc.notifications.read']],
  ACTIVITY_JOIN: [RPC, AUTHENTICATED, LOCAL],
  ACTIVITY_SPECTATE: [RPC, AUTHENTICATED, LOCAL],
  ACTIVITY_JOIN_REQUEST: GAME,
  ACTIVITY_INVITE: GAME,
  ENTITLEMENT_CREATE: SHOWN,
  ENTITLEMENT_DELETE: SHOWN,
  ACTIVITY_LAYOUT_MODE_UPDATE: 'nothing',
  ORIENTATION_UPDATE: 'nothing',
  THERMAL_STATE_UPDATE: 'nothing',
  ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: [AUTHENTICATED],
  QUEST_ENROLLMENT_STATUS_UPDATE: [AUTHENTICATED],
  VOICE_SETTINGS_UPDATE_2: [LOCAL],
  ACTIVITY_PIP_MODE_UPDATE: 'nothing',
  OVERLAY: [PRIVATE],
  OVERLAY_UPDATE: [LOCAL],
  SCREENSHARE_STATE_UPDATE: [['rpc.screenshare.read'], LOCAL],
  VIDEO_STATE_UPDATE: [['rpc.voice.read'], LOCAL],
  AUTHORIZE_REQUEST: 'nothing',
} as const satisfies Record<string, Needs>;

export type RpcEvent = keyof typeof RPC_EVENTS;

/** @source https://docs.discord.com/developers/topics/rpc#voice_connection_status */
export const VOICE_CONNECTION_STATES = [
  'DISCONNECTED',
  'AWAITING_ENDPOINT',
  'CONNECTING',
  'VOICE_DISCONNECTED',
  'VOICE_CONNECTING',
  'VOICE_CONNECTED',
] as const;
export type VoiceConnectionState = (typeof VOICE_CONNECTION_STATES)[number];

/** Whether these scopes meet what is needed. */
export const hasNeeded = (needs: Needs, scopes: ReadonlySet<string>): boolean =>
  needs === 'nothing' || needs.some((all) => all.every((scope) => scopes.has(scope)));

/** Bounds of an application's messages; the platform publishes no bounds. */
export const RPC_LIMITS = {
  frame_bytes_max: 64 << 10,
  connections_per_minute: 2,
} as const;

/** Ports of the WebSocket and HTTP server, tried in order. */
export const RPC_PORTS = { first: 6463, last: 6472 } as const;
/** Sockets `discord-ipc-0` to `discord-ipc-9`, tried in order. The name is part of the wire protocol. */
export const RPC_SOCKETS = { name: 'discord-ipc-', count: 10 } as const;
/** Scheme of the link that starts a game. The name is part of the wire protocol. */
export const rpcLaunchScheme = (applicationId: string): string =>
  'discord-application_id'.replace('application_id', applicationId);
