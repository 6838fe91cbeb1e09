// Goal: what is signed or sealed comes back as it was, and nothing else is ever taken for it.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import { createKeys, NONCE_BYTES, type Purpose } from '../../../services/accounts/keys.ts';
import { newRecoveryCodes, recoveryHash } from '../../../services/accounts/totp.ts';

const keys = createKeys('a secret of the server for this test');
const others = createKeys('a secret of another server altogether');
const nonce = fc.uint8Array({ minLength: NONCE_BYTES, maxLength: NONCE_BYTES });
const text = fc.string({ unit: 'grapheme' });
const userId = fc.bigInt({ min: 0n, max: (1n << 63n) - 1n }).map((id) => String(id) as UserId);
const purpose = fc.constantFrom<Purpose>('confirm', 'reset', 'factor');

describe('a ticket', () => {
  test('verifies for its purpose, user, state and time, and for no other', () => {
    fc.assert(
      fc.property(purpose, userId, fc.nat(), text, text, (use, user, untilMs, state, other) => {
        const ticket = keys.ticket(use, user, untilMs + 1000, state);
        const claim = keys.claim(ticket)!;
        expect(claim.userId).toBe(user);
        expect(claim.untilMs).toBeLessThanOrEqual(untilMs + 1000);
        expect(keys.verifies(claim, use, state, claim.untilMs - 1)).toBe(true);
        expect(keys.verifies(claim, use, state, claim.untilMs)).toBe(false);
        expect(others.verifies(claim, use, state, 0)).toBe(false);
        if (other !== state) expect(keys.verifies(claim, use, other, 0)).toBe(false);
        for (const wrong of ['confirm', 'reset', 'factor'] as const)
          if (wrong !== use) expect(keys.verifies(claim, wrong, state, 0)).toBe(false);
      }),
    );
  });

  test('is rejected after any change', () => {
    const ticket = keys.ticket('reset', '1100000000000000001' as UserId, 1_800_000_000_000, 'state');
    fc.assert(
      fc.property(fc.nat(ticket.length - 1), fc.constantFrom(...'0az9A_-.'), (at, character) => {
        const changed = ticket.slice(0, at) + character + ticket.slice(at + 1);
        const claim = keys.claim(changed);
        if (changed === ticket || claim === null) return;
        // The last of 43 characters has two bits that mean nothing.
        if (at === ticket.length - 1 && claim.mac.equals(keys.claim(ticket)!.mac)) return;
        expect(keys.verifies(claim, 'reset', 'state', 0)).toBe(false);
      }),
    );
  });

  test('is parsed from any text without an exception', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.stringMatching(/^[0-9]{0,22}\.[0-9a-z]{0,12}\.[\w-]{40,46}$/),
        ),
        (any) => {
          const claim = keys.claim(any);
          if (claim !== null) expect(keys.verifies(claim, 'reset', '', 0)).toBe(false);
        },
      ),
    );
  });
});

describe('a seal', () => {
  test('opens only with its key, for its context, and unchanged', () => {
    fc.assert(
      fc.property(text, text, text, nonce, fc.nat(), (plain, bound, other, bytes, at) => {
        const sealed = keys.seal(plain, bound, bytes);
        expect(keys.unseal(sealed, bound)).toBe(plain);
        expect(others.unseal(sealed, bound)).toBeNull();
        if (other !== bound) expect(keys.unseal(sealed, other)).toBeNull();
        const raw = Buffer.from(sealed, 'base64url');
        raw[at % raw.length]! ^= 1;
        expect(keys.unseal(raw.toString('base64url'), bound)).toBeNull();
        expect(keys.unseal(sealed.slice(0, -4), bound)).toBeNull();
      }),
    );
  });

  test('rejects random text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (any) => keys.unseal(any, '') === null));
  });
});

test('recovery codes are eight distinct codes that are accepted however they are typed', () => {
  const codes = newRecoveryCodes((size) => crypto.getRandomValues(new Uint8Array(size))).map((code) =>
    code.reveal(),
  );
  expect(new Set(codes).size).toBe(8);
  for (const code of codes) {
    expect(code).toMatch(/^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
    const spellings = [code.toUpperCase(), code.replaceAll('-', ''), ` ${code.replaceAll('-', ' ')}\n`];
    expect(new Set(spellings.map(recoveryHash))).toEqual(new Set([recoveryHash(code)]));
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (any) => {
      const hash = recoveryHash(any);
      expect(hash === null || /^[0-9a-f]{64}$/.test(hash)).toBe(true);
    }),
  );
});
