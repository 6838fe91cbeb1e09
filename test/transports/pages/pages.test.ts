// Goal: the pages act only for the user who submitted the form: not for other sites, a planted cookie or garbage; and
// they redirect only to permitted pages.
import fc from 'fast-check';
import { TOTP } from 'otpauth';
import { afterEach, describe, expect, test } from 'vitest';
import { html } from '../../../transports/pages/html.ts';
import { formTarget, safeNext } from '../../../transports/pages/origin.ts';
import { PASSWORD } from '../../services/accounts/arrange.ts';
import { startPages, type Visitor } from './arrange.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function open(given: Parameters<typeof startPages>[0] = {}) {
  const pages = await startPages(given);
  closing.push(() => pages.server.close());
  return pages;
}

/** Somebody who has an account and is signed in. */
async function openSignedIn(given: Parameters<typeof startPages>[0] = {}) {
  const pages = await open(given);
  const userId = await pages.signUp();
  const visitor = pages.visitor();
  await signIn(visitor);
  await visitor.get('/settings');
  return { ...pages, userId, anna: visitor };
}

async function signIn(visitor: Visitor, next = ''): Promise<Response> {
  await visitor.get(`/login${next === '' ? '' : `?next=${encodeURIComponent(next)}`}`);
  return visitor.post('/login', { login: 'anna', password: PASSWORD, next });
}

const SESSION = 'guildhall_session';
const DEVICE = 'guildhall_device';

describe('markup', () => {
  test('escapes every value, whatever its source', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const made = html`<p title="${text}">${text}</p>`.toString();
        expect(made.match(/[<>"']/g)).toEqual(['<', '"', '"', '>', '<', '>']);
        expect(made).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
      }),
    );
  });

  test('nests, and omits absent values', () => {
    const list = ['<', html`<b>${'&'}</b>`];
    expect(html`a${list}${null}${undefined}${false}${0}z`.toString()).toBe('a&lt;<b>&amp;</b>0z');
  });

  test('every page escapes text of users', async () => {
    const { visitor } = await open();
    const eve = visitor();
    await eve.get('/register');
    const attack = '"><script>alert(1)</script>';
    const response = await eve.post('/register', { username: attack, email: attack, password: 'x' });
    expect(response.status).toBe(422);
    expect(eve.text).not.toContain('<script');
    expect(eve.text).toContain('&lt;script&gt;');
  });
});

describe('return addresses', () => {
  const EVIL = [
    '//evil.example',
    '//evil.example/settings',
    '/\\evil.example',
    '/\t/evil.example',
    'https://evil.example/settings',
  ];
  const OTHER = [
    '',
    'settings',
    '/logout',
    '/api/v10/users/@me',
    'javascript:alert(1)',
    '/settings@evil.example',
  ];
  const OWN = ['/settings', '/activate?user_code=A', '/oauth2/authorize?client_id=1&state=%2F'];

  test.each<[string, string | null]>([
    ...OWN.map((path): [string, string] => [path, path]),
    ['/x/../settings', '/settings'],
    ...[...EVIL, ...OTHER].map((text): [string, null] => [text, null]),
  ])('%j is reduced to the path %j', (next, expected) => {
    expect(safeNext(next)).toBe(expected);
  });

  test('are paths of this server or rejected', () => {
    const pieces = fc.array(
      fc.constantFrom('/', '\\', '.', '@', ':', '%', '\t', 'evil.example', 'settings', '?', '#'),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          pieces.map((all) => `/${all.join('')}`),
        ),
        (text) => {
          const next = safeNext(text);
          if (next !== null)
            expect(new URL(next, 'https://here.example').origin).toBe('https://here.example');
        },
      ),
    );
  });

  test.each([
    ['https://game.example/callback?x=1', 'https://game.example'],
    ['http://127.0.0.1:4000/callback', 'http://127.0.0.1:4000'],
    ['http://[::1]:4000/callback', 'http:'],
    ['my-game.1:/authorize/callback', 'my-game.1:'],
    ['x;script-src *:/a', null],
  ])('let a form redirect to %s by the policy %s', (location, expected) => {
    expect(formTarget(location)).toBe(expected);
  });

  test('return a visitor without a session to the requested page after sign-in', async () => {
    const { visitor, signUp } = await open();
    await signUp();
    const anna = visitor();
    const asked = await anna.get('/activate?user_code=ABCD');
    expect([asked.status, asked.headers.get('location')]).toEqual([
      303,
      `/login?next=${encodeURIComponent('/activate?user_code=ABCD')}`,
    ]);
    await anna.get(asked.headers.get('location')!);
    const form = { login: 'anna', password: PASSWORD, next: anna.hidden('next') };
    expect((await anna.post('/login', form)).headers.get('location')).toBe('/activate?user_code=ABCD');
    expect((await signIn(visitor(), '//evil.example')).headers.get('location')).toBe('/settings');
    // A form's policy binds every redirect that follows it, so the consent leads further by a refresh.
    const game = visitor();
    expect((await signIn(game, '/oauth2/authorize?client_id=1&state=2')).status).toBe(200);
    expect(game.text).toContain(
      '<meta http-equiv="refresh" content="0;url=/oauth2/authorize?client_id=1&amp;state=2">',
    );
    expect(game.cookies.has(SESSION)).toBe(true);
  });
});

