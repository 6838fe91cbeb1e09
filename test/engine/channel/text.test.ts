/** Goal: no text enters that the database or JSON would spoil, lengths are code points, and emojis have one spelling. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emojiKey } from '../../../engine/channel/emoji.ts';
import { cleanJson, cleanText, isBlank, textLength } from '../../../engine/channel/text.ts';
import { isoTimestamp } from '../../../protocol/timestamps.ts';

describe('text', () => {
  it('mends lone surrogates, drops NUL, and leaves pairs alone', () => {
    expect(cleanText('a\ud800b\udc00\u0000c😀')).toBe('a\ufffdb\ufffdc😀');
  });

  it('is well formed after cleaning, whatever came in, and cleaning again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const clean = cleanText(text);
        expect(clean).not.toMatch(/\p{Surrogate}|\0/u);
        expect(cleanText(clean)).toBe(clean);
      }),
    );
  });

  it('cleans keys and values of JSON without touching prototypes', () => {
    const raw = JSON.parse('{"a\\u0000":["\\ud800",1,null],"__proto__":{"x":true}}');
    const clean = cleanJson(raw) as object;
    expect(JSON.stringify(clean)).toBe('{"a":["\ufffd",1,null],"__proto__":{"x":true}}');
    expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
  });

  it('counts code points', () => {
    expect(textLength('😀'.repeat(2000))).toBe(2000);
    expect(textLength('😀'.repeat(10), 20)).toBe(20);
  });

  it.each(['', ' \n\t', '\u200b\u200b', '\u3164', '\u2060\ufeff', '\u00ad'])('sees nothing in %j', (text) => {
    expect(isBlank(text)).toBe(true);
  });

  it.each(['a', '\u200ba', '.', '😀'])('sees something in %j', (text) => {
    expect(isBlank(text)).toBe(false);
  });

  it('writes time with microseconds and an offset', () => {
    expect(isoTimestamp(Date.UTC(2021, 2, 31, 18, 45, 31, 297))).toBe('2021-03-31T18:45:31.297000+00:00');
  });
});

describe('emojiKey', () => {
  it.each([
    ['👍', '👍'],
    ['❤️', '❤️'],
    ['❤', '❤️'],
    ['👍\ufe0f', '👍'],
    ['🏳‍🌈', '🏳️‍🌈'],
    ['👨‍👩‍👧', '👨‍👩‍👧'],
    ['🇩🇪', '🇩🇪'],
    ['1⃣', '1️⃣'],
    ['👋🏽', '👋🏽'],
  ])('spells %s as %s', (text, key) => {
    expect(emojiKey(text)).toBe(key);
  });

  it.each(['', 'a', '1', '👍👍', 'name:123456789012345678', ' 👍', '\ud83d', '🏳'.repeat(40), '\ufe0f'])(
    'does not know %j',
    (text) => {
      expect(emojiKey(text)).toBeNull();
    },
  );

  it('gives every emoji it knows a spelling that stays', () => {
    const part = fc.constantFrom('👍', '❤', '\ufe0f', '\u200d', '🏽', '🇩', '🇪', '1', '\u20e3', '⛹', '♂', 'x');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const key = emojiKey(parts.join(''));
        if (key !== null) expect(emojiKey(key)).toBe(key);
      }),
    );
  });
});
