/** Normalises a text for comparison: case, compatibility forms and invisible characters make no difference. */
interface Folded {
  readonly text: string;
  /** The part of the original, in its units, that `span` of `text` comes from. */
  original(span: Span): Span;
}

/** Part of a text in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const ASCII = /^[\0-\x7f]*$/;
const WHITE = /\s/g;
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Pieces that are normalised by themselves: plain text, letters with their marks, syllables of Hangul. */
const PIECES = /[\0-\x7f]+(?!\p{M})|[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]+\p{M}*|\P{M}\p{M}*|\p{M}+/gu;

/** Lower case without regard to neighbours: the final sigma is a sigma. Any white space is a space. */
const lowered = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ').replace(WHITE, ' ');

const folded = (text: string): string => lowered(text.normalize('NFKC')).replace(IGNORABLE, '');

/** Whether folding changes single units only, so that both texts have the same indices. */
function isAligned(text: string): boolean {
  if (ASCII.test(text)) return true;
  IGNORABLE.lastIndex = 0;
  return (
    text.normalize('NFKC') === text && text.toLowerCase().length === text.length && !IGNORABLE.test(text)
  );
}

/** Folds a text. O(length). */
export function fold(text: string): Folded {
  if (isAligned(text)) {
    return { text: lowered(text), original: (span) => span };
  }
  let out = '';
  // Where the piece of each unit begins and ends in the original.
  const starts: number[] = [];
  const ends: number[] = [];
  // Letters repeat, and folding one costs more than remembering it.
  const known = new Map<string, string>();
  for (const { 0: piece, index } of text.matchAll(PIECES)) {
    const isPlain = ASCII.test(piece);
    const part = isPlain ? lowered(piece) : (known.get(piece) ?? folded(piece));
    if (!isPlain) known.set(piece, part);
    for (let unit = 0; unit < part.length; unit += 1) {
      starts.push(isPlain ? index + unit : index);
      ends.push(isPlain ? index + unit + 1 : index + piece.length);
    }
    out += part;
  }
  return {
    text: out,
    original: ({ start, end }) => ({ start: starts[start] ?? text.length, end: ends[end - 1] ?? 0 }),
  };
}

const WORD = /[\p{L}\p{N}\p{M}_]/u;

const isWord = (code: number): boolean =>
  code < 128
    ? (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95
    : WORD.test(String.fromCodePoint(code));

/** Whether a character of a word ends right before `index`. */
export function wordBefore(text: string, index: number): boolean {
  if (index === 0) return false;
  const unit = text.charCodeAt(index - 1);
  const isLow = unit >= 0xdc00 && unit <= 0xdfff && index > 1;
  return isWord(isLow ? (text.codePointAt(index - 2) ?? unit) : unit);
}

/** Whether a character of a word begins at `index`. */
export function wordAt(text: string, index: number): boolean {
  const code = text.codePointAt(index);
  return code !== undefined && isWord(code);
}
