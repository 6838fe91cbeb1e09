/** Lobbies with their members. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by its owner.
export interface LobbyStore {}
