/**
 * Cleans text for messages. NUL, which the database cannot store, is dropped; an unpaired surrogate, which JSON cannot
 * carry faithfully, becomes U+FFFD. Every later step sees well-formed text.
 */
const UNPAIRED = /\p{Surrogate}/gu;
const NUL = '\u0000';

export function cleanText(text: string): string {
  const withoutNul = text.includes(NUL) ? text.replaceAll(NUL, '') : text;
  return withoutNul.replace(UNPAIRED, '\ufffd');
}

/** Cleans every string of a JSON value, keys included. The caller bounds the value's depth. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines own properties, so a key named __proto__ stays data.
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner)]));
}

/** Length in code points, as the platform counts it. O(1) while the UTF-16 length is at most `enough`. */
export function textLength(text: string, enough = 0): number {
  if (text.length <= enough) return text.length;
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const INVISIBLE = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/** True for text without visible characters: whitespace, zero-width characters, fillers. */
export const isBlank = (text: string): boolean => INVISIBLE.test(text);
