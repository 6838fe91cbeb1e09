/** Identities of players at other providers, by application. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by its owner.
export interface IdentityStore {}
