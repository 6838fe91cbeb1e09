// Goal: an ID token counts only with a named key, a strong signature and claims that are ours, fresh and whole.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkClaims,
  isExternalId,
  readTokenHeader,
  SIGNING_ALGORITHMS,
} from '../../../engine/provisional/idtoken.ts';
import { displayName, provisionalUsername } from '../../../engine/provisional/names.ts';
import { usernameObjection } from '../../../engine/user/usernames.ts';

const NOW_SEC = 1_800_000_000;
const expected = { issuer: 'https://id.example.org', audience: 'game', nameClaim: 'preferred_username' };
const claims = { iss: expected.issuer, aud: 'game', sub: 'player', exp: NOW_SEC + 60, iat: NOW_SEC - 60 };
const check = (more: object) => checkClaims({ ...claims, ...more }, expected, NOW_SEC * 1000);
const codeOf = (reply: ReturnType<typeof check> | ReturnType<typeof readTokenHeader>) =>
  reply.ok ? 0 : reply.refusal.code;

describe('the header of an ID token', () => {
  test.each(SIGNING_ALGORITHMS)('may say %s', (alg) => {
    expect(readTokenHeader({ kid: 'a', alg })).toEqual({ ok: true, value: { keyId: 'a', algorithm: alg } });
  });

  test.each([
    [{ alg: 'RS256' }, 530_027],
    [{ alg: 'RS256', kid: '' }, 530_027],
    [{ alg: 'RS256', kid: 1 }, 530_027],
    [{ alg: 'RS256', kid: 'k'.repeat(1025) }, 530_027],
    [{ kid: 'a', alg: 'none' }, 530_020],
    [{ kid: 'a', alg: 'None' }, 530_020],
    [{ kid: 'a', alg: 'HS256' }, 530_020],
    [{ kid: 'a' }, 530_020],
    [{ kid: 'a', alg: 'RS256', crit: ['b64'] }, 530_020],
    [null, 530_020],
    ['text', 530_020],
  ])('is refused when it is %j: %i', (header, code) => {
    expect(codeOf(readTokenHeader(header))).toBe(code);
  });
});

describe('the claims of an ID token', () => {
  test('name the player', () => {
    expect(check({})).toEqual({ ok: true, value: { subject: 'player', name: null } });
    expect(check({ preferred_username: ' Ada  L ', aud: ['other', 'game'] })).toEqual({
      ok: true,
      value: { subject: 'player', name: 'Ada L' },
    });
    const unnamed = checkClaims(
      { ...claims, preferred_username: 'Ada' },
      { ...expected, nameClaim: null },
      0,
    );
    expect(unnamed.ok).toBe(false);
  });

  test.each([
    [{ iss: 'https://id.example.org/' }, 530_002],
    [{ iss: undefined }, 530_002],
    [{ aud: 'other' }, 530_003],
    [{ aud: ['other'] }, 530_003],
    [{ aud: undefined }, 530_003],
    [{ exp: NOW_SEC }, 530_001],
    [{ exp: NOW_SEC - 1 }, 530_001],
    [{ exp: undefined }, 530_020],
    [{ exp: 'tomorrow' }, 530_020],
    [{ exp: Number.POSITIVE_INFINITY }, 530_020],
    [{ iat: undefined }, 530_020],
    [{ iat: NOW_SEC - 7 * 86_400 - 1 }, 530_004],
    [{ iat: NOW_SEC - 7 * 86_400 }, 0],
    [{ iat: NOW_SEC + 60 }, 0],
    [{ iat: NOW_SEC + 61 }, 530_020],
    [{ nbf: NOW_SEC + 61 }, 530_020],
    [{ nbf: 'x' }, 530_020],
    [{ sub: '' }, 530_020],
    [{ sub: 5 }, 530_020],
    [{ sub: 'a\0b' }, 530_020],
    [{ sub: '\ud800' }, 530_020],
    [{ sub: 'p'.repeat(1025) }, 530_020],
    [{ sub: 'p'.repeat(1024) }, 0],
  ])('end, for %j, with %i', (more, code) => {
    expect(codeOf(check(more))).toBe(code);
  });

  test('never throw, whatever their shape', () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (header, anything) => {
        readTokenHeader(header);
        expect(checkClaims(anything, expected, 0).ok).toBe(false);
      }),
    );
  });
});

describe('names', () => {
  test.each([
    ['Ada', 'Ada'],
    ['  Ada \n Lovelace ', 'Ada Lovelace'],
    ['𝔵'.repeat(32), '𝔵'.repeat(32)],
    ['a'.repeat(33), null],
    ['', null],
    [' \u0007 ', null],
    ['Ada\u0007Lovelace', null],
    ['ecal\u202eevoL', null],
    ['Ada\u200b', null],
    [5, null],
    [undefined, null],
  ])('%j is shown as %j', (given, shown) => {
    expect(displayName(given)).toBe(shown);
  });

  test('a username is made of any name and is always one', () => {
    fc.assert(
      fc.property(
        fc.option(fc.string({ unit: 'binary' })),
        fc.uint8Array({ minLength: 5 }),
        (name, random) => {
          expect(provisionalUsername(name, random)).toMatch(/^[a-z0-9._]{1,20}_[0-9a-f]{10}$/);
        },
      ),
    );
    for (const name of ['a...b', '..', 'admin', 'ß..'])
      expect([name, usernameObjection(provisionalUsername(name, new Uint8Array(5)))]).toEqual([name, null]);
    expect(provisionalUsername('Ádà L.', new Uint8Array(5))).toBe('adal._0000000000');
    expect(provisionalUsername(null, new Uint8Array(5).fill(255))).toBe('player_ffffffffff');
  });

  test('a shown name is never longer than an account may have, and is kept as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        const name = displayName(text);
        if (name === null) return;
        expect([...name].length).toBeLessThanOrEqual(32);
        expect(displayName(name)).toBe(name);
      }),
    );
  });

  test('a name of a player is bounded by characters, not by bytes', () => {
    expect(isExternalId('𝔵'.repeat(1024))).toBe(true);
    expect(isExternalId('𝔵'.repeat(1025))).toBe(false);
  });
});
