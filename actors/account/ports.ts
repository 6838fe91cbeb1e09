/** Accounts of people: sign-up, sign-in, second factor, e-mail. Its pages are in `transports/pages/`. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by its owner.
export interface Accounts {}
