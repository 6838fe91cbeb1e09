import { IDENTITY_LIMITS } from '../../protocol/identities.ts';
import { nameProblem } from '../../protocol/names.ts';

const BLANK = /\s+/gu;

/** A display name from a provider's name; null when that is not a valid name, as with invisible characters. */
export function displayName(given: unknown): string | null {
  if (typeof given !== 'string' || given.length > 4 * IDENTITY_LIMITS.name_characters_max) return null;
  const name = given.replace(BLANK, ' ').trim();
  if (nameProblem(name)) return null;
  const length = [...name].length;
  return length >= 1 && length <= IDENTITY_LIMITS.name_characters_max ? name : null;
}

const STEM_CHARACTERS_MAX = 20;
const UNFIT = /[^a-z0-9._]/g;
const DOTS = /\.{2,}/g;

/**
 * A username of lower-case letters, digits, single dots and underscores, 2 to 32 characters, made of the display name
 * and a random suffix.
 *
 * @param random At least 5 random bytes; 40 bits keep the names distinct.
 */
export function provisionalUsername(name: string | null, random: Uint8Array): string {
  const fit = (name ?? '').normalize('NFKD').toLowerCase().replace(UNFIT, '').replace(DOTS, '.');
  const stem = fit.slice(0, STEM_CHARACTERS_MAX);
  const digits = Array.from(random.subarray(0, 5), (byte) => byte.toString(16).padStart(2, '0'));
  return `${stem === '' ? 'player' : stem}_${digits.join('')}`;
}
