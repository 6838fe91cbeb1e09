// Goal: a text triggers a rule when it contains a forbidden word outside of every phrase that the rule allows.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Pace } from '../../../engine/automod/pace.ts';
import { WordRules } from '../../../engine/automod/verdicts.ts';
import { PatternWork } from '../../../engine/automod/work.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { rule } from '../../suites/builders.ts';

const everywhere = (text: string, word: string): (readonly [number, number])[] =>
  Array.from({ length: text.length }, (_, at) => at)
    .filter((at) => text.startsWith(word, at))
    .map((at) => [at, at + word.length]);

describe('rules with words', () => {
  it('match the same texts as a plain search for each rule', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 });
    const lists = fc.record({
      words: fc.array(word, { maxLength: 4 }),
      allowed: fc.array(word, { maxLength: 4 }),
    });
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), maxLength: 30 });
    fc.assert(
      fc.property(fc.array(lists, { maxLength: 4 }), text, (all, content) => {
        const rules = all.map(({ words, allowed }, at) =>
          rule(String(at), {
            trigger_metadata: {
              keyword_filter: words.map((each) => `*${each}*`),
              allow_list: allowed.map((each) => `*${each}*`),
            },
          }),
        );
        const expected = all.flatMap(({ words, allowed }, at) => {
          const free = allowed.flatMap((each) => everywhere(content, each));
          const hits = words.flatMap((each) => everywhere(content, each));
          const isHit = hits.some(([start, end]) => !free.some(([from, to]) => from <= start && to >= end));
          return isHit ? [String(at)] : [];
        });
        const hits = new WordRules(rules).read(content, () => true);
        expect(hits.map((hit) => hit.rule.id)).toEqual(expected);
        for (const { keyword, matched } of hits) expect(keyword).toBe(`*${matched}*`);
      }),
      { numRuns: 1_000 },
    );
  });

  it('find a forbidden word after 600 allowed words', () => {
    const lists = (metadata: object) => new WordRules([rule('1', { trigger_metadata: metadata })]);
    const words = lists({ keyword_filter: ['*ass*', '*as*'], allow_list: ['*class*'] });
    const patterns = lists({ regex_patterns: ['as{1,2}'], allow_list: ['*class*'] });
    const allowed = 'class '.repeat(600);
    for (const rules of [words, patterns]) {
      expect(rules.read(allowed, () => true)).toEqual([]);
      expect(rules.read(`${allowed}ass`, () => true)).toHaveLength(1);
    }
  });

  it('treat a text as a match when its search exceeds the work bound', () => {
    // Each search reads the rest of the text, and first finds an allowed match.
    const metadata = { regex_patterns: ['(?:b.{0,90}.*c|a)'], allow_list: ['*a*'] };
    const rules = new WordRules([rule('1', { trigger_metadata: metadata })]);
    const work = { units: 0 };
    expect(rules.read('ba'.repeat(10), () => true, work)).toEqual([]);
    expect(work.units).toBeGreaterThan(0);
    const most = work.units + LIMITS.automod_regex_work_max + rules.patternSize(() => true) * 4_000;
    expect(rules.read('ba'.repeat(2_000), () => true, work)).toHaveLength(1);
    expect(work.units).toBeLessThan(most);
  });

  it.each([
    ['foo **bar** baz', 'foo **bar** baz'],
    ['a *foo* __bar__ ~~baz~~!', 'foo* __bar__ ~~baz'],
    ['_foo_ ||bar|| `baz`', 'foo_ ||bar|| `baz'],
    ['**FO**O ***b**a*r   ba__z__', 'FO**O ***b**a*r   ba__z'],
    ['foo [bar](https://example.org/a_b_c) baz', 'foo [bar](https://example.org/a_b_c) baz'],
    [
      '[foo **b**ar](<http://example.org> "title") b[a](HTTP://example.org)z',
      'foo **b**ar](<http://example.org> "title") b[a](HTTP://example.org)z',
    ],
    ['foo [bar](example.org) baz', null],
    ['foo bar **baz', null],
    ['foo **b** bar *baz*', null],
    ['foo_bar_baz', null],
  ])('match a phrase through markup in %j: %j', (text, matched) => {
    const rules = new WordRules([rule('1', { trigger_metadata: { keyword_filter: ['foo bar baz'] } })]);
    expect(rules.read(text, () => true).map((hit) => hit.matched)).toEqual(matched === null ? [] : [matched]);
  });

  it('allow a phrase with markup inside it, for keywords and patterns', () => {
    const allow_list = ['bad bunny'];
    for (const words of [{ keyword_filter: ['bad'] }, { regex_patterns: ['b[a]d'] }]) {
      const rules = new WordRules([rule('1', { trigger_metadata: { ...words, allow_list } })]);
      expect(rules.read('**bad** bunny and bad *bun*ny', () => true)).toEqual([]);
      expect(rules.read('**bad** bunny and bad *bun*', () => true)).toHaveLength(1);
    }
  });

  it('report the keyword as it is configured', () => {
    const metadata = { keyword_filter: ['CAT*', '*cat*', 'my  Dog'] };
    const rules = new WordRules([rule('1', { trigger_metadata: metadata })]);
    const hitOf = (text: string) => rules.read(text, () => true)[0];
    expect(hitOf('a Catch')).toMatchObject({ keyword: 'CAT*', matched: 'Cat' });
    expect(hitOf('the eduCATion')).toMatchObject({ keyword: '*cat*', matched: 'CAT' });
    expect(hitOf('my dog')).toMatchObject({ keyword: 'my  Dog', matched: 'my dog' });
  });

  describe('with keywords that overlap as much as possible', () => {
    const repeated = (letter: string, from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, n) => `*${letter.repeat(from + n)}*`);
    const six = (metadata: object) =>
      new WordRules(Array.from({ length: 6 }, (_, at) => rule(String(at), { trigger_metadata: metadata })));
    const alike = repeated('a', 1, 57);
    const stepsOf = (rules: WordRules, text: string, hits: number) => {
      const before = rules.steps;
      expect(rules.read(text, () => true)).toHaveLength(hits);
      return rules.steps - before;
    };
    const text = 'a'.repeat(2_000);
    // Two nodes for each character, and the lists of words and allowed words of six rules.
    const most = (length: number) => length * (2 + 6 * 2);

    it('stop at the first word when nothing is allowed', () => {
      expect(stepsOf(six({ keyword_filter: alike }), text, 6)).toBeLessThan(20);
    });

    it('take steps in proportion to the text when everything is allowed', () => {
      const allowed = { keyword_filter: repeated('a', 1, 56), allow_list: alike };
      expect(stepsOf(six(allowed), text, 0)).toBeLessThanOrEqual(most(text.length));
    });

    it('take steps in proportion to the text when one word is allowed by many', () => {
      const allowed = { keyword_filter: ['*a*'], allow_list: alike };
      expect(stepsOf(six(allowed), text, 0)).toBeLessThanOrEqual(most(text.length));
    });

    it('take steps in proportion to the text when no word ends at its boundary', () => {
      const words = { keyword_filter: alike.map((word) => word.slice(1)), allow_list: alike };
      expect(stepsOf(six(words), `x${text}`, 0)).toBeLessThanOrEqual(most(text.length + 1));
      const lines = { keyword_filter: repeated('_', 1, 56).map((word) => word.slice(1)), allow_list: alike };
      const underscores = '_'.repeat(2_000);
      expect(stepsOf(six(lines), `x${underscores}`, 0)).toBeLessThanOrEqual(most(underscores.length + 1));
    });
  });

  it('skip the rules that the filter excludes', () => {
    const rules = [rule('1'), rule('2')];
    const hits = new WordRules(rules).read('a cat', ({ id }) => id === '2');
    expect(hits.map((hit) => hit.rule.id)).toEqual(['2']);
  });
});

describe('the limits of messages and pattern work', () => {
  it('detect spam of a member until newer members evict that member', () => {
    const pace = new Pace();
    const sent = (userId: string, atMs: number, text: string) => ({
      ...{ userId: userId as UserId, atMs, text, mentions: 0 },
    });
    for (let n = 0; n < LIMITS.automod_spam_messages_max; n += 1) pace.note(sent('0', n, `${n}`));
    expect(pace.isSpam(sent('0', 50, 'more'))).toBe(true);
    for (let n = 1; n <= LIMITS.automod_paces_max; n += 1) pace.note(sent(String(n), 60, 'x'));
    expect(pace.isSpam(sent('0', 70, 'more'))).toBe(false);
  });

  it('reduce the wait for pattern work with time, and not when the clock is set back', () => {
    const work = new PatternWork();
    work.note(LIMITS.automod_regex_work_max + LIMITS.automod_regex_work_per_sec, 1_000);
    expect(work.waitMs(1_000)).toBe(1_000);
    expect(work.waitMs(1_400)).toBeCloseTo(600);
    expect(work.waitMs(2_000)).toBe(0);
    // A clock that is set back does not shorten the wait.
    expect(work.waitMs(500)).toBe(1_000);
  });
});
