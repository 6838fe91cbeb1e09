/**
 * Gateway opcodes.
 *
 * @source the platform's "Opcodes and Status Codes" page
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
  LOBBY_VOICE_STATES: 17,
  STREAM_CREATE: 18,
  STREAM_DELETE: 19,
  STREAM_WATCH: 20,
  STREAM_PING: 21,
  STREAM_SET_PAUSED: 22,
  REQUEST_SOUNDBOARD_SOUNDS: 31,
  LOBBY_VOICE_SERVER_PING: 42,
  REQUEST_CHANNEL_INFO: 43,
} as const satisfies Record<string, number>;

export type Op = (typeof OP)[keyof typeof OP];

/** What a bot may send. Anything else is answered with close code 4001, but for `USER_OPS` from users. */
export const CLIENT_OPS = [
  OP.HEARTBEAT,
  OP.IDENTIFY,
  OP.PRESENCE_UPDATE,
  OP.VOICE_STATE_UPDATE,
  OP.RESUME,
  OP.REQUEST_GUILD_MEMBERS,
  OP.REQUEST_SOUNDBOARD_SOUNDS,
  OP.REQUEST_CHANNEL_INFO,
] as const;

export type ClientOp = (typeof CLIENT_OPS)[number];

const CLIENT_OP_SET: ReadonlySet<number> = new Set(CLIENT_OPS);
export const isClientOp = (op: unknown): op is ClientOp => CLIENT_OP_SET.has(op as number);

/** What only people may send, of what is served here. */
export const USER_CLIENT_OPS = [
  OP.LOBBY_VOICE_STATES,
  OP.STREAM_CREATE,
  OP.STREAM_DELETE,
  OP.STREAM_WATCH,
  OP.STREAM_PING,
  OP.STREAM_SET_PAUSED,
  OP.LOBBY_VOICE_SERVER_PING,
] as const;

export type UserClientOp = (typeof USER_CLIENT_OPS)[number];

const USER_CLIENT_OP_SET: ReadonlySet<number> = new Set(USER_CLIENT_OPS);
export const isUserClientOp = (op: unknown): op is UserClientOp => USER_CLIENT_OP_SET.has(op as number);

/**
 * Opcodes of the platform's own user clients and of OAuth2 sessions: calls, subscriptions, lobbies, streams,
 * metrics. A user's session that sends one this server does not serve is not cut off for it.
 */
export const USER_OPS: ReadonlySet<number> = new Set([
  OP.VOICE_SERVER_PING,
  13,
  14,
  15,
  16,
  ...USER_CLIENT_OPS,
  28,
  29,
  30,
  32,
  33,
  34,
  35,
  36,
  37,
  38,
  39,
  40,
  41,
]);
