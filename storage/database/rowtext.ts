/** The escapes that `JSON.stringify` writes for NUL and for lone surrogates. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;
/** With the `u` flag a surrogate pair is one character and does not match. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

function clean(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replaceAll('\u0000', '\uFFFD').replace(LONE_SURROGATE, '\uFFFD');
  if (Array.isArray(value)) return value.map(clean);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [clean(key), clean(inner)]));
}

/**
 * A row as JSON text that the database accepts. `jsonb` cannot contain NUL or lone surrogates, which a client may send in
 * valid JSON: each becomes U+FFFD, so that the commit does not fail.
 *
 * @throws TypeError for values that JSON cannot contain: a bigint, a cycle.
 */
export function rowText(row: object): string {
  const text = JSON.stringify(row);
  // The pattern also matches an escaped backslash that a user typed; cleaning then changes nothing.
  return UNSTORABLE.test(text) ? JSON.stringify(clean(JSON.parse(text))) : text;
}
