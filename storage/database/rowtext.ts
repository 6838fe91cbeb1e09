/** The escapes `JSON.stringify` writes for NUL and for surrogates without their other half. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;
/** With the `u` flag a pair is one character and no surrogate. */
const LONE_SURROGATE = /\p{Surrogate}/gu;

function clean(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replaceAll('\u0000', '\uFFFD').replace(LONE_SURROGATE, '\uFFFD');
  if (Array.isArray(value)) return value.map(clean);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [clean(key) as string, clean(inner)]),
  );
}

/**
 * A row as JSON text that the database takes. `jsonb` has no NUL and no lone surrogates, both of which a client may
 * send within valid JSON: each becomes U+FFFD, rather than failing the commit.
 *
 * @throws TypeError for what JSON cannot hold: a bigint, a cycle.
 */
export function rowText(row: object): string {
  const text = JSON.stringify(row);
  // The pattern also meets a backslash that was typed; cleaning then changes nothing.
  return UNSTORABLE.test(text) ? JSON.stringify(clean(JSON.parse(text))) : text;
}
