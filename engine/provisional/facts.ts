import type { FactOf } from '../guild/topic.ts';

/** Facts of identities of players at other providers. */
// biome-ignore lint/complexity/noBannedTypes: filled by its topic.
export type IdentityFacts = {};
export type IdentityFact = FactOf<IdentityFacts>;
