// Goal: names, addresses and passwords of a sign-up are within their form, and nothing else is taken for one.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isEmail, loginOf, mailLogin, nameLogin, passwordObjection } from '../../../engine/account/logins.ts';
import { usernameObjection } from '../../../engine/user/usernames.ts';

describe('names', () => {
  test.each(['ab', 'anna', 'anna_1', 'an.na', '_.', '0'.repeat(32)])('%s is accepted', (name) => {
    expect(usernameObjection(name)).toBeNull();
  });

  test.each(['', 'a', 'a'.repeat(33), 'Anna', 'an na', 'a..b', 'anna@x', 'änna', 'admin', 'everyone', 'a\n'])(
    '%j is refused',
    (name) => {
      expect(usernameObjection(name)).toMatchObject({ code: 50035, errors: { username: {} } });
    },
  );

  test('never share a key with an address, however either is typed', () => {
    fc.assert(fc.property(fc.string(), fc.string(), (name, email) => nameLogin(name) !== mailLogin(email)));
    expect(loginOf(' Anna ')).toBe(nameLogin('anna'));
    expect(loginOf('Anna@X.org')).toBe(mailLogin('anna@x.org'));
  });
});

describe('addresses', () => {
  test.each([
    'a@b.co',
    "o'neil+x@mail.example.org",
    'first.last@sub-domain.example',
    'x@xn--bcher-kva.example',
  ])('%s is accepted', (email) => {
    expect(isEmail(email)).toBe(true);
  });

  test.each([
    ...['', 'a', '@', 'a@b', 'a@.co', '.a@b.co', 'a.@b.co', 'a..b@c.co', 'a@b..co', 'a@-b.co', 'a b@c.co'],
    ...['a@b.co\nBcc: x@y.co', 'a@b.co,c@d.co', '<a@b.co>', '"a"@b.co', 'a@[127.0.0.1]', 'a@b@c.co'],
    ...[`${'a'.repeat(65)}@b.co`, `a@${'b.'.repeat(130)}co`, 'a@b.c0'.replace('0', '')],
  ])('%j is refused', (email) => {
    expect(isEmail(email)).toBe(false);
  });

  test('any text is answered quickly, and none with what could begin a header', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 2000, unit: 'binary' }), (text) => {
        if (isEmail(text)) expect(text).not.toMatch(/[\s,;<>"\\]/);
      }),
    );
    expect(isEmail(`${'a.'.repeat(5000)}@${'a-'.repeat(5000)}`)).toBe(false);
  });
});

const common: ReadonlySet<string> = new Set(['password1', 'qwerty123']);

describe('passwords', () => {
  test.each(['longenough', 'пароль', '🗝️🗝️', ' spaces ', 'x1'.repeat(512), '2026-a-b', '123password1'])(
    '%s is accepted',
    (password) => {
      expect(passwordObjection(password, { common, known: ['anna'] })).toBeNull();
    },
  );

  test.each([
    ['', 'BASE_TYPE_MIN_LENGTH'],
    ['short12', 'BASE_TYPE_MIN_LENGTH'],
    [`${'x1'.repeat(512)}y`, 'BASE_TYPE_MAX_LENGTH'],
    ['PassWord1', 'PASSWORD_TOO_COMMON'],
    ['ｐassword1', 'PASSWORD_TOO_COMMON'],
    ['Qwerty123!!', 'PASSWORD_TOO_COMMON'],
    ['aaaaaaaaaa', 'PASSWORD_TOO_COMMON'],
    ['anna.banana', 'PASSWORD_TOO_COMMON'],
    ['12345678', 'PASSWORD_ALL_DIGITS'],
    ['918273645018273', 'PASSWORD_ALL_DIGITS'],
    ['12.05.1990', 'PASSWORD_ALL_DIGITS'],
    ['٠١٢٣٤٥٦٧', 'PASSWORD_ALL_DIGITS'],
    [' '.repeat(8), 'PASSWORD_BLANK'],
    ['\t\n\u00a0\u3000 \u2003', 'PASSWORD_BLANK'],
    ['\u2800\u200b\u3164', 'PASSWORD_BLANK'],
    ['-.-.-.-.', 'PASSWORD_TOO_COMMON'],
  ])('%j is refused: %s', (password, code) => {
    const objection = passwordObjection(password, { common, known: ['Anna.Banana', null], field: 'new' });
    expect(objection).toMatchObject({ code: 50035, errors: { new: { _errors: [{ code }] } } });
  });

  test('are measured in bytes of UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), (text) => {
        const objection = passwordObjection(`${text}${text}`, { common });
        const isShort = JSON.stringify(objection ?? {}).includes('BASE_TYPE_MIN_LENGTH');
        expect(isShort).toBe(Buffer.byteLength(text) * 2 < 8);
      }),
    );
  });
});
