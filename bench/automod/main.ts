import { type Rule, TRIGGER } from '../../engine/automod/rule.ts';
import { WordRules } from '../../engine/automod/verdicts.ts';
import { snowflakeOf } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { columnsOf } from '../table.ts';

/**
 * Measures what the words of a guild's rules cost each message: all the keywords a guild may have (six rules of 1,000),
 * against messages of 2,000 characters. Nothing matches, so that every text is read to its end.
 *
 * `npm run bench:automod`; it ends with 1 when a usual message or one made against the rules costs more than its bound.
 */
const BOUND_MS = 0.2;
const HOSTILE_BOUND_MS = 5;
const ROUNDS = 15;
const BATCH = 200;
const MIB = 1024 * 1024;

/** Numbers that look random and are the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function wordOf(next: (below: number) => number, letters: string, min: number, max: number): string {
  const length = min + next(max - min + 1);
  return Array.from({ length }, () => letters[next(letters.length)] ?? '').join('');
}

const LETTERS = 'etaoinshrdlucmfwypvbgkjqxz';

function ruleOf(
  at: number,
  keywords: readonly string[],
  patterns: readonly string[],
  allowed: readonly string[] = ['allowed*'],
): Rule {
  return {
    ...{
      id: snowflakeOf(BigInt(at)),
      name: 'bench',
      enabled: true,
      event_type: 1,
      trigger_type: TRIGGER.KEYWORD,
    },
    ...{ guild_id: snowflakeOf(1n), creator_id: snowflakeOf(2n) },
    trigger_metadata: { keyword_filter: keywords, regex_patterns: patterns, allow_list: allowed },
    ...{ actions: [], exempt_roles: [], exempt_channels: [] },
  };
}

/** The rules of a full guild; each keyword ends in a mark that no text has. */
function rulesOf(
  keyword: (next: (below: number) => number) => string,
  patterns: readonly string[] = [],
): Rule[] {
  const next = numbers(7);
  return Array.from({ length: LIMITS.automod_keyword_rules_max }, (_, at) => {
    const keywords = Array.from({ length: LIMITS.automod_keywords_max }, (__, n) => {
      const stars = [n % 2 ? '*' : '', n % 3 ? '' : '*'];
      return `${stars[0]}${keyword(next)}\u20ac${stars[1]}`;
    });
    return ruleOf(at, keywords, patterns);
  });
}

const short = (next: (below: number) => number): string => wordOf(next, LETTERS, 4, 12);
const long = (next: (below: number) => number): string => wordOf(next, LETTERS, 57, 57);
/** The worst case: every position of the text descends deep into the tree and returns. */
const alike = (next: (below: number) => number): string => `${'a'.repeat(50)}${wordOf(next, LETTERS, 7, 7)}`;

function textOf(word: (next: (below: number) => number) => string, length: number): string {
  const next = numbers(11);
  let text = word(next);
  while (text.length < length) text += ` ${word(next)}`;
  return text.slice(0, length);
}

/** The least CPU time of one reading over the rounds, in milliseconds. */
function millisOf(rules: WordRules, text: string, batch = BATCH): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    for (let left = batch; left > 0; left -= 1) rules.read(text, () => true);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1_000 / batch);
  }
  return least;
}

const max = LIMITS.content_chars_max;
const german = (next: (below: number) => number): string =>
  wordOf(next, 'enirstadhulcgmobwfkzvpüäößjyxq', 3, 14);
const TEXTS: Readonly<Record<string, string>> = {
  'a message of 60 characters': textOf(short, 60),
  'a message of 2,000 characters': textOf(short, max),
  'the same in letters beyond ASCII': textOf(german, max),
  'the same with an invisible character in each word': textOf(short, max)
    .replaceAll(' ', ' \u200b')
    .slice(0, max),
};

const begun = performance.now();
const words = new WordRules(rulesOf(short));
const builtMs = performance.now() - begun;
const full = new WordRules(rulesOf(long));
const deep = new WordRules(rulesOf(alike));
const figures = Object.entries(TEXTS).map(([name, text]) => [name, millisOf(words, text)] as const);
const typical = figures[1]?.[1] ?? Number.POSITIVE_INFINITY;
/** Six rules whose keywords all match at every place, and those where an allowed word covers every match. */
const repeated = Array.from({ length: 57 }, (_, n) => `*${'a'.repeat(n + 1)}*`);
const others = Array.from({ length: 900 }, (_, n) => `${wordOf(numbers(n), LETTERS, 4, 12)}\u20ac`);
const hostile = Object.entries({
  'keywords that match at every place': { words: repeated, allowed: [] },
  'the same beside an allowed word': { words: repeated, allowed: ['allowed*'] },
  'the same where all is allowed': { words: repeated.slice(0, -1), allowed: repeated },
}).map(([name, { words: keywords, allowed }]) => {
  const rules = Array.from({ length: LIMITS.automod_keyword_rules_max }, (_, at) =>
    ruleOf(at, [...keywords, ...others], [], allowed),
  );
  return [name, millisOf(new WordRules(rules), 'a'.repeat(max), 5)] as const;
});
const hostileMs = Math.max(...hostile.map(([, value]) => value));
const ms = (value: number): string => `${value.toFixed(4)} ms`;
const patterns = [
  '(?i)free\\s+nitro',
  'b[a4]d\\s?w(?:o|0)rd',
  '(?:[0-9]{1,3}\\.){3}[0-9]{1,3}',
  'https?://\\S+\\.zip',
];
const patterned = new WordRules([ruleOf(0, [], patterns)]);
/** The largest patterns that one guild may have, and a text in which each position starts a match. */
const heavy = new WordRules([
  ruleOf(
    0,
    [],
    Array.from({ length: 6 }, () => '[a-z]{490}[0-9]'),
  ),
]);

console.info(
  columnsOf(
    [
      ...figures.map(([name, value]) => [name, ms(value)] as const),
      ['60 characters a keyword, 2,000 of the message', ms(millisOf(full, textOf(short, max)))],
      ['keywords and a message that are as alike as can be', ms(millisOf(deep, 'a'.repeat(max)))],
      ...hostile.map(([name, value]) => [name, ms(value)] as const),
      [`${patterns.length} usual patterns, 2,000 characters`, ms(millisOf(patterned, textOf(short, max)))],
      ['the worst patterns a guild may have, 2,000 characters', ms(millisOf(heavy, 'a'.repeat(max), 1))],
      ['compiling the rules after a change', ms(builtMs)],
      ['memory of keywords of usual length', `${(words.bytes / MIB).toFixed(2)} MiB`],
      ['memory of keywords of 60 characters', `${(full.bytes / MIB).toFixed(2)} MiB`],
    ],
    `6,000 keywords cost a message of 2,000 characters ${ms(typical)}; the bound is ${BOUND_MS} ms.`,
  ),
);
if (typical > BOUND_MS || hostileMs > HOSTILE_BOUND_MS) process.exitCode = 1;
