import { type FreshId, isAnyId } from '../../protocol/ids.ts';
import { AdminError } from './route.ts';

/** A page of a listing. */
export interface Page {
  /** The last id of the page before; null for the first page. */
  readonly after: FreshId | null;
  readonly limit: number;
}

const PAGE_DEFAULT = 100;
const PAGE_MAX = 1000;

/**
 * Parses the cursor and the `limit` of a listing.
 *
 * @param cursor The parameter with the last id of the page before: `before` where the newest come first.
 * @param max Most entries of a page.
 * @throws AdminError for a cursor that is no id, and a limit out of bounds.
 */
export function pageOf(
  query: URLSearchParams,
  cursor: 'after' | 'before' = 'after',
  max: number = PAGE_MAX,
): Page {
  const after = query.get(cursor);
  if (after !== null && !isAnyId(after))
    throw new AdminError(400, 'invalid_query', `${cursor} must be an id.`);
  const limit = Number(query.get('limit') ?? Math.min(PAGE_DEFAULT, max));
  if (!Number.isInteger(limit) || limit < 1 || limit > max)
    throw new AdminError(400, 'invalid_query', `limit must be a whole number from 1 to ${max}.`);
  return { after, limit };
}
