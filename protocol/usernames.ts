import { CONFUSABLES } from './confusables.generated.ts';

const PROTOTYPES: ReadonlyMap<string, string> = new Map(
  CONFUSABLES.flatMap(([shown, characters]) => [...characters].map((from) => [from, shown] as const)),
);
const IGNORED = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * The skeleton of a text: two texts with one skeleton are confusable.
 *
 * @source https://www.unicode.org/reports/tr39/, section 4, "Confusable Detection"
 */
export function skeleton(text: string): string {
  const decomposed = text.normalize('NFD').replace(IGNORED, '');
  let shown = '';
  for (const character of decomposed) shown += PROTOTYPES.get(character) ?? character;
  return shown.normalize('NFD');
}

/**
 * Case folding, upper case first: characters that differ in lower case only (`ß` and `ss`, `ı` and `i`) become one. A
 * sigma has a separate lower-case form at the end of a word.
 */
const folded = (text: string): string => text.toUpperCase().toLowerCase().replaceAll('ς', 'σ');

/** One character of a name, and its look. */
interface Drawn {
  readonly character: string;
  readonly look: string;
}

/**
 * The characters with their looks. The published table applies before NFKC, which turns some characters into other
 * letters: the lunate sigma (`ϲ`), which looks like `c`, becomes a sigma, which looks like `o`.
 */
const drawn = (text: string): readonly Drawn[] =>
  [...text.normalize('NFD').replace(IGNORED, '')].map((character) => ({
    character,
    look: skeleton(PROTOTYPES.get(character) ?? character.normalize('NFKC')),
  }));

const lookOf = (text: string): string =>
  drawn(text)
    .map(({ look }) => look)
    .join('');

/** Letters with a dot above and the marks on them, including `l`, which may stand for the `I` of a dotted `İ`. */
const DOTTED = /([ijl\p{Soft_Dotted}])(\p{M}+)/gu;
const ASCII = /[!-~]/g;
const SPACES = /\s+/g;

/**
 * Normalises a text to a key. A dot above a dotted letter is dropped, because it is invisible. Folding may have
 * produced letters with another look: `M` becomes `m`, which looks like `rn`.
 *
 * @source https://www.unicode.org/reports/tr39/, section 5.4, "Optional Detection": U+0307 after a soft-dotted
 * character
 */
function keyOf(text: string): string {
  const plain = folded(text).normalize('NFD').replace(IGNORED, '');
  const undotted = plain.replace(
    DOTTED,
    (_, base: string, marks: string) => base + marks.replaceAll('\u0307', ''),
  );
  const look = undotted.replace(ASCII, (character) => PROTOTYPES.get(character) ?? character);
  return look.toLowerCase().normalize('NFC').replace(SPACES, ' ').trim();
}

const isAscii = (character: string): boolean => character <= '\u007f';

/** Kind of a character drawn like `l` that is read as the letter `i`. */
type ReadAsI = 'capital' | 'foreign' | 'digit';
const READINGS: readonly (readonly ReadAsI[])[] = [
  [],
  ['capital'],
  ['foreign'],
  ['capital', 'foreign'],
  ['capital', 'foreign', 'digit'],
];

/**
 * The keys of a name's look. `I`, `l` and their look-alikes are drawn alike, but `I` is the letter `i`: `AIex` is
 * mistaken for `alex`, and `IAN` for `ian`. So each reading has a key. `1`, `l` and `|` are read as `I` only among
 * capitals: `JUN1PER` is mistaken for `juniper`, but `ivan1` not for `ivani`.
 */
function lookKeys(text: string): readonly string[] {
  const characters = drawn(text);
  // The table maps a zero to a capital letter, so ASCII characters are taken as written.
  const letters = characters.map(({ character, look }) => (isAscii(character) ? character : look)).join('');
  const isCapital = /\p{Lu}/u.test(letters) && !/(?!l)\p{Ll}/u.test(letters);
  const kindOf = (character: string): ReadAsI | null => {
    if (character === 'I') return 'capital';
    if (!isAscii(character)) return 'foreign';
    return isCapital ? 'digit' : null;
  };
  return READINGS.map((reading) =>
    characters
      .map(({ character, look }) => {
        const kind = kindOf(character);
        return kind !== null && reading.includes(kind) ? look.replaceAll('l', 'i') : look;
      })
      .join(''),
  ).map(keyOf);
}

/**
 * The keys of a username; two names that share one are equal or confusable. The first is the name after NFKC and case
 * folding, the second the look of the name in lower case, the others its look as written, by the skeleton of UTS #39.
 * Names of small ASCII letters have one key.
 *
 * The keys are stored and unique in the database: another version of the table or of this rule needs a migration.
 *
 * @returns One to seven keys; none for a name that displays nothing.
 */
export function usernameKeys(username: string): readonly string[] {
  const same = folded(folded(username.normalize('NFKC')).normalize('NFKC'));
  const keys = [keyOf(same), keyOf(lookOf(folded(username))), ...lookKeys(username)];
  return [...new Set(keys)].filter((key) => key !== '');
}

/**
 * Reserved names: their users would appear to speak for the server.
 *
 * @source https://docs.discord.com/developers/resources/user#usernames-and-nicknames; `everyone` and `here`, the others
 * are ours
 */
const RESERVED: ReadonlySet<string> = new Set(
  ['everyone', 'here', 'system', 'admin', 'administrator', 'moderator', 'guildhall'].flatMap(usernameKeys),
);

/** Whether a username is reserved or confusable with a reserved one. */
export const isReservedUsername = (username: string): boolean =>
  usernameKeys(username).some((key) => RESERVED.has(key));
