/** Normalises a text for comparison: case, compatibility forms, invisible characters and the width of gaps make no difference. */
export interface Folded {
  readonly text: string;
  /** The part of the original, in its units, that `span` of `text` comes from. */
  original(span: Span): Span;
}

/** Part of a text in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** ASCII without controls. */
const PLAIN = /^[\t-\r\x20-\x7e]*$/;
/** Shows nothing: an ignorable or format character, or a control that is no white space. */
const HIDDEN = String.raw`(?!\p{White_Space})[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}]`;
const INVISIBLE = new RegExp(HIDDEN, 'gu');
/** Pieces that are normalised by themselves: plain text, letters with their marks, syllables of Hangul. */
const PIECES = new RegExp(
  String.raw`[\t-\r\x20-\x7e]+(?!\p{M}|${HIDDEN})|[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]+\p{M}*|\P{M}(?:\p{M}|${HIDDEN})*|\p{M}+`,
  'gu',
);

const plainlyLowered = (text: string): string => text.toLowerCase().replace(/\s/g, ' ');

/** Lower case without regard to neighbours: the final sigma is a sigma. Half of a surrogate pair becomes U+FFFD. */
const lowered = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replace(/\p{White_Space}/gu, ' ')
    .replace(/\p{Cs}/gu, '\ufffd');

/** Invisible characters go first, because they would keep a letter from its mark; normalising can make others. */
const folded = (text: string): string =>
  lowered(text.replace(INVISIBLE, '').normalize('NFKC')).replace(INVISIBLE, '');

/** Whether folding changes single units only, so that both texts have the same indices. */
const isAligned = (text: string): boolean =>
  text.normalize('NFKC') === text && text.toLowerCase().length === text.length && text.search(INVISIBLE) < 0;

/** Folds a text. O(length). */
export function fold(text: string): Folded {
  if (PLAIN.test(text)) return collapsed({ text: plainlyLowered(text), original: (span) => span });
  if (isAligned(text)) return collapsed({ text: lowered(text), original: (span) => span });
  let out = '';
  // Where the piece of each unit begins and ends in the original.
  const starts: number[] = [];
  const ends: number[] = [];
  // Letters repeat, and folding one costs more than remembering it.
  const known = new Map<string, string>();
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const isPlain = PLAIN.test(piece);
    const part = isPlain ? plainlyLowered(piece) : (known.get(piece) ?? folded(piece));
    if (!isPlain) known.set(piece, part);
    for (let unit = 0; unit < part.length; unit += 1) {
      starts.push(isPlain ? index + unit : index);
      ends.push(isPlain ? index + unit + 1 : index + piece.length);
    }
    out += part;
  }
  return collapsed({
    text: out,
    original: ({ start, end }) => ({ start: starts[start] ?? text.length, end: ends[end - 1] ?? 0 }),
  });
}

/** Makes one space of each run of spaces. */
function collapsed(from: Folded): Folded {
  if (!from.text.includes('  ')) return from;
  let kept: readonly number[] | null = null;
  return {
    text: from.text.replace(/ +/g, ' '),
    original({ start, end }) {
      kept ??= keptUnits(from.text);
      return from.original({
        start: kept[start] ?? from.text.length,
        end: kept[end] ?? from.text.length,
      });
    },
  };
}

/** The indices of all units but the spaces that follow a space. */
function keptUnits(text: string): readonly number[] {
  const kept: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] !== ' ' || text[at - 1] !== ' ') kept.push(at);
  }
  return kept;
}

