import { KNOWN_MS } from '../../protocol/devices.ts';
import type { Account, KnownOrigin } from './facts.ts';

const DAY_MS = 24 * 3_600_000;
/** Known networks of one account, and known devices; the least recently used one is dropped. */
const KNOWN_MAX = 16;
/** How old the recorded time of the last sign-in may become, so that not every sign-in is a write. */
const SEEN_EVERY_MS = DAY_MS;

type Places = Account['networks'];

/** Whether the account has signed in from the place with this digest. */
export const isKnown = (places: Places = [], digest: string, nowMs: number): boolean =>
  places.some((place) => place.digest === digest && nowMs < place.seenMs + KNOWN_MS);

/**
 * The places with one more, the most recently used last; null when the list is still current.
 *
 * @param replaced Digest of a place that the new one replaces.
 */
export function knownAlso(
  places: Places = [],
  digest: string,
  nowMs: number,
  replaced: string | null = null,
): readonly KnownOrigin[] | null {
  const before = places.find((place) => place.digest === digest);
  if (before && nowMs < before.seenMs + SEEN_EVERY_MS) return null;
  const others = places.filter(
    (place) => place !== before && place.digest !== replaced && nowMs < place.seenMs + KNOWN_MS,
  );
  return [...others.slice(1 - KNOWN_MAX), { digest, seenMs: nowMs }];
}
