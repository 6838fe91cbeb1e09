// Goal: keywords are found where a plain search finds them, whatever their number and however the text is written.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold } from '../../../engine/automod/fold.ts';
import { Matcher, readKeyword } from '../../../engine/automod/matcher.ts';
import { presetWords } from '../../../engine/automod/presets.ts';

const WORD = /[\p{L}\p{N}\p{M}_]/u;

/** The plain model: every keyword is looked for by itself, at every place. */
function plainly(keywords: readonly string[], text: string): string[] {
  const found: string[] = [];
  for (const [index, keyword] of keywords.entries()) {
    const { text: word, opensBefore, opensAfter } = readKeyword(keyword);
    if (word === '') continue;
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
      const before = [...text.slice(0, at)].at(-1) ?? ' ';
      const after = [...text.slice(at + word.length)][0] ?? ' ';
      if (!opensBefore && WORD.test(before)) continue;
      if (!opensAfter && WORD.test(after)) continue;
      found.push(`${index} at ${at}`);
    }
  }
  return found.sort();
}

function found(keywords: readonly string[], text: string): string[] {
  const all: string[] = [];
  new Matcher(keywords).scan(text, (index, start) => all.push(`${index} at ${start}`));
  return all.sort();
}

const matches = (keyword: string, text: string): string[] => {
  const folded = fold(text);
  const all: string[] = [];
  new Matcher([keyword]).scan(folded.text, (_, start, end) => {
    const span = folded.original({ start, end });
    all.push(text.slice(span.start, span.end));
  });
  return all;
};

describe('keywords', () => {
  // The examples of the published page on matching strategies, and what they leave open.
  it.each([
    ['cat*', 'catch', ['cat']],
    ['cat*', 'Catapult and CAttLE', ['Cat', 'CAt']],
    ['cat*', 'wildcat', []],
    ['tra*', 'train trade TRAditional', ['tra', 'tra', 'TRA']],
    ['the mat*', 'the matrix', ['the mat']],
    ['*cat', 'wildcat copyCat', ['cat', 'Cat']],
    ['*cat', 'catch', []],
    ['*the mat', 'breathe mat', ['the mat']],
    ['*cat*', 'location edu-CATion', ['cat', 'CAT']],
    ['*the mat*', 'breathe matter', ['the mat']],
    ['cat', 'Cat', ['Cat']],
    ['cat', 'a cat, two cats', ['cat']],
    ['cat', '(cat) "cat" cat! #cat', ['cat', 'cat', 'cat', 'cat']],
    ['cat', 'cat_food 1cat cat2', []],
    ['the mat', 'on the\nmat', ['the\nmat']],
    ['c++', 'C++ or c+++', ['C++', 'c++']],
    ['@here', 'hey @here', ['@here']],
    ['a*b', 'a*b aXb', ['a*b']],
    ['straße', 'STRASSE straße', ['straße']],
    ['ΟΔΟΣ', 'οδος ΟΔΟΣ', ['οδος', 'ΟΔΟΣ']],
    ['café', 'CAFÉ cafe\u0301 cafe', ['CAFÉ', 'cafe\u0301']],
    ['word', 'ｗｏｒｄ 𝐰𝐨𝐫𝐝 w\u200bo\u00adr\u2060d', ['ｗｏｒｄ', '𝐰𝐨𝐫𝐝', 'w\u200bo\u00adr\u2060d']],
    ['*각*', '\u1100\u1161\u11a8', ['\u1100\u1161\u11a8']],
    ['💩', 'a 💩 b', ['💩']],
    ['x', '𠮷x', []],
    ['*', 'anything', []],
    ['**', 'anything', []],
  ])('%j in %j is %j', (keyword, text, expected) => {
    expect(matches(keyword, text)).toEqual(expected);
  });

  it('are found as by a plain search for each', () => {
    const letters = fc.constantFrom('a', 'b', 'c', ' ', '_', 'é', '猫', '😀', '-');
    const text = fc.string({ unit: letters, maxLength: 40 });
    const star = fc.constantFrom('', '*');
    const word = fc.string({ unit: letters, minLength: 1, maxLength: 5 });
    const keyword = fc.tuple(star, word, star).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.array(keyword, { maxLength: 30 }), text, (keywords, content) => {
        const folded = fold(content).text;
        expect(found(keywords, folded)).toEqual(plainly(keywords, folded));
      }),
      { numRuns: 2_000 },
    );
  });

  it('take memory in proportion to their characters', () => {
    const keywords = Array.from({ length: 1_000 }, (_, n) => `${n}`.padStart(60, 'x'));
    expect(new Matcher(keywords).bytes).toBeLessThan(60_000 * 23);
  });
});

describe('folding', () => {
  it('keeps every part traceable to the original', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const folded = fold(text);
        const whole = folded.original({ start: 0, end: folded.text.length });
        expect(whole.start).toBeGreaterThanOrEqual(0);
        expect(whole.end).toBeLessThanOrEqual(text.length);
        expect(fold(folded.text).text.length).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('makes equal what differs in case, form and invisible characters only', () => {
    expect(fold('Ａ\u200bB\tc').text).toBe('ab c');
    expect(fold('ΣΑΣ').text).toBe('σασ');
  });
});

describe('the lists of our own', () => {
  it.each([1, 2, 3] as const)('%i has distinct keywords, none of which matches everything', (preset) => {
    const words = presetWords(preset);
    expect(new Set(words).size).toBe(words.length);
    for (const word of words) expect(readKeyword(word).text.length).toBeGreaterThan(2);
  });
});
