import type { Matchmaking } from '../../services/matchmaking/ports.ts';

export const QUEUE = 'duel';
/** Players in a match. */
export const SIZE = 2;

/** Lets a shard match players. */
export function defineQueue(matchmaking: Matchmaking): void {
  matchmaking.define(QUEUE, { size: SIZE, timeoutMs: 10_000, everyMs: 500 });
}
