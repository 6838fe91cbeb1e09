import { LIMITS } from '../../protocol/limits.ts';
import { type Folded, fold, foldUnmarked, type Span } from './fold.ts';
import { Matcher } from './matcher.ts';
import { presetWords } from './presets.ts';
import { compilePattern, type Pattern } from './regex.ts';
import type { Rule } from './rule.ts';

/** Work of the patterns on one text, in instructions times characters. */
interface Work {
  units: number;
}

/** A rule that a text has triggered. */
export interface Hit {
  readonly rule: Rule;
  /** The keyword or pattern as it is configured; null for triggers without words. */
  readonly keyword: string | null;
  /** The part of the text that matched. */
  readonly matched: string | null;
}

/** Allowed parts of one text. A match inside an allowed part triggers nothing. */
class Allowed {
  readonly #spans: readonly Span[];
  readonly #length: number;
  #reach: Int32Array | null = null;

  constructor(spans: readonly Span[], { length }: string) {
    this.#spans = spans;
    this.#length = length;
  }

  covers({ start, end }: Span): boolean {
    if (this.#spans.length === 0) return false;
    this.#reach ??= reachOf(this.#spans, this.#length);
    return (this.#reach[start] ?? 0) >= end;
  }
}

/** For each UTF-16 unit, the furthest end of an allowed part that begins at or before it. */
function reachOf(spans: readonly Span[], length: number): Int32Array {
  const reach = new Int32Array(length + 1);
  for (const { start, end } of spans) reach[start] = Math.max(reach[start] ?? 0, end);
  for (let at = 1; at <= length; at += 1) reach[at] = Math.max(reach[at] ?? 0, reach[at - 1] ?? 0);
  return reach;
}

/** A part of a text, and the keyword or pattern it matches. */
interface Worded extends Span {
  readonly keyword: string | null;
}

/** Matches of a rule in one folded text: at most one part of each kind for each place where parts end. */
interface Finds {
  readonly allowed: Span[];
  readonly forbidden: Span[];
}

/** A text in one form that readers see it in, and what each rule found there. */
interface Reading {
  readonly folded: Folded;
  readonly finds: readonly Finds[];
}

/** Two lists of the matcher for each rule. */
const listOfWords = (at: number): number => at * 2;
const listOfAllowed = (at: number): number => at * 2 + 1;

const wordsOf = ({ trigger_metadata: metadata }: Rule): readonly string[] => [
  ...(metadata.keyword_filter ?? []),
  ...(metadata.presets ?? []).flatMap(presetWords),
];

/**
 * Rules with words, compiled for reading texts: all keywords of all rules in one matcher, and each rule's patterns.
 * Derived from the rules: not stored, and rebuilt when a rule changes.
 */
export class WordRules {
  readonly #rules: readonly Rule[];
  readonly #matcher: Matcher;
  /** The patterns of each rule, in order. */
  readonly #patterns: readonly (readonly Pattern[])[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.#matcher = new Matcher(
      rules.flatMap((rule) => [wordsOf(rule), rule.trigger_metadata.allow_list ?? []]),
    );
    this.#patterns = rules.map(({ trigger_metadata: { regex_patterns: sources = [] } }) =>
      sources.flatMap((source) => compilePattern(source) ?? []),
    );
  }

  /** Memory of the matcher in bytes. */
  get bytes(): number {
    return this.#matcher.bytes;
  }

  /** The work of the matcher so far, in nodes and lists looked at. */
  get steps(): number {
    return this.#matcher.steps;
  }

  /** Instructions of all patterns of those rules that `asked` keeps. */
  patternSize(asked: (rule: Rule) => boolean): number {
    const patterns = this.#rules.flatMap((rule, at) => (asked(rule) ? (this.#patterns[at] ?? []) : []));
    return patterns.reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * The rules that a text triggers, in order; `asked` leaves out those that do not apply to its author or place. Keywords are
   * looked for in the text as it is written and as a client shows it, without markup.
   *
   * @param work Takes up what patterns work beyond their first search of the text.
   */
  read(text: string, asked: (rule: Rule) => boolean, work: Work = { units: 0 }): Hit[] {
    const applies = this.#rules.map(asked);
    if (!applies.includes(true)) return [];
    const forms = [fold(text), foldUnmarked(text)].filter((folded) => folded !== null);
    const readings = forms.map((folded) => ({ folded, finds: this.#findsIn(folded.text, applies) }));
    const mostUnits = work.units + LIMITS.automod_regex_work_max;
    return this.#rules.flatMap((rule, at): Hit[] => {
      if (!applies[at]) return [];
      const allows = readings.flatMap(({ folded, finds }) => (finds[at]?.allowed ?? []).map(folded.original));
      const allowed = new Allowed(allows, text);
      const first =
        this.#wordOf(at, readings, allowed) ?? this.#matchOf(at, text, allowed, { work, mostUnits });
      if (!first) return [];
      return [{ rule, keyword: first.keyword, matched: text.slice(first.start, first.end) }];
    });
  }

  /** The first forbidden word of a rule that is in no allowed part. */
  #wordOf(at: number, readings: readonly Reading[], allowed: Allowed): Worded | null {
    for (const { folded, finds } of readings) {
      const word = finds[at]?.forbidden.find((span) => !allowed.covers(folded.original(span)));
      if (word) return { ...folded.original(word), keyword: this.#keywordAt(at, folded.text, word) };
    }
    return null;
  }

  /**
   * Finds, for each rule, the longest forbidden and allowed part that end at one place: what allows the longest forbidden part
   * allows the shorter ones, and the longest allowed part covers what the shorter ones do. The first forbidden word decides
   * a rule that allows nothing.
   */
  #findsIn(text: string, applies: readonly boolean[]): readonly Finds[] {
    const finds = this.#rules.map((): Finds => ({ allowed: [], forbidden: [] }));
    let undecided = applies.filter(Boolean).length;
    this.#matcher.scan(text, (list, start, end) => {
      const at = list >> 1;
      const found = finds[at];
      if (!found || !applies[at]) return false;
      const allows = list === listOfAllowed(at);
      const decides = !allows && !this.#rules[at]?.trigger_metadata.allow_list?.length;
      if (decides && found.forbidden.length > 0) return false;
      (allows ? found.allowed : found.forbidden).push({ start, end });
      if (decides) undecided -= 1;
      return undecided === 0;
    });
    return finds;
  }

  #keywordAt(at: number, text: string, { start, end }: Span): string | null {
    return this.#matcher.keywordAt(listOfWords(at), text, start, end);
  }

  /** The first match of a rule's patterns, which see the text as it is. */
  #matchOf(
    at: number,
    text: string,
    allowed: Allowed,
    { work, mostUnits }: { readonly work: Work; readonly mostUnits: number },
  ): Worded | null {
    for (const pattern of this.#patterns[at] ?? []) {
      for (let match = pattern.find(text, 0); match; ) {
        // A pattern that also matches nothing is in every text.
        if (match.end > match.start && !allowed.covers(match)) return { ...match, keyword: pattern.source };
        if (work.units > mostUnits) return { ...match, keyword: pattern.source };
        const from = Math.max(match.end, match.start + 1);
        match = pattern.find(text, from);
        const readTo = match ? pattern.readUpTo(text, match) : text.length;
        work.units += pattern.size * (readTo - from);
      }
    }
    return null;
  }
}
