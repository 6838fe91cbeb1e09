/**
 * A flag of a region: a black flag, tags, and the tag that ends them.
 *
 * @source https://www.unicode.org/reports/tr51/, "Emoji Tag Sequences"
 */
const REGION_FLAG = /\u{1f3f4}[\u{e0020}-\u{e007e}]{1,30}\u{e007f}/gu;
/**
 * A selector that changes how the character before it is drawn.
 *
 * @source https://www.unicode.org/reports/tr51/, "Presentation Style", and https://www.unicode.org/reports/tr37/
 */
const SELECTED = /[\p{Emoji}\p{M}][\ufe0e\ufe0f]|\p{Script=Han}(?:[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}])/gu;
const SHAPING = /[\p{L}\p{M}\p{Extended_Pictographic}]|\p{Emoji_Modifier}/u;

/**
 * Control characters (tab and line breaks too), halves of surrogate pairs, line and paragraph separators, interlinear
 * annotations, and all that a reader cannot see by definition: bidirectional marks and overrides, zero-width spaces,
 * soft hyphens, fillers, tags, stray selectors.
 */
const HIDDEN = /[\p{Cc}\p{Cs}\u2028\u2029\ufff9-\ufffb]|(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u;

/**
 * Whether a name contains characters that no name may contain, because they are invisible or change how the rest is
 * read. Characters that shape their neighbours are allowed: a joiner in an emoji or between letters that are not ASCII,
 * a selector after an emoji. Cost: linear.
 *
 * @source https://www.unicode.org/reports/tr9/, "Directional Formatting Characters";
 * https://www.unicode.org/reports/tr39/, section 3.1; https://www.unicode.org/reports/tr46/, "CONTEXTJ";
 * https://www.cve.org/CVERecord?id=CVE-2021-42574
 */
export function hasHiddenCharacters(name: string): boolean {
  const rest = name.replace(REGION_FLAG, '\u{1f3f4}').replace(SELECTED, (drawn) => [...drawn][0]!);
  return HIDDEN.test(rest) || hasStrayJoiner(rest);
}

/**
 * Whether the text has a zero-width joiner or non-joiner that shapes nothing, by which two names would differ
 * invisibly.
 */
function hasStrayJoiner(text: string): boolean {
  if (!/[\u200c\u200d]/.test(text)) return false;
  const characters = [...text];
  return characters.some((character, at) => {
    if (character !== '\u200c' && character !== '\u200d') return false;
    const [before = '', after = ''] = [characters[at - 1], characters[at + 1]];
    return !isShaped(before) || !isShaped(after);
  });
}

const isShaped = (character: string): boolean => character > '\u007f' && SHAPING.test(character);

const LINE_BREAKS = /[\t-\r\u0085\u2028\u2029]+/gu;
const SHAPED_OR_HIDDEN = new RegExp(`(${REGION_FLAG.source}|${SELECTED.source})|${HIDDEN.source}`, 'gu');
const HIDDEN_OR_SHAPING = new RegExp(`${HIDDEN.source}|[\\u200c\\u200d]`, 'gu');

/**
 * A file name safe to display: on one line and without hidden characters, which could show `exe.png` for `gnp.exe`.
 * Files arrive with any name, so these characters are removed, not refused. Other names are returned unchanged.
 *
 * @source https://www.cve.org/CVERecord?id=CVE-2021-42574; https://www.unicode.org/reports/tr9/,
 * "Directional Formatting Characters"
 */
export function visibleName(name: string): string {
  if (!hasHiddenCharacters(name)) return name;
  const line = name.replace(LINE_BREAKS, ' ');
  const shown = line.replace(SHAPED_OR_HIDDEN, (_, shape?: string) => shape ?? '');
  // Removing characters may leave others behind: stray joiners, and selectors after hidden marks.
  return hasHiddenCharacters(shown) ? shown.replace(HIDDEN_OR_SHAPING, '') : shown;
}

const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/gu;

/**
 * The text without characters that change the order in which it is displayed.
 *
 * @source https://www.unicode.org/reports/tr9/, section 2
 */
export const withoutDirectionControls = (text: string): string => text.replace(DIRECTION_CONTROLS, '');

/**
 * Characters that steer a terminal or reorder a line of it: controls, halves of surrogate pairs, marks, embeddings and
 * overrides of direction, separators of lines, interlinear annotations.
 */
const STEERING = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb]/gu;

/**
 * A line of text for a terminal. Text of files, servers and clients may have escape sequences and direction overrides;
 * each of their characters becomes U+FFFD.
 *
 * @source https://www.cve.org/CVERecord?id=CVE-2021-42574; ECMA-48, section 5.4, "Control sequences"
 */
export const terminalText = (text: string): string => text.replace(STEERING, '\ufffd');

/** JSON for a terminal: the same value as `JSON.stringify` gives, with the characters that steer a terminal escaped. */
export const terminalJson = (value: unknown): string =>
  (JSON.stringify(value) ?? 'null').replace(
    STEERING,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Blank although Unicode counts them as visible: blanks of braille, of notation and of hieroglyphs. */
const BLANK_SYMBOLS = '\\u2800\\ufffc\\u{16fe4}\\u{1d159}\\u{13441}\\u{13442}';
const NOTHING_SEEN = new RegExp(
  `^[\\s\\p{White_Space}\\p{Cc}\\p{Default_Ignorable_Code_Point}${BLANK_SYMBOLS}]*$`,
  'u',
);

/**
 * Whether a text displays nothing: it is empty, or consists of spaces, fillers and blank symbols alone. Cost: linear.
 */
export const showsNothing = (text: string): boolean => NOTHING_SEEN.test(text);

/** The 50035 leaf for an invalid name; null for a valid one. */
export function nameProblem(name: string): { readonly code: string; readonly message: string } | null {
  if (hasHiddenCharacters(name)) return HIDDEN_CHARACTERS;
  return showsNothing(name) ? BLANK_NAME : null;
}

/** The 50035 leaf for a name that displays nothing. */
const BLANK_NAME = {
  code: 'NAME_BLANK',
  message: 'Must hold a character that can be seen.',
} as const;

/** The leaf of 50035 for a name with hidden characters. */
const HIDDEN_CHARACTERS = {
  code: 'NAME_HIDDEN_CHARACTERS',
  message: 'Must not contain control, zero-width or text-direction characters.',
} as const;
