// Goal: a game changes a player's data key by key, replaces each value whole, within bounds of bytes.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { changeProfile, EMPTY_PROFILE, PROFILE_BYTES_MAX } from '../../../engine/provisional/profile.ts';

test('absent keys stay, and what is given replaces the whole', () => {
  const first = changeProfile(EMPTY_PROFILE, { username: 'Ada', data: { primary: { season: '3' } } });
  if (!first.ok) throw new Error('refused');
  const second = changeProfile(first.value, { data: { dynamic: [] } });
  expect(second).toEqual({
    ok: true,
    value: { username: 'Ada', metadata: null, data: { dynamic: [] } },
  });
  expect(changeProfile(first.value, { username: null, data: null })).toEqual({
    ok: true,
    value: EMPTY_PROFILE,
  });
});

test('a profile is refused exactly when data or metadata are larger than allowed, as JSON in UTF-8', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('data', 'metadata'),
      fc.integer({ min: PROFILE_BYTES_MAX - 40, max: PROFILE_BYTES_MAX + 40 }),
      fc.constantFrom('x', 'é', '𝔵'),
      (key, bytes, character) => {
        const one = Buffer.byteLength(character);
        const given = { a: character.repeat(Math.floor(bytes / one)) };
        const changed = changeProfile(EMPTY_PROFILE, { [key]: given });
        expect(changed.ok).toBe(Buffer.byteLength(JSON.stringify(given)) <= PROFILE_BYTES_MAX);
        if (!changed.ok) expect(changed.refusal.errors).toHaveProperty(key);
      },
    ),
  );
});
