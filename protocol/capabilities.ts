/**
 * Client capabilities in IDENTIFY, a bit field. This server acts on these bits only.
 *
 * @source https://docs.discord.food/gateway/using-gateway#list-of-capabilities
 */
export const CAPABILITY = {
  /** Lobbies are part of READY instead of one dispatch each after it. */
  AUTO_LOBBY_CONNECT: 1 << 16,
} as const satisfies Record<string, number>;
