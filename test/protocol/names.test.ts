// Goal: a name holds nothing that its readers cannot see, and every script and emoji can still be written.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasHiddenCharacters, nameProblem, showsNothing, visibleName } from '../../protocol/names.ts';

describe('names', () => {
  test.each([
    ['a control character', 'a\u0007b'],
    ['NUL', 'a\u0000b'],
    ['a line break', 'anna\nadmin'],
    ['a tab', 'a\tb'],
    ['a C1 control', 'a\u0085b'],
    ['half of a surrogate pair', 'a\ud800'],
    ['a right-to-left override', 'nna\u202ea'],
    ['an isolate', 'a\u2066b\u2069'],
    ['a direction mark', 'anna\u200f'],
    ['a zero-width space', 'an\u200bna'],
    ['a word joiner', 'an\u2060na'],
    ['a byte order mark', '\ufeffanna'],
    ['a soft hyphen', 'an\u00adna'],
    ['a filler', '\u3164'],
    ['tags without a flag', 'anna\u{e0041}'],
    ['a selector after a letter', 'a\ufe0f'],
    ['a joiner between ASCII letters', 'an\u200dna'],
    ['a joiner at the end', '\u{1f469}\u200d'],
    ['a line separator', 'a\u2028b'],
  ])('are refused with %s', (_, name) => {
    expect(hasHiddenCharacters(name)).toBe(true);
  });

  test.each([
    'anna',
    'Ännä O’Neil-Smith',
    '日本語の名前',
    '葛\u{e0100}城',
    'می\u200cخواهم',
    'क्\u200dष',
    'עברית',
    '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
    '❤\ufe0f\u200d\u{1f525}',
    '\u{1f44d}\u{1f3fd}',
    '\u{1f3f3}\ufe0f\u200d\u{1f308}',
    '\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    '1\ufe0f\u20e3 first',
  ])('are taken in every script: %s', (name) => {
    expect(hasHiddenCharacters(name)).toBe(false);
  });

  test('are refused with a direction override or a control character wherever it stands', () => {
    const hidden = fc.constantFrom('\u0000', '\u001b', '\u202e', '\u2067', '\u200b', '\u007f');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), hidden, fc.string({ unit: 'grapheme' }), (a, c, b) =>
        hasHiddenCharacters(a + c + b),
      ),
    );
  });

  test('are taken when all of their characters are letters', () => {
    const letter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => {
      const text = code >= 0xd800 && code < 0xe000 ? 'a' : String.fromCodePoint(code);
      return /[\p{L}\p{N}]/u.test(text) && !/\p{Default_Ignorable_Code_Point}/u.test(text) ? text : 'a';
    });
    fc.assert(fc.property(fc.array(letter), (letters) => !hasHiddenCharacters(letters.join(''))));
  });

  /**
   * Each is drawn as nothing, or as space.
   *
   * @source https://www.unicode.org/reports/tr44/, "Default_Ignorable_Code_Point"; https://www.unicode.org/charts/
   */
  const BLANK = [
    ...[
      '\u2800',
      '\u3164',
      '\u115f',
      '\u1160',
      '\uffa0',
      '\u200b',
      '\u200d',
      '\ufe0f',
      '\u{e0100}',
      '\u180e',
    ],
    ...[
      '\u17b4',
      '\u034f',
      '\u00ad',
      '\u2063',
      '\ufeff',
      '\ufffc',
      '\u{16fe4}',
      '\u{1d159}',
      '\u{1d173}',
      '\u{13441}',
    ],
    ...[' ', '\u00a0', '\u2003', '\u202f', '\u205f', '\u3000', '\u1680'],
  ];

  test.each(BLANK)('are refused when %j is all they hold', (character) => {
    expect(nameProblem(character)).not.toBeNull();
    expect(nameProblem(character.repeat(2))).not.toBeNull();
  });

  test('are refused when nothing of them is seen, whatever they are made of', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...BLANK)), (characters) => {
        expect(showsNothing(characters.join(''))).toBe(true);
        expect(nameProblem(characters.join(''))).not.toBeNull();
      }),
    );
  });

  test('lose what is hidden when they are names of files, and stay unchanged when nothing is', () => {
    expect(visibleName('invoice\u202egnp.exe')).toBe('invoicegnp.exe');
    expect(visibleName('a\u200b\u2066b\r\nc')).toBe('ab c');
    expect(visibleName('❤\ufe0f\u200d\u{1f525}\u202e')).toBe('❤\ufe0f\u200d\u{1f525}');
    const part = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom(
        '\u202e',
        '\u200d',
        '\ufe0f',
        '❤',
        '\u034f',
        '\ud83d',
        '\ude00',
        'a',
        '\u{1f3f4}',
        '\u{e0067}',
        '\u{e007f}',
      ),
    );
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const name = parts.join('');
        const shown = visibleName(name);
        expect(hasHiddenCharacters(shown)).toBe(false);
        expect(visibleName(shown)).toBe(shown);
        if (!hasHiddenCharacters(name)) expect(shown).toBe(name);
      }),
      { numRuns: 2_000 },
    );
  });

  test('may have blanks beside what is seen', () => {
    for (const name of ['a b', 'a\u3000b', '\u2813\u2800\u2811', '日本\u00a0語'])
      expect(nameProblem(name)).toBeNull();
  });
});
