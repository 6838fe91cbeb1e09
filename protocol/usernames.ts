import { CONFUSABLES } from './confusables.generated.ts';

const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  CONFUSABLES.flatMap(([shown, characters]) => [...characters].map((from) => [from, shown] as const)),
);
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * What a text looks like: two texts with one skeleton are confusable.
 *
 * @source UTS #39, section 4, "Confusable Detection"
 */
export function skeleton(text: string): string {
  const decomposed = text.normalize('NFD').replace(IGNORED, '');
  let shown = '';
  for (const character of decomposed) shown += PROTOTYPES.get(character) ?? character;
  return shown.normalize('NFD');
}

/** Upper case first: characters that differ in lower case only (`ß` and `ss`, `ı` and `i`) become one. */
const folded = (text: string): string => text.toUpperCase().toLowerCase();

/**
 * The keys of a username; two names that share one are the same or are taken for one another. Equal after NFKC, case
 * folding and the skeleton of UTS #39. A name with capitals has a second key, of what its capitals look like: `AIex` with
 * a capital i is read as `alex`.
 *
 * The keys are stored and unique in the database: another version of the table, or of this rule, needs a migration.
 *
 * @returns One or two; none for a name of which nothing is seen.
 */
export function usernameKeys(username: string): readonly string[] {
  const plain = username.normalize('NFKC').replace(/\s+/g, ' ').trim();
  const keys = [folded(plain), plain].map((text) => folded(skeleton(text)));
  return [...new Set(keys)].filter((key) => key.trim() !== '');
}
