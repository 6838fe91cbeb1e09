import type { FactOf } from '../guild/topic.ts';

/** Facts of accounts of people: credentials, sign-in sessions, second factors. */
// biome-ignore lint/complexity/noBannedTypes: filled by its topic.
export type AccountFacts = {};
export type AccountFact = FactOf<AccountFacts>;