/** Runs of characters that can be inline markup: emphasis, code, strikethrough and spoilers. */
const MARKUP = /\*+|_+|`+|~{2,}|\|{2,}/g;

/** A link with a text of its own, which a client shows instead of the address. */
const MASKED_LINK = /\[([^[\]\n]{1,4000})\]\(<?https?:[^\s()]{1,2000}(?: +"[^"\n]{0,1000}")?\)/gi;

/** Characters that a client does not show, in order, as places in a text. */
interface Hidden {
  readonly index: number;
  readonly length: number;
}

/** The brackets of a link before its text, and all that follows the text. */
function linkParts({ 0: match, 1: label = '', index }: RegExpExecArray): readonly Hidden[] {
  const shownTo = label.length + 1;
  return [
    { index, length: 1 },
    { index: index + shownTo, length: match.length - shownTo },
  ];
}

/**
 * Folds a text as a client shows it, without inline markup; null if it has none. Markup is in pairs, and one
 * underscore between letters is not markup. O(length).
 *
 * @source https://docs.discord.com/developers/reference#message-formatting
 */
export function foldUnmarked(text: string): Folded | null {
  const runs = [...text.matchAll(MARKUP)].filter(
    ({ 0: run, index }) => run !== '_' || !letterBefore(text, index) || !letterAt(text, index + 1),
  );
  const counts = new Map<string, number>();
  for (const { 0: run } of runs) counts.set(run.charAt(0), (counts.get(run.charAt(0)) ?? 0) + 1);
  const hidden = [
    ...runs
      .filter(({ 0: run }) => (counts.get(run.charAt(0)) ?? 0) > 1)
      .map(({ 0: run, index }) => ({ index, length: run.length })),
    ...[...text.matchAll(MASKED_LINK)].flatMap(linkParts),
  ].sort((a, b) => a.index - b.index);
  if (hidden.length === 0) return null;
  let shown = '';
  // The place of each shown unit in the text.
  const places: number[] = [];
  let from = 0;
  const show = (to: number): void => {
    shown += text.slice(from, to);
    for (let at = from; at < to; at += 1) places.push(at);
  };
  for (const { index, length } of hidden) {
    // Markup within the address of a link is hidden with it.
    if (index < from) continue;
    show(index);
    from = index + length;
  }
  show(text.length);
  const folded = fold(shown);
  return {
    text: folded.text,
    original(span) {
      const { start, end } = folded.original(span);
      return { start: places[start] ?? text.length, end: (places[end - 1] ?? -1) + 1 };
    },
  };
}

const WORD = /[\p{L}\p{N}\p{M}]/u;
const UNDERSCORE = 95;

const isWord = (code: number): boolean =>
  code < 128
    ? (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90)
    : WORD.test(String.fromCodePoint(code));

const isUnderscore = (text: string, index: number): boolean => text.charCodeAt(index) === UNDERSCORE;

/** Whether a letter or digit ends right before `index`. */
function letterBefore(text: string, index: number): boolean {
  if (index === 0) return false;
  const unit = text.charCodeAt(index - 1);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff && index > 1;
  return isWord(isLow ? (text.codePointAt(index - 2) ?? unit) : unit);
}

/** Whether a letter or digit begins at `index`. */
function letterAt(text: string, index: number): boolean {
  const code = text.codePointAt(index);
  return code !== undefined && isWord(code);
}

/**
 * Whether a word goes on before `index` of a part of a text, and goes on before the part when `outside` says so. O(run of
 * underscores).
 */
export function wordBefore(part: string, index: number, outside: boolean): boolean {
  let at = index;
  while (at > 0 && isUnderscore(part, at - 1)) at -= 1;
  return at === 0 ? outside : letterBefore(part, at);
}

/**
 * Where the words of one text begin and end. Underscores belong to a word between its letters (`cat_food`); at its edges
 * they are markup (`_cat_`). Each answer is O(1), after O(length) for a text with underscores.
 */
export class WordEdges {
  readonly #text: string;
  /** For each underscore: whether a letter or digit is right before its run, and right after it. */
  readonly #before: Uint8Array;
  readonly #after: Uint8Array;

  constructor(text: string) {
    this.#text = text;
    const room = text.includes('_') ? text.length : 0;
    this.#before = new Uint8Array(room);
    this.#after = new Uint8Array(room);
    for (let at = 0; at < room; at += 1) {
      if (!isUnderscore(text, at)) continue;
      const isLater = at > 0 && isUnderscore(text, at - 1);
      this.#before[at] = isLater ? (this.#before[at - 1] ?? 0) : Number(letterBefore(text, at));
    }
    for (let at = room - 1; at >= 0; at -= 1) {
      if (!isUnderscore(text, at)) continue;
      const goesOn = isUnderscore(text, at + 1);
      this.#after[at] = goesOn ? (this.#after[at + 1] ?? 0) : Number(letterAt(text, at + 1));
    }
  }

  /** Whether a word goes on before `index`. */
  before(index: number): boolean {
    if (index > 0 && isUnderscore(this.#text, index - 1)) return this.#before[index - 1] === 1;
    return letterBefore(this.#text, index);
  }

  /** Whether a word goes on at `index`. */
  after(index: number): boolean {
    return isUnderscore(this.#text, index) ? this.#after[index] === 1 : letterAt(this.#text, index);
  }
}
