// Goal: a password matches only its own hash, and hashing is bounded and off the main thread.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPasswordHasher } from '../../../media/crypto/passwords.ts';

const CHEAP = { passes: 1, memoryBytes: 8 << 10 };

test('a hash verifies only its own password, and two hashes of one password differ', async () => {
  const { hash, verify, isDated } = createPasswordHasher(CHEAP);
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({ unit: 'binary' }),
      async (password, other) => {
        const made = await hash(password);
        expect(made).toMatch(/^\$argon2id\$v=19\$m=8,t=1,p=1\$[\w+/]+\$[\w+/]+$/);
        expect(await verify(made!, password)).toBe(true);
        // Ill-formed strings are equal in UTF-8: each ill-formed part becomes U+FFFD.
        if (Buffer.compare(Buffer.from(other), Buffer.from(password)) !== 0)
          expect(await verify(made!, other)).toBe(false);
        expect(await hash(password)).not.toBe(made);
        expect(isDated(made!)).toBe(false);
      },
    ),
    { numRuns: 25 },
  );
});

test('a malformed hash is outdated and verifies no password', async () => {
  const { verify, isDated } = createPasswordHasher(CHEAP);
  for (const junk of ['', 'plain', '$argon2id$', `$argon2id$v=19$m=8,t=1,p=1$${'A'.repeat(200)}`]) {
    expect(await verify(junk, '')).toBe(false);
    expect(isDated(junk)).toBe(true);
  }
});

test('a hash with other parameters is outdated and still verifies its password', async () => {
  const made = await createPasswordHasher(CHEAP).hash('a password');
  const dearer = createPasswordHasher({ passes: 2, memoryBytes: 16 << 10 });
  expect(dearer.isDated(made!)).toBe(true);
  expect(await dearer.verify(made!, 'a password')).toBe(true);
});

test('hashes beyond two running and 100 queued are rejected, and all others complete', async () => {
  const { hash } = createPasswordHasher(CHEAP);
  const made = await Promise.all(Array.from({ length: 200 }, (_, n) => hash(String(n))));
  expect(made.filter((one) => one === null)).toHaveLength(200 - 2 - 100);
  expect(await hash('later')).not.toBeNull();
});
