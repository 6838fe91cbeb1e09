import type { FactOf } from '../guild/topic.ts';

/** Facts of lobbies. */
// biome-ignore lint/complexity/noBannedTypes: filled by its topic.
export type LobbyFacts = {};
export type LobbyFact = FactOf<LobbyFacts>;
