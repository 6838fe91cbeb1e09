/**
 * What a client says of itself in IDENTIFY, as a bit field. Of the platform's many bits this server acts on these.
 *
 * @source https://docs.discord.food/gateway/using-gateway#list-of-capabilities
 */
export const CAPABILITY = {
  /** Lobbies come with READY instead of one by one behind it. */
  AUTO_LOBBY_CONNECT: 1 << 16,
} as const satisfies Record<string, number>;
