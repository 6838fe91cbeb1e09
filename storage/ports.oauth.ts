/** Grants, tokens and codes of OAuth2, by user. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by its owner.
export interface OAuthStore {}
