// Goal: keywords are found exactly where a plain search finds them, for any number of keywords and any spelling of the text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold } from '../../../engine/automod/fold.ts';
import { Matcher, readKeyword } from '../../../engine/automod/matcher.ts';
import { presetWords } from '../../../engine/automod/presets.ts';

const WORD = /[\p{L}\p{N}\p{M}]/u;

/** Whether the text continues with a word after any underscores. */
const goesOn = (rest: readonly string[]): boolean => WORD.test(rest.find((unit) => unit !== '_') ?? ' ');

/** The reference model: searches for each keyword separately at every position; the longest match for each end counts. */
function plainly(lists: readonly (readonly string[])[], text: string): string[] {
  const longest = new Map<string, number>();
  for (const [list, keywords] of lists.entries()) {
    for (const keyword of keywords) {
      const { text: word, opensBefore, opensAfter } = readKeyword(keyword);
      if (word === '') continue;
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
        if (!opensBefore && goesOn([...text.slice(0, at)].reverse())) continue;
        if (!opensAfter && goesOn([...text.slice(at + word.length)])) continue;
        const key = `${list} to ${at + word.length}`;
        longest.set(key, Math.min(longest.get(key) ?? at, at));
      }
    }
  }
  return [...longest].map(([key, start]) => `${key} from ${start}`).sort();
}

function found(lists: readonly (readonly string[])[], text: string): string[] {
  const all: string[] = [];
  new Matcher(lists).scan(text, (list, start, end) => {
    all.push(`${list} to ${end} from ${start}`);
    return false;
  });
  return all.sort();
}

const matches = (keyword: string, text: string): string[] => {
  const folded = fold(text);
  const all: string[] = [];
  const matcher = new Matcher([[keyword]]);
  matcher.scan(folded.text, (_, start, end) => {
    expect(matcher.keywordAt(0, folded.text, start, end)).toBe(keyword);
    const span = folded.original({ start, end });
    all.push(text.slice(span.start, span.end));
    return false;
  });
  return all;
};

describe('keywords', () => {
  // The examples of the published page on matching strategies, and cases that the page leaves open.
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
    ['cat', 'cat_food my_cat a__cat__b 1cat cat2', []],
    ['cat', '_cat_ __cat__ ___cat___ _cat cat__, __my cat__', ['cat', 'cat', 'cat', 'cat', 'cat', 'cat']],
    ['cat*', '_catch_ s_catch', ['cat']],
    ['_cat', '_cat a_cat __cat', ['_cat', '_cat']],
    ['*a_b*', 'xa_by', ['a_b']],
    ['the mat', 'on the  mat, the \u200b\n\t mat', ['the  mat', 'the \u200b\n\t mat']],
    ['the  mat', 'on the mat', ['the mat']],
    ['café', 'cafe\u200b\u0301', ['cafe\u200b\u0301']],
    ['\ud83d', '\ud83d 💩', ['\ud83d']],
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
  ])('match as %j in %j: %j', (keyword, text, expected) => {
    expect(matches(keyword, text)).toEqual(expected);
  });

  it('match exactly where a plain search for each keyword matches', () => {
    const letters = fc.constantFrom('a', 'b', 'ab', ' ', '_', '__', 'é', '猫', '😀', '-');
    const text = fc.string({ unit: letters, maxLength: 40 });
    const star = fc.constantFrom('', '*');
    const word = fc.string({ unit: letters, minLength: 1, maxLength: 5 });
    const keyword = fc.tuple(star, word, star).map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        fc.array(fc.array(keyword, { maxLength: 20 }), { maxLength: 3 }),
        text,
        (lists, content) => {
          const folded = fold(content).text;
          expect(found(lists, folded)).toEqual(plainly(lists, folded));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('take less than 23 bytes of memory per character', () => {
    const keywords = Array.from({ length: 1_000 }, (_, n) => `${n}`.padStart(60, 'x'));
    expect(new Matcher([keywords]).bytes).toBeLessThan(60_000 * 23);
  });
});

describe('folding', () => {
  it('maps the folded text to a span within the original', () => {
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

  it('ignores case, width and invisible characters', () => {
    expect(fold('Ａ\u200bB\tc').text).toBe('ab c');
    expect(fold('ΣΑΣ').text).toBe('σασ');
  });

  it.each([
    ...[
      '\ufeff',
      '\u0000',
      '\u0001',
      '\u0008',
      '\u001b',
      '\u007f',
      '\u0080',
      '\u009f',
      '\ufff9',
      '\ufffa',
      '\ufffb',
    ],
    ...[
      '\u00ad',
      '\u034f',
      '\u115f',
      '\u180e',
      '\u200b',
      '\u202e',
      '\u2060',
      '\u3164',
      '\ufe0f',
      '\u{e0041}',
    ],
  ])('ignores the invisible character %j', (character) => {
    expect(fold(`ba${character}d`).text).toBe('bad');
    expect(fold(`ba${character}d é`).text).toBe('bad é');
  });

  it.each(['\t', '\n', '\v', '\f', '\r', '\u0085', '\u00a0', '\u2028', '\u3000', ' \u200b ', '  \n'])(
    'replaces %j with one space',
    (white) => expect(fold(`a${white}b`).text).toBe('a b'),
  );

  it('maps each folded word to its original position, for any gaps between words', () => {
    const gap = fc
      .array(fc.constantFrom(' ', '\n', '\u200b', '\u0001', '\ufeff'), { maxLength: 4 })
      .map((units) => ` ${units.join('')}`);
    const word = fc.constantFrom('cat', 'DOG', 'é', 'ﷺ', '😀');
    fc.assert(
      fc.property(fc.array(fc.tuple(word, gap), { minLength: 1, maxLength: 8 }), (parts) => {
        const text = parts.flat().join('');
        const folded = fold(text);
        const wanted = parts.map(([each]) => fold(each).text).join(' ');
        expect(folded.text.trimEnd()).toBe(wanted);
        let start = 0;
        for (const [each] of parts) {
          const end = start + fold(each).text.length;
          const span = folded.original({ start, end });
          expect(text.slice(span.start, span.end).replace(/[^\p{L}\p{S}]/gu, '')).toBe(each);
          start = end + 1;
        }
      }),
    );
  });
});

describe('the preset word lists', () => {
  it.each([1, 2, 3] as const)('have distinct keywords of more than two characters (preset %i)', (preset) => {
    const words = presetWords(preset);
    expect(new Set(words).size).toBe(words.length);
    for (const word of words) expect(readKeyword(word).text.length).toBeGreaterThan(2);
  });
});