describe('signing in', () => {
  test('sets an HttpOnly, SameSite cookie, with the __Host- prefix over https', async () => {
    const plain = await open();
    await plain.signUp();
    const [line = ''] = (await signIn(plain.visitor())).headers.getSetCookie();
    expect(line).toMatch(/^guildhall_session=[\w.-]{60,80}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/);
    const secure = await open({ secure: true });
    await secure.signUp();
    const [secured = ''] = (await signIn(secure.visitor())).headers.getSetCookie();
    expect(secured).toMatch(/^__Host-guildhall_session=[^;]+; Path=\/; .*; Secure$/);
  });

  test('shows the same error for a wrong password and an unknown account, and keeps the form', async () => {
    const { visitor, signUp } = await open();
    await signUp();
    const texts: string[] = [];
    for (const login of ['anna', 'nobody']) {
      const one = visitor();
      await one.get('/login');
      expect((await one.post('/login', { login, password: 'a wrong one' })).status).toBe(422);
      expect(one.text).toContain(`value="${login}"`);
      expect(one.text).not.toContain('a wrong one');
      texts.push(one.text.replaceAll(login, 'X').replace(/name="csrf" value="[^"]+"/g, ''));
    }
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]).toContain('Login or password is invalid.');
  });

  test('always creates a new session: planted and earlier cookies are not accepted', async () => {
    const { visitor, anna } = await openSignedIn();
    const before = anna.cookies.get(SESSION)!;
    await anna.get('/settings');
    await anna.post('/login', { login: 'anna', password: PASSWORD });
    const after = anna.cookies.get(SESSION)!;
    expect(after).not.toBe(before);
    const thief = visitor();
    thief.cookies.set(SESSION, before);
    expect((await thief.get('/settings')).headers.get('location')).toMatch(/^\/login/);
    const planted = visitor();
    planted.cookies.set(SESSION, 'planted');
    await signIn(planted);
    expect(planted.cookies.get(SESSION)).not.toBe('planted');
  });

  test('asks for the second factor of an account that has one', async () => {
    const { anna, visitor } = await openSignedIn();
    await anna.get('/settings/two-step');
    expect(anna.text).toContain('<svg');
    const key = /<code>([A-Z2-7 ]+)<\/code>/.exec(anna.text)![1]!.replaceAll(' ', '');
    const at = (ms: number) => new TOTP({ secret: key }).generate({ timestamp: ms });
    const sealed = anna.hidden('sealed');
    const wrong = await anna.post('/settings/two-step', { sealed, code: '000000', current: PASSWORD });
    expect(wrong.status).toBe(422);
    expect(anna.text).toContain(key.slice(0, 4));
    await anna.post('/settings/two-step', { sealed, code: at(1_700_000_000_000), current: PASSWORD });
    expect(anna.text.match(/<li>[a-z2-7-]{19}<\/li>/g)).toHaveLength(8);
    const again = visitor();
    expect((await signIn(again)).status).toBe(200);
    expect(again.cookies.has(SESSION)).toBe(false);
    const ticket = again.hidden('ticket');
    expect((await again.post('/login/code', { ticket, code: '000000' })).status).toBe(422);
    const done = await again.post('/login/code', { ticket, code: at(1_700_000_030_000), next: '/activate' });
    expect(done.headers.get('location')).toBe('/activate');
    expect(again.cookies.has(SESSION)).toBe(true);
  });

  test('sets a device cookie for the account, so that guesses from its network do not lock its user out', async () => {
    const { anna, visitor } = await openSignedIn();
    const line = (await signIn(visitor())).headers.getSetCookie()[1] ?? '';
    expect(line).toMatch(
      /^guildhall_device=\d+\.[\w-]{43}; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Lax$/,
    );
    await anna.post('/logout', {});
    const eve = visitor();
    await eve.get('/login');
    for (let n = 0; n < 9; n++) await eve.post('/login', { login: 'anna', password: `a guess, ${n}` });
    expect((await signIn(visitor())).status).toBe(429);
    const planted = visitor();
    planted.cookies.set(DEVICE, `${anna.cookies.get(DEVICE)!.split('.')[0]}.${'a'.repeat(43)}`);
    expect((await signIn(planted)).status).toBe(429);
    const earlier = anna.cookies.get(DEVICE);
    expect((await signIn(anna)).status).toBe(303);
    expect(anna.cookies.get(DEVICE)).not.toBe(earlier);
  });

  test('signing out ends the session itself, not just the cookie', async () => {
    const { anna, visitor } = await openSignedIn();
    const cookie = anna.cookies.get(SESSION)!;
    expect((await anna.post('/logout', {})).headers.get('location')).toBe('/login');
    expect(anna.cookies.has(SESSION)).toBe(false);
    const thief = visitor();
    thief.cookies.set(SESSION, cookie);
    expect((await thief.get('/settings')).status).toBe(303);
  });

  test('registers an account and signs it in; a server with closed registration shows that it is closed', async () => {
    const { visitor, memory, log, accounts } = await open();
    const one = visitor();
    await one.get('/register');
    const form = { username: 'Rowan', email: 'rowan@example.org', password: PASSWORD };
    expect((await one.post('/register', form)).headers.get('location')).toBe('/settings');
    await accounts.idle();
    expect([...memory.logins.keys()]).toEqual(['name:rowan']);
    expect(log.letters).toHaveLength(1);
    await one.get('/settings');
    expect(one.text).toContain('rowan@example.org');
    const closed = await open({ registrationOpen: false });
    const two = closed.visitor();
    expect((await two.get('/register')).status).toBe(403);
    await two.get('/login');
    expect(two.text).not.toContain('/register');
    expect((await two.post('/register', form)).status).toBe(403);
  });
});

