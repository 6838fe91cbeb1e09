/** Pairs of a query that are read; a request's own bounds keep the text short. */
const PAIRS_MAX = 512;

/**
 * Reads a query string: a key once is text, a key repeated is a list. Broken escapes stay as they are and broken
 * UTF-8 becomes U+FFFD, so every text has an answer. The record has no prototype.
 */
export function readQuery(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (text === '') return query;
  let pairs = 0;
  for (const [key, value] of new URLSearchParams(text)) {
    if (++pairs > PAIRS_MAX) break;
    const before = query[key];
    if (before === undefined) query[key] = value;
    else if (Array.isArray(before)) before.push(value);
    else query[key] = [before, value];
  }
  return query;
}
