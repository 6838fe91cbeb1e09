/** Credentials and sign-in sessions of people, by user. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by its owner.
export interface AccountStore {}
