interface CloseRow {
  readonly code: number;
  /** The close frame's reason; at most 123 bytes. */
  readonly reason: string;
  /** Whether a client should reconnect at all. */
  readonly reconnect: boolean;
  /** Whether the session outlives the connection, so that a RESUME may succeed. */
  readonly resumable: boolean;
}

const close = (code: number, reason: string, reconnect: boolean, resumable: boolean): CloseRow => ({
  code,
  reason,
  reconnect,
  resumable,
});

/**
 * Close codes of the gateway.
 *
 * The platform publishes which codes forbid reconnecting, and that 4003, 4007 and 4009 require a new session; the
 * others keep the session.
 *
 * @source https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes
 */
export const CLOSE = {
  UNKNOWN_ERROR: close(4000, 'Unknown error.', true, true),
  UNKNOWN_OPCODE: close(4001, 'Unknown opcode, or an invalid payload for an opcode.', true, true),
  DECODE_ERROR: close(4002, 'Error while decoding payload.', true, true),
  NOT_AUTHENTICATED: close(4003, 'Not authenticated.', true, false),
  AUTHENTICATION_FAILED: close(4004, 'Authentication failed.', false, false),
  ALREADY_AUTHENTICATED: close(4005, 'Already authenticated.', true, true),
  INVALID_SEQ: close(4007, 'Invalid sequence number.', true, false),
  RATE_LIMITED: close(4008, 'Rate limited.', true, true),
  SESSION_TIMED_OUT: close(4009, 'Session timed out.', true, false),
  INVALID_SHARD: close(4010, 'Invalid shard.', false, false),
  SHARDING_REQUIRED: close(4011, 'Sharding required.', false, false),
  INVALID_VERSION: close(4012, 'Invalid API version.', false, false),
  INVALID_INTENTS: close(4013, 'Invalid intent(s).', false, false),
  DISALLOWED_INTENTS: close(4014, 'Disallowed intent(s).', false, false),
} as const satisfies Record<string, CloseRow>;

export type CloseName = keyof typeof CLOSE;

/**
 * Codes with which a client ends its session for good; after any other code, or none, the session waits for RESUME. The
 * codes with which discordeno (3000) and seyfert (3040) shut down cannot be included: the WebSocket library reports a
 * close frame with a code from 1012 to 3999 as 1006, like a broken connection, and both clients resume after other
 * codes of this range.
 */
export const CLIENT_ENDS: ReadonlySet<number> = new Set([1000, 1001]);
