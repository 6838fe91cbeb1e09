import type { FactOf } from '../guild/topic.ts';

/** Facts of what people have let applications do. */
// biome-ignore lint/complexity/noBannedTypes: filled by its topic.
export type OAuthFacts = {};
export type OAuthFact = FactOf<OAuthFacts>;
