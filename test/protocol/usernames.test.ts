// Goal: names that people take for one another have a key in common, and other names have none.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CONFUSABLES, CONFUSABLES_VERSION } from '../../protocol/confusables.generated.ts';
import { skeleton, usernameKeys } from '../../protocol/usernames.ts';

const share = (one: string, other: string): boolean =>
  usernameKeys(one).some((key) => usernameKeys(other).includes(key));

describe('usernames', () => {
  test.each([
    ['anna', 'anna'],
    ['Anna', 'aNNA'],
    ['anna', 'аnnа'],
    ['paypal', 'раураl'],
    ['anna', 'ａｎｎａ'],
    ['anna', '𝓪𝓷𝓷𝓪'],
    ['bob', 'b0b'],
    ['alex', 'a1ex'],
    ['alex', 'AIex'],
    ['modern', 'modem'],
    ['straße', 'STRASSE'],
    ['anna', 'an\u200bna'],
    ['scope', 'ѕсоре'],
    ['jose\u0301', 'josé'],
    ['anna b', ' anna \u00a0 b'],
    // Capitals of other scripts beside a Latin `I`, which itself looks like `l`.
    ['juniper', 'JUNIP\u0395R'],
    ['juniper', 'JUN\u0399P\u0395R'],
    ['juniper', 'JUN\ua4f2PER'],
    ['juniper', 'JUN1PER'],
    ['juniper', 'JUNlPER'],
    ['alice', 'ALIC\u0395'],
    ['alice', '\u13aaLICE'],
    ['alice', 'aI\ua4f2CE'],
    ['oliver', 'O\ua4f2IVER'],
    ['marvin', 'MARVI\u039d'],
    ['nick', '\u039dICK'],
    ['mike', '\u039cIKE'],
    ['tim', 'TI\u039c'],
    ['ian', 'IA\u039d'],
    ['admin', 'AD\u039cIN'],
    // NFKC makes another letter of these: the lunate sigma becomes one that looks like `o`.
    ['alice', 'ali\u03f2e'],
    ['ALICE', 'ALI\u03f9E'],
    // A dot above a letter that has one already is not seen.
    ['juniper', 'juni\u0307per'],
    ['juniper', 'jun\u0131\u0307per'],
    ['juniper', 'j\u0307uniper'],
    ['ian', '\u0130an'],
    ['\u1ecbn', 'i\u0323\u0307n'],
    // Case folding and look-alikes in scripts other than Latin.
    ['иван', 'ИВAН'],
    ['νίκος', 'ΝΊΚΟΣ'],
    ['ǆep', 'dže\u0440'],
  ])('%s and %s are one', (one, other) => {
    expect(share(one, other)).toBe(true);
  });

  test.each([
    ['anna', 'hanna'],
    ['hail', 'hall'],
    ['ivan', 'lvan'],
    ['player_2', 'player_3'],
    ['jose', 'josé'],
    ['東京', '京都'],
    ['alioe', 'alice'],
    ['alioe', 'ali\u03f2e'],
    ['2011', '20ii'],
    ['ivan1', 'ivani'],
  ])('%s and %s are two', (one, other) => {
    expect(share(one, other)).toBe(false);
  });

  test('are the same whatever their case and normalisation form', () => {
    const form = fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), form, (name, to) => {
        const keys = usernameKeys(name);
        if (keys.length === 0) return;
        expect(share(name, name.normalize(to))).toBe(true);
        expect(share(name, name.toUpperCase())).toBe(true);
      }),
    );
  });

  test('have at most seven keys, and the same each time, whatever their text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const keys = usernameKeys(name);
        expect(keys.length).toBeLessThanOrEqual(7);
        expect(usernameKeys(name)).toEqual(keys);
      }),
    );
  });

  test('have exactly one key when they may be signed up with', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9_.]{2,32}$/), (name) => {
        expect(usernameKeys(name)).toHaveLength(1);
      }),
    );
  });

  /** Names around one character that is exchanged; they hold every letter whose look depends on its case. */
  const AROUND: readonly (readonly [before: string, after: string])[] = [
    ['', ''],
    ['', 'nick'],
    ['jim', ''],
    ['mil', 'nice'],
    ['a0', 'i_7'],
  ];
  const LOOKS = CONFUSABLES.filter(([shown]) => /^[!-~]+$/.test(shown));

  test('share a key with every name that has one published look-alike instead of a letter, in each case', () => {
    const missed: string[] = [];
    let compared = 0;
    for (const [shown, characters] of LOOKS)
      for (const character of characters)
        for (const [before, after] of AROUND) {
          // A letter that looks like `l` also reads as `I`, wherever the letters around it are capitals.
          const plain = [shown, ...(shown === 'l' ? ['I'] : [])];
          const lookAlikes = [
            before + character + after,
            before.toUpperCase() + character + after.toUpperCase(),
            (before + character + after).toUpperCase(),
          ];
          for (const [at, lookAlike] of lookAlikes.entries()) {
            // Among capitals an `I` is the letter `i`, and a long s in upper case is the letter `s`.
            if (at > 0 && /[Iſ]/.test(character)) continue;
            for (const letter of at === 1 && /[a-z]/.test(before + after) ? plain : [shown])
              for (const name of [before + letter + after, (before + letter + after).toLowerCase()]) {
                compared++;
                if (!share(name, lookAlike)) missed.push(`${name} ${lookAlike}`);
              }
          }
        }
    expect(missed).toEqual([]);
    expect(compared).toBeGreaterThan(20_000);
  });

  test('share a key in lower-case ASCII if their published skeletons are equal, and only then', () => {
    const look = (name: string) => skeleton(name).toLowerCase();
    const letters = fc.stringMatching(/^[a-z0-9_.]{2,8}$/);
    const near = letters.chain((name) =>
      fc.tuple(
        fc.constant(name),
        fc
          .tuple(fc.nat(name.length - 1), fc.constantFrom('l', '1', 'i', 'o', '0', 'c', 'e', 'rn', 'm', 'a'))
          .map(([at, letter]) => name.slice(0, at) + letter + name.slice(at + 1)),
      ),
    );
    fc.assert(
      fc.property(fc.oneof(near, fc.tuple(letters, letters)), ([one, other]) => {
        expect(share(one, other)).toBe(look(one) === look(other));
      }),
      { numRuns: 2_000 },
    );
  });

  test('share no key in ASCII of either case unless I, l and 1, 0 and O, or rn and m make the difference', () => {
    const loose = (name: string) =>
      name.toLowerCase().replace(/[i1|]/g, 'l').replace(/0/g, 'o').replace(/m/g, 'rn');
    const name = fc.stringMatching(/^[a-cil-oAEILMO01_]{2,6}$/);
    fc.assert(
      fc.property(name, name, (one, other) => {
        if (share(one, other)) expect(loose(one)).toBe(loose(other));
        expect(share(one, one.toLowerCase())).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the table of confusables', () => {
  test('maps every character to what is its own skeleton, as the published data are closed', () => {
    const open = CONFUSABLES.filter(([shown]) => skeleton(shown) !== shown.normalize('NFD'));
    // Exceptions of the published data: NFD takes these looks apart, and one of the parts has a look of its own.
    const exceptions = 'Ǆ ǅ ǆ ҋ ㈝ \ufba4\ufba5 \ufbb0\ufbb1 \ufe81\ufe82 \ufef5\ufef6';
    expect(open.map(([, characters]) => characters)).toEqual(exceptions.split(' '));
    expect(CONFUSABLES_VERSION).toMatch(/^\d+\.0\.0$/);
    // All of this version that NFD leaves: fewer would be a table cut short.
    expect(CONFUSABLES.reduce((sum, [, characters]) => sum + [...characters].length, 0)).toBe(5499);
  });
});
