/** Most pairs of a query that are read; the bound on headers limits the length of the text. */
const PAIRS_MAX = 512;

/**
 * Parses a query string: a single key is a string, a repeated key a list. Invalid escapes are kept and invalid UTF-8
 * becomes U+FFFD, so it never fails. The record has no prototype.
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
