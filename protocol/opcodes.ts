/**
 * Gateway opcodes.
 *
 * @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-opcodes
 */
export const OP = {
  DISPATCH: 0,
  HEARTBEAT: 1,
  IDENTIFY: 2,
  PRESENCE_UPDATE: 3,
  VOICE_STATE_UPDATE: 4,
  VOICE_SERVER_PING: 5,
  RESUME: 6,
  RECONNECT: 7,
  REQUEST_GUILD_MEMBERS: 8,
  INVALID_SESSION: 9,
  HELLO: 10,
  HEARTBEAT_ACK: 11,
  /** Subscriptions to one guild; newer clients send `GUILD_SUBSCRIPTIONS_BULK`. @source https://docs.discord.food/topics/opcodes-and-status-codes */
  GUILD_SUBSCRIPTIONS: 14,
  LOBBY_VOICE_STATES: 17,
  STREAM_CREATE: 18,
  STREAM_DELETE: 19,
  STREAM_WATCH: 20,
  STREAM_PING: 21,
  STREAM_SET_PAUSED: 22,
  REQUEST_SOUNDBOARD_SOUNDS: 31,
  GUILD_SUBSCRIPTIONS_BULK: 37,
  LOBBY_VOICE_SERVER_PING: 42,
  REQUEST_CHANNEL_INFO: 43,
} as const satisfies Record<string, number>;

export type Op = (typeof OP)[keyof typeof OP];

/** Heartbeats of clients; those of the platform's own clients (40) also carry metrics. @source https://docs.discord.food/topics/opcodes-and-status-codes */
export const HEARTBEAT_OPS: ReadonlySet<number> = new Set([OP.HEARTBEAT, 40]);

/**
 * Opcodes of the platform's user clients and of OAuth2 sessions: calls, subscriptions, lobbies, streams, metrics. A
 * user session that sends one stays connected even when this server does not implement it.
 */
export const USER_OPS: ReadonlySet<number> = new Set([
  ...[OP.VOICE_SERVER_PING, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22],
  ...[28, 29, 30, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42],
]);
