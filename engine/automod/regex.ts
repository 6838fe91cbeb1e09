import { RE2JS } from 're2js';
import { LIMITS } from '../../protocol/limits.ts';

/** A compiled pattern. Matching takes time linear in the text, whatever the pattern. */
export interface Pattern {
  readonly source: string;
  /** Instructions of its program: the factor of the time for each character. */
  readonly size: number;
  /** The first match at or after `from`; null without one. */
  find(text: string, from: number): { readonly start: number; readonly end: number } | null;
  /** How far a search has read the text at most when it has found this match. */
  readUpTo(text: string, match: { readonly end: number }): number;
}

/** Repetitions without an end, or what looks like them within a class. */
const ENDLESS = /[*+]|\{\d+,\}/;

/** Syntax of the platform's dialect that this engine reads as something else. */
const FOREIGN = /\\b\{|\[(?:[^\]\\]|\\.)*(?:&&|--|~~)/;

/** Counted repetitions with bounds: `{3}`, `{3,}`, `{3,5}`. */
const COUNT = /^\{(\d{1,4})(?:(,)(\d{0,4}))?\}/;

/** The beginning of a group. */
const GROUP = /^\((?:\?P?<\w*>|\?[a-zA-Z-]*:)?/;

/** Patterns of a larger estimate are not even compiled: that alone would take long. */
const ESTIMATE_MAX = LIMITS.automod_regex_size_max * 4;

/**
 * About how many instructions a pattern has, before it is compiled: nested counts make a short pattern a large program.
 * O(length).
 */
function estimated(source: string): number {
  const open: number[] = [];
  let [sum, last] = [0, 0];
  for (let at = 0; at < source.length && sum <= ESTIMATE_MAX; at += 1) {
    const rest = source.slice(at, at + LIMITS.automod_regex_chars_max);
    const [count, least = '0', comma, most = ''] = COUNT.exec(rest) ?? [];
    const group = GROUP.exec(rest);
    if (count !== undefined) {
      const times = Math.max(1, Number(most || least) + (comma && !most ? 1 : 0));
      sum += last * (times - 1);
      last *= times;
      at += count.length - 1;
    } else if (group) {
      open.push(sum);
      at += group[0].length - 1;
    } else if (source[at] === ')') {
      sum += 1;
      last = sum - (open.pop() ?? 0);
    } else if ('*+?'.includes(source[at] ?? '')) {
      sum += 1;
      last += 1;
    } else {
      at = endOfAtom(source, at);
      sum += 1;
      last = 1;
    }
  }
  return sum;
}

/** The last index of a class, an escape or a character. */
function endOfAtom(source: string, at: number): number {
  if (source[at] === '\\') return at + 1;
  if (source[at] !== '[') return at;
  let end = at + 1;
  while (end < source.length && source[end] !== ']') end += source[end] === '\\' ? 2 : 1;
  return Math.min(end, source.length - 1);
}

/**
 * Compiles a pattern of a stranger, in the syntax that RE2 and the platform's engine have in common.
 *
 * @returns null when it is refused: for its syntax, or as too large.
 */
export function compilePattern(source: string): Pattern | null {
  if (FOREIGN.test(source) || estimated(source) > ESTIMATE_MAX) return null;
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch {
    return null;
  }
  const size = compiled.programSize();
  if (size > LIMITS.automod_regex_size_max) return null;
  const isEndless = ENDLESS.test(source);
  return {
    source,
    size,
    // Each instruction reads one character, so a match that began before this one's end is not longer than the program.
    readUpTo: (text, { end }) => (isEndless ? text.length : Math.min(text.length, end + size)),
    find(text, from) {
      const matcher = compiled.matcher(text);
      return from <= text.length && matcher.find(from)
        ? { start: matcher.start(), end: matcher.end() }
        : null;
    },
  };
}
