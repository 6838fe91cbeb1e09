import { LIMITS } from '../../protocol/limits.ts';
import { fold, type Span } from './fold.ts';
import { Matcher } from './matcher.ts';
import { presetWords } from './presets.ts';
import { compilePattern, type Pattern } from './regex.ts';
import type { Rule } from './rule.ts';

/** What patterns have worked on one text, in instructions times characters. */
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

/** A keyword of the matcher: its rule, and whether it allows or forbids. */
interface Entry {
  readonly at: number;
  readonly keyword: string;
  readonly allows: boolean;
}

/** Allowed parts of one text. A match inside an allowed part triggers nothing. */
class Allowed {
  readonly #spans: Span[] = [];
  #reach: Int32Array | null = null;

  add(span: Span): void {
    this.#spans.push(span);
  }

  covers({ start, end }: Span, length: number): boolean {
    if (this.#spans.length === 0) return false;
    this.#reach ??= reachOf(this.#spans, length);
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
  readonly keyword: string;
}

/** What a rule found in one text. */
interface Finds {
  readonly allowed: Allowed;
  readonly spans: Worded[];
}

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
  readonly #entries: readonly Entry[];
  readonly #matcher: Matcher;
  /** Of each rule, in order. */
  readonly #patterns: readonly (readonly Pattern[])[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    this.#entries = rules.flatMap((rule, at) => [
      ...wordsOf(rule).map((keyword) => ({ at, keyword, allows: false })),
      ...(rule.trigger_metadata.allow_list ?? []).map((keyword) => ({ at, keyword, allows: true })),
    ]);
    this.#matcher = new Matcher(this.#entries.map(({ keyword }) => keyword));
    this.#patterns = rules.map(({ trigger_metadata: { regex_patterns: sources = [] } }) =>
      sources.flatMap((source) => compilePattern(source) ?? []),
    );
  }

  /** Memory of the matcher in bytes. */
  get bytes(): number {
    return this.#matcher.bytes;
  }

  /** Instructions of all patterns together. */
  get patternSize(): number {
    return this.#patterns.flat().reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * The rules that a text triggers, in order; `asked` leaves out those that do not apply to its author or place.
   *
   * @param work Takes up what patterns work beyond their first search of the text.
   */
  read(text: string, asked: (rule: Rule) => boolean, work: Work = { units: 0 }): Hit[] {
    const applies = this.#rules.map(asked);
    if (!applies.includes(true)) return [];
    const folded = fold(text);
    const finds = this.#rules.map((): Finds => ({ allowed: new Allowed(), spans: [] }));
    this.#matcher.scan(folded.text, (index, start, end) => {
      const entry = this.#entries[index];
      const found = entry && applies[entry.at] ? finds[entry.at] : undefined;
      if (!found || !entry) return;
      if (entry.allows) found.allowed.add(folded.original({ start, end }));
      else noteSpan(found.spans, { ...folded.original({ start, end }), keyword: entry.keyword });
    });
    const mostUnits = work.units + LIMITS.automod_regex_work_max;
    return this.#rules.flatMap((rule, at): Hit[] => {
      const found = finds[at];
      if (!found || !applies[at]) return [];
      const isFree = (span: Span): boolean => !found.allowed.covers(span, text.length);
      const first = found.spans.find(isFree) ?? this.#matchOf(at, text, isFree, { work, mostUnits });
      if (!first) return [];
      return [{ rule, keyword: first.keyword, matched: text.slice(first.start, first.end) }];
    });
  }

  /** The first match of a rule's patterns, which see the text as it is. */
  #matchOf(
    at: number,
    text: string,
    isFree: (span: Span) => boolean,
    { work, mostUnits }: { readonly work: Work; readonly mostUnits: number },
  ): Worded | null {
    for (const pattern of this.#patterns[at] ?? []) {
      for (let match = pattern.find(text, 0); match; ) {
        // A pattern that also matches nothing is in every text.
        if (match.end > match.start && isFree(match)) return { ...match, keyword: pattern.source };
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

/**
 * Keeps the longest of the parts that end at one place, since whatever allows it allows the others: so a text has at most as
 * many as characters. The matcher finds parts by where they end.
 */
function noteSpan(spans: Worded[], span: Worded): void {
  const last = spans.at(-1);
  if (last?.end !== span.end) spans.push(span);
  else if (span.start < last.start) spans[spans.length - 1] = span;
}
