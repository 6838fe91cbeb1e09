/**
 * Client capabilities in IDENTIFY, a bit field. This server acts on these bits only.
 *
 * @source https://docs.discord.food/gateway/using-gateway#list-of-capabilities
 */
export const CAPABILITY = {
  /** Lobbies are part of READY instead of one dispatch each after it. */
  AUTO_LOBBY_CONNECT: 1 << 16,
  /**
   * Beyond the platform: changes of lobbies and of their members come as GUILDHALL_LOBBY_UPDATE and
   * GUILDHALL_LOBBY_MEMBER_UPDATE, without the members of the lobby and the user of the member.
   */
  LOBBY_CHANGES: 1 << 30,
} as const satisfies Record<string, number>;