describe('forms', () => {
  test('are rejected from other sites, without an origin and with the token of another visitor, sign-in included', async () => {
    const { anna, visitor, accounts, userId } = await openSignedIn();
    const stranger = visitor();
    await stranger.get('/login');
    const login = { login: 'anna', password: PASSWORD };
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: '' },
      { origin: `${anna.origin}.evil.example` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      expect((await stranger.post('/login', login, headers as never)).status).toBe(403);
      expect((await anna.post('/settings/profile', { username: 'eve' }, headers as never)).status).toBe(403);
    }
    const noToken = await visitor().send('/login', new URLSearchParams(login).toString());
    expect(noToken.status).toBe(403);
    // The token of another browser, and of this browser before it signed in.
    await anna.get('/settings');
    const { csrf } = anna;
    const otherBrowser = visitor();
    await signIn(otherBrowser);
    await otherBrowser.get('/settings');
    expect((await anna.send('/settings/profile', `csrf=${otherBrowser.csrf}&username=eve`)).status).toBe(403);
    await stranger.get('/login');
    expect((await anna.send('/settings/profile', `csrf=${stranger.csrf}&username=eve`)).status).toBe(403);
    expect((await stranger.send('/login', `csrf=${csrf}&login=anna&password=${PASSWORD}`)).status).toBe(403);
    expect((await accounts.profile(userId))?.username).toBe('anna');
    expect((await anna.send('/settings/profile', `csrf=${csrf}&username=anne`)).status).toBe(303);
  });

  test('accept only the fixed public address as origin when one is configured', async () => {
    const { visitor, signUp } = await open({ fixedUrl: 'https://play.example/base' });
    await signUp();
    const one = visitor();
    await one.get('/login');
    const login = { login: 'anna', password: PASSWORD };
    expect((await one.post('/login', login)).status).toBe(403);
    await one.get('/login');
    expect((await one.post('/login', login, { origin: 'https://play.example' })).status).toBe(303);
  });

  test('are rejected without a fault when they are too large, of another type or malformed', async () => {
    const { anna, faults, server } = await openSignedIn();
    const { csrf } = anna;
    const big = await anna.send('/settings/profile', `csrf=${csrf}&username=${'x'.repeat(40_000)}`);
    expect(big.status).toBe(413);
    const many = `csrf=${csrf}${'&a=1'.repeat(300)}`;
    expect((await anna.send('/settings/profile', many)).status).toBe(413);
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x'])
      expect((await anna.send('/settings/profile', '{}', { 'content-type': type })).status).toBe(415);
    await anna.get('/settings');
    for (const id of ['', 'x', '-1', '99999999999999999999', "1'", '1.5'])
      expect((await anna.post('/settings/applications', { id: id || 'none' })).status).toBe(303);
    expect((await anna.post('/settings/browsers', { id: 'x' })).status).toBe(303);
    expect((await anna.send('/settings/profile', `csrf=${anna.csrf}&username=%ff%00%c3%28`)).status).toBe(
      422,
    );
    expect((await fetch(`${anna.origin}/settings`, { method: 'DELETE', redirect: 'manual' })).status).toBe(
      405,
    );
    expect(faults).toEqual([]);
    expect(server.port).toBeGreaterThan(0);
  });

  test('malformed cookies count as no session', async () => {
    const { visitor, faults } = await openSignedIn();
    for (const cookie of [
      '=',
      ';;;',
      `${SESSION}=`,
      `${SESSION}=${'A'.repeat(7_000)}`,
      `${SESSION}="a.b.c"`,
      'é=1',
    ]) {
      const headers = { cookie: Buffer.from(cookie).toString('latin1') };
      const response = await fetch(`${visitor().origin}/settings`, { headers, redirect: 'manual' });
      expect(response.status).toBe(303);
    }
    expect(faults).toEqual([]);
  });

  test('are answered with 429 beyond the rate limit', async () => {
    const { visitor } = await open({ take: () => 1 });
    const one = visitor();
    await one.get('/login');
    expect((await one.post('/login', {})).status).toBe(429);
  });

  test('do not reveal the cause of an internal failure', async () => {
    const { anna, faults, memory } = await openSignedIn();
    memory.store.signIns = () => Promise.reject(new Error('the database burns'));
    const response = await anna.get('/settings');
    expect(response.status).toBe(503);
    expect(anna.text).not.toContain('burns');
    expect(faults).toHaveLength(1);
  });
});

