/**
 * Text as it may enter a message. What the database cannot hold (NUL) is dropped, what JSON cannot carry
 * faithfully (a surrogate without its pair) becomes U+FFFD, so that every later step sees well-formed text.
 */
const UNPAIRED = /\p{Surrogate}/gu;
const NUL = '\u0000';

export function cleanText(text: string): string {
  const whole = text.includes(NUL) ? text.replaceAll(NUL, '') : text;
  return whole.replace(UNPAIRED, '\ufffd');
}

/** Cleans every string of a JSON value, keys included. The value's depth is the caller's to bound. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== 'object' || value === null) return value;
  // fromEntries defines own properties, so a key named __proto__ stays data.
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleanJson(inner)]));
}

/** Length as the platform counts it: in code points. O(1) while the UTF-16 length already fits `enough`. */
export function textLength(text: string, enough = 0): number {
  if (text.length <= enough) return text.length;
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const INVISIBLE = /^[\s\p{Default_Ignorable_Code_Point}]*$/u;

/** True for text that shows nothing: whitespace, zero-width characters, fillers. */
export const isBlank = (text: string): boolean => INVISIBLE.test(text);

/** The platform's timestamps: six digits of fraction and a numeric offset. `ms` is Unix milliseconds. */
export const isoTimestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000+00:00`;
