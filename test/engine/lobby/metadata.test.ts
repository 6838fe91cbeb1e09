// Goal: metadata is bounded in keys, lengths and total, whatever it holds, and what is kept can be stored.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cleanMetadata,
  METADATA,
  MODERATION_METADATA,
  metadataRefusal,
} from '../../../engine/lobby/metadata.ts';

describe('metadata', () => {
  test('may be absent', () => {
    expect(metadataRefusal(null, METADATA, [])).toBeNull();
    expect(metadataRefusal(undefined, METADATA, [])).toBeNull();
    expect(cleanMetadata(null)).toBeNull();
  });

  test.each([
    ['25 keys', Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`k${i}`, 'v'])), true],
    ['26 keys', Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`k${i}`, 'v'])), false],
    ['1000 characters', { k: 'v'.repeat(999) }, true],
    ['1001 characters', { k: 'v'.repeat(1_000) }, false],
    ['a key of 1000', { ['k'.repeat(1_000)]: '' }, true],
    ['a key of 1001', { ['k'.repeat(1_001)]: '' }, false],
    ['500 astral characters as 500', { k: '𝄞'.repeat(500) }, true],
  ] as const)('is held to its bounds: %s', (_, metadata, fits) => {
    expect(metadataRefusal(metadata, METADATA, ['metadata'])?.code).toBe(fits ? undefined : 50035);
  });

  test.each([
    ['2000 characters', { k: 'v'.repeat(2_000) }, true],
    ['2001 characters', { k: 'v'.repeat(2_001) }, false],
    ['five full values', Object.fromEntries([...'abcde'].map((key) => [key, 'v'.repeat(2_000)])), true],
    ['six keys', Object.fromEntries([...'abcdef'].map((key) => [key, 'v'])), false],
  ] as const)('is held to bounds of its own when it comes from moderation: %s', (_, metadata, fits) => {
    expect(metadataRefusal(metadata, MODERATION_METADATA, [])?.code).toBe(fits ? undefined : 50035);
  });

  test('a refusal leads to the field', () => {
    const no = metadataRefusal({ mood: 'v'.repeat(2_001) }, MODERATION_METADATA, ['a', 0]);
    expect(no?.errors).toEqual({ a: { 0: { mood: { _errors: [expect.anything()] } } } });
  });

  test('is accepted only within its bounds, and can be stored when it is cleaned', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 30 }), (metadata) => {
        const chars = (value: string): number => [...value].length;
        const entries = Object.entries(metadata);
        const total = entries.reduce((sum, [key, value]) => sum + chars(key) + chars(value), 0);
        const fits = entries.length <= 25 && total <= 1_000;
        expect(metadataRefusal(metadata, METADATA, []) === null).toBe(fits);
        const clean = cleanMetadata(metadata) ?? {};
        const kept = Object.entries(clean).flat().join('');
        expect(kept).not.toMatch(/\p{Surrogate}|\0/u);
        expect(Object.getPrototypeOf(clean)).toBe(Object.prototype);
      }),
    );
  });
});
