import { isSnowflake } from '../../protocol/ids.ts';
import { readLink } from '../../protocol/links.ts';

/** An object from a client, not yet validated. */
export type RawObject = Readonly<Record<string, unknown>>;

/** The value as an object with keys; null for anything else. */
export const recordOf = (value: unknown): RawObject | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RawObject) : null;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The first `max` code points of a text; never splits a surrogate pair. */
export const codePoints = (text: string, max: number): string =>
  text.length <= max ? text : [...text.slice(0, max * 2)].slice(0, max).join('');

/**
 * A text of `min` to `max` code points; null for a shorter value or no text. A longer text is cut, or null with `cuts`
 * false, for keys and secrets, which are useless when cut.
 */
export function textIn(value: unknown, min: number, max: number, cuts = true): string | null {
  if (typeof value !== 'string' || value.length < min) return null;
  const short = codePoints(value, max);
  if (short !== value && !cuts) return null;
  return min < 2 || [...short].length >= min ? short : null;
}

/** An http(s) URL of at most `max` characters; null for any other link. */
export function link(value: unknown, max: number): string | null {
  const read = typeof value === 'string' ? readLink(value, max) : null;
  return read?.ok ? read.url : null;
}

export const integerIn = (value: unknown, min: number, max: number): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max ? value : null;

/** An id from text or an integer (a bigint beyond 2^53). Null for an invalid id. */
export function idIn<Id extends string>(value: unknown): Id | null {
  const id = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  return (typeof value !== 'number' || Number.isSafeInteger(value)) && isSnowflake(id) ? (id as Id) : null;
}

/** The settable bits of a bit field; 0 for an invalid value. */
export const flagsIn = (value: unknown, settable: number): number =>
  (integerIn(value, 0, 2 ** 31 - 1) ?? 0) & settable;
