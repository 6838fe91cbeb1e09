// Goal: a cookie that was set is read back, and no header, however made, is more than a text.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cookieJar, readCookie } from '../../../transports/pages/cookies.ts';

const value = fc.stringMatching(/^[\w.-]{1,80}$/);

test('a value that was set is read back among others', () => {
  const others = fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), value), { maxLength: 5 });
  fc.assert(
    fc.property(fc.boolean(), value, others, others, (secure, text, before, after) => {
      const jar = cookieJar(secure);
      const [pair = ''] = jar.set(jar.session, text, 60).split(';');
      const rest = (all: [string, string][]) => all.map(([name, other]) => `${name}=${other}`);
      const header = [...rest(before), pair, ...rest(after)].join('; ');
      expect(readCookie(header, jar.session)).toBe(text);
      expect(readCookie(header, jar.form)).toBeNull();
    }),
  );
});

test('any header is parsed without an exception, and the first of two equal names is used', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (header) => {
      const found = readCookie(header, 'a');
      expect(found === null || header.includes(found)).toBe(true);
    }),
  );
  expect(readCookie('a=1; a=2', 'a')).toBe('1');
  expect(readCookie('=1; a', 'a')).toBeNull();
  expect(readCookie('a=b=c', 'a')).toBe('b=c');
  expect(readCookie(undefined, 'a')).toBeNull();
  expect(readCookie(`x=${'y'.repeat(9_000)}; a=1`, 'a')).toBeNull();
});

test('a cookie is deleted with the attributes that it was set with', () => {
  const jar = cookieJar(true);
  expect(jar.set(jar.session, null, 60)).toBe(
    '__Host-guildhall_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure',
  );
});