test('every answer forbids frames, scripts, other sites, caches and sniffing', async () => {
  const { anna, visitor } = await openSignedIn();
  for (const response of [
    await visitor().get('/login'),
    await visitor().get('/settings'),
    await anna.get('/settings'),
    await anna.get('/verify-email?token=x'),
    await anna.post('/settings/profile', { username: '' }),
    await anna.send('/settings/profile', 'csrf=wrong'),
  ]) {
    const { headers } = response;
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    if (response.status === 303) continue;
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(policy).not.toContain('script-src');
  }
});

describe('links in e-mails', () => {
  test('open pages that change nothing until their form is submitted', async () => {
    const { visitor, signUp, linked, accounts, memory, log } = await open();
    const userId = await signUp();
    const one = visitor();
    await one.get(`/verify-email?token=${linked()}`);
    expect(memory.accounts.get(userId)?.email).toBeNull();
    await one.post('/verify-email', { token: one.hidden('token') });
    expect(memory.accounts.get(userId)?.email).toBe('anna@example.org');
    expect((await one.get('/verify-email?token=x')).status).toBe(200);
    expect((await one.post('/verify-email', { token: 'x' })).status).toBe(422);

    await one.get('/reset');
    await one.post('/reset', { login: 'nobody' });
    const { text } = one;
    await one.get('/reset');
    await one.post('/reset', { login: 'anna' });
    expect(one.text).toBe(text);
    await accounts.idle();
    expect(log.letters.map(({ subject }) => subject)).toEqual([
      'Confirm your e-mail address',
      'Choose a new password',
    ]);
    await one.get(`/reset?token=${linked()}`);
    const token = one.hidden('token');
    expect((await one.post('/reset', { token, password: 'short' })).status).toBe(422);
    expect((await one.post('/reset', { token, password: 'another good one' })).status).toBe(200);
    expect((await one.post('/reset', { token, password: 'another good one' })).status).toBe(403);
  });
});
