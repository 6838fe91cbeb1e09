import type { FactOf } from '../guild/topic.ts';

/** Facts of relationships between people. */
// biome-ignore lint/complexity/noBannedTypes: filled by its topic.
export type SocialFacts = {};
export type SocialFact = FactOf<SocialFacts>;
