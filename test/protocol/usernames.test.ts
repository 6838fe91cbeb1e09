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

  test('of any text have at most two keys, and the same each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const keys = usernameKeys(name);
        expect(keys.length).toBeLessThanOrEqual(2);
        expect(usernameKeys(name)).toEqual(keys);
      }),
    );
  });
});

describe('the table of confusables', () => {
  test('maps every character to what is its own skeleton, as the published data are closed', () => {
    const open = CONFUSABLES.filter(([shown]) => skeleton(shown) !== shown.normalize('NFD'));
    // One exception of the published data: NFD takes its letter apart, and the first part has a look of its own.
    expect(open.map(([, characters]) => characters)).toEqual(['\u048b']);
    expect(CONFUSABLES_VERSION).toMatch(/^\d+\.0\.0$/);
    // All of this version that NFKC and NFD leave: fewer would be a table cut short.
    expect(CONFUSABLES.reduce((sum, [, characters]) => sum + [...characters].length, 0)).toBe(2743);
  });
});
