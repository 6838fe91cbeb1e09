import type { Update } from './orders.ts';

/** A server of lobbies, in this process. */
export interface Contender {
  /** Base URL: HTTP and WebSocket are on one port. */
  readonly url: string;
  /** Makes the tokens for `count` more connections; empty texts where there are no accounts. */
  prepare(count: number): Promise<readonly string[]>;
  /** Sends number `index` of an update to all members of every lobby. */
  update(update: Update, index: number): unknown;
}

const FILLER = 'the quick brown fox jumps over the lazy dog and on to the next field';

/** The text of an update, about a hundred bytes, no two alike. */
export const textOf = (index: number): string => `${index} ${FILLER} ${FILLER.slice(0, 24)}`;
