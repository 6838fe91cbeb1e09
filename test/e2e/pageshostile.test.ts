// Goal: the served pages and the sign-in of programs hold against other sites, planted cookies, floods and guessing, and no
// secret that went through them stands in a log line of any level.
import { request as httpRequest } from 'node:http';
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGES } from '../../transports/pages/index.ts';
import { OAuthClient, pkce, type Tokens } from '../support/oauth.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { Visitor } from '../transports/pages/arrange.ts';

const PASSWORD = 'correct horse battery';
const CALLBACK = 'https://game.example/callback';
const SESSION = 'guildhall_session';

let server: TestServer;
let origin: string;
/** Everything the server has written. */
let log = '';
/** Secrets that must not appear in the log, by name. */
const secrets = new Map<string, string>();
beforeAll(async () => {
  server = await startServer({ set: { log_level: 'trace', registration: 'open' } });
  server.child.stderr!.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  origin = server.info.cdn;
});
afterAll(() => server?.finish());

let visitors = 0;
const visitor = () => new Visitor(origin);
const keep = (what: string, secret: string): string => {
  if (secret !== '') secrets.set(`${what} ${secrets.size}`, secret);
  return secret;
};

/** Somebody with an account, signed in. */
async function signedUp(username = `person.${visitors++}`) {
  const one = visitor();
  await one.get('/register');
  const password = keep('password', `${PASSWORD} ${username}`);
  const answer = await one.post('/register', { username, email: `${username}@example.org`, password });
  expect(answer.headers.get('location')).toBe('/settings');
  keep('cookie', one.cookies.get(SESSION)!);
  keep('form cookie', one.cookies.get('guildhall_form') ?? '');
  await one.get('/settings');
  keep('csrf', one.csrf);
  return { one, username, password };
}

async function signIn(login: string, password: string) {
  const one = visitor();
  await one.get('/login');
  const answer = await one.post('/login', { login, password });
  keep('cookie', one.cookies.get(SESSION) ?? '');
  return { one, answer };
}

const wait = (status: number) => expect([429, 422].includes(status), String(status)).toBe(true);

describe('another site', () => {
  test('cannot submit any form as a visitor, signed in or not', async () => {
    const { one } = await signedUp();
    const stranger = visitor();
    await stranger.get('/login');
    const posts = Object.entries(PAGES).filter(([, { post }]) => post !== undefined);
    expect(posts.length).toBeGreaterThan(12);
    for (const [path] of posts)
      for (const who of [one, stranger]) {
        const { csrf } = who;
        const plain = 'username=eve&decision=approve&password=owned+account';
        for (const [body, headers] of [
          [`csrf=${csrf}&${plain}`, { origin: 'https://evil.example' }],
          [`csrf=${csrf}&${plain}`, { origin: 'null' }],
          [`csrf=${csrf}&${plain}`, { origin: '' }],
          [plain, {}],
          [`csrf=&${plain}`, {}],
          [`csrf=${'A'.repeat(csrf.length)}&${plain}`, {}],
          [`csrf=x&csrf=${csrf}&${plain}`, {}],
        ] as const)
          expect(
            (await who.send(path, body, headers as never)).status,
            `${path} ${JSON.stringify(headers)}`,
          ).toBe(403);
        await who.get(who === one ? '/settings' : '/login');
      }
    expect(one.text).toContain('value="person.');
  });

  test('is never the redirect target after signing in, activating or deciding', async () => {
    const { username, password } = await signedUp();
    for (const next of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/settings/../\\evil.example',
      '/%2f/evil.example',
      '/oauth2/authorize@evil.example',
      'javascript:alert(1)',
      '/\t/evil.example',
      '/login?next=//evil.example',
      '/\u0000/evil.example',
    ]) {
      const one = visitor();
      await one.get(`/login?next=${encodeURIComponent(next)}`);
      const answer = await one.post(`/login?next=${encodeURIComponent(next)}`, {
        login: username,
        password,
        next,
      });
      const location = answer.headers.get('location') ?? /url=([^"]*)"/.exec(one.text)?.[1] ?? '/';
      expect(new URL(location, origin).origin, next).toBe(new URL(origin).origin);
      keep('cookie', one.cookies.get(SESSION) ?? '');
    }
    const game = await OAuthClient.make(server, { redirect_uris: [CALLBACK, 'http://127.0.0.1/callback'] });
    keep('client secret', game.secret);
    const { one } = await signIn(username, password);
    for (const uri of [
      'https://evil.example/',
      `${CALLBACK}/..//evil.example`,
      `${CALLBACK}@evil.example`,
      'https://game.example:8443/callback',
      'https://game.example.evil.example/callback',
      'http://127.0.0.1:1@evil.example/callback',
      'http://127.0.0.1.evil.example/callback',
      'http://localhost/callback',
      `${CALLBACK}?x=1`,
      `${CALLBACK}#x`,
      'https://GAME.example/callback',
      'javascript://game.example/callback',
    ]) {
      const query = new URLSearchParams({
        client_id: game.id,
        response_type: 'code',
        scope: 'identify',
        redirect_uri: uri,
      });
      const shown = await one.get(`/oauth2/authorize?${query}`);
      expect(shown.status, uri).toBe(400);
      expect(shown.headers.get('location')).toBeNull();
      expect(
        (await one.post(`/oauth2/authorize?${query}`, { decision: 'approve' })).headers.get('location'),
        uri,
      ).toBeNull();
    }
    const twice = `client_id=${game.id}&response_type=code&scope=identify&redirect_uri=${encodeURIComponent(CALLBACK)}&redirect_uri=https://evil.example`;
    expect((await one.get(`/oauth2/authorize?${twice}`)).status).toBe(400);
  });

  test('gains no session by planted cookies', async () => {
    const { one: victim, username } = await signedUp();
    const { one: attacker } = await signedUp();
    const own = victim.cookies.get(SESSION)!;
    for (const cookie of [
      `${SESSION}=x; ${SESSION}=${own}`,
      `${SESSION}=${'x'.repeat(9_000)}`,
      `${SESSION}=${own}${own}`,
      `=${own}`,
      `${SESSION.toUpperCase()}=${own}`,
    ]) {
      const answer = await fetch(`${origin}/settings`, { headers: { cookie }, redirect: 'manual' });
      expect(answer.status, cookie.slice(0, 40)).toBe(303);
    }
    // The attacker's form cookie and token, in the victim's browser.
    const planted = visitor();
    await attacker.post('/logout', {});
    await attacker.get('/login');
    for (const [name, value] of attacker.cookies) planted.cookies.set(name, value);
    planted.cookies.set(SESSION, own);
    expect((await planted.send('/settings/profile', `csrf=${attacker.csrf}&username=owned`)).status).toBe(
      403,
    );
    await victim.get('/settings');
    expect(victim.text).toContain(`value="${username}"`);
  });
});

/** One raw request: what a fetch would not send. The relay would refuse it by itself, so it goes past the relay. */
const raw = (path: string, headers: Record<string, string | string[]>, body = '') =>
  new Promise<number>((resolve) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port: server.port, path, method: body === '' ? 'GET' : 'POST', headers },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(body);
  });

describe('requests of no browser', () => {
  test('are cut off or rejected with 431 when they have a thousand headers or oversized ones', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`x-${at}`, 'y']));
    const blocks = [
      many,
      { cookie: `a=${'b'.repeat(200_000)}` },
      { authorization: `Bearer ${'b'.repeat(200_000)}` },
      { 'user-agent': 'x'.repeat(200_000) },
    ];
    const paths = ['/login', '/api/v10/users/@me', '/api/v10/oauth2/token'];
    const statuses = await Promise.all(paths.flatMap((path) => blocks.map((headers) => raw(path, headers))));
    for (const status of statuses) expect([0, 431]).toContain(status);
    expect(await raw('/login', {})).toBe(200);
  });

  test('are rejected with repeated fields, an unknown charset or oversized fields', async () => {
    const game = await OAuthClient.make(server, {
      owner_id: server.info.users[0]!.id,
      redirect_uris: [CALLBACK],
    });
    keep('client secret', game.secret);
    const base = `client_id=${game.id}&client_secret=${encodeURIComponent(game.secret)}`;
    const post = async (body: string | Uint8Array, type = 'application/x-www-form-urlencoded') => {
      const response = await fetch(`${server.info.api}/oauth2/token`, {
        method: 'POST',
        body: body as never,
        headers: { 'content-type': type },
      });
      return { status: response.status, body: (await response.json()) as { error: string } };
    };
    const grant = 'grant_type=client_credentials&scope=identify';
    for (const bad of [
      `${base}&${grant}&grant_type=refresh_token`,
      `${base}&client_id=${game.id}&${grant}`,
      `${base}&${grant}&scope=guilds`,
      `${base}&${grant}&code=${'x'.repeat(513)}`,
      `${base}&grant_type=${'x'.repeat(129)}`,
      `${base}&${grant}&scope=${'identify%20'.repeat(300)}`,
    ])
      expect(await post(bad), bad.slice(-60)).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    const garbled = ['a=%ff%fe%00', '&&&===&', '%', `${base}&${grant}`.replaceAll('&', ';')].map((text) =>
      Buffer.from(text),
    );
    for (const bad of [Buffer.from(`${base}&${grant}`, 'utf16le'), ...garbled])
      expect([400, 401]).toContain((await post(new Uint8Array(bad))).status);
    for (const type of ['application/json', 'multipart/form-data', 'text/plain', ''])
      expect(await post(`${base}&${grant}`, type), type).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    const prototype = await post(`${base}&${grant}&__proto__=x&constructor=y&toString=z`);
    expect(prototype.status).toBe(200);
    keep('access token', (prototype.body as unknown as Tokens).access_token);
    const long = await post(`${base}&${grant}&pad=${'x'.repeat(70_000)}`).catch(() => ({ status: 413 }));
    expect(long.status).toBe(413);
  });
});

describe('guessing', () => {
  test('passwords is throttled, also for the right one, on the page and in the API', async () => {
    const { username, password } = await signedUp();
    const { answer: good } = await signIn(username, password);
    expect(good.status).toBe(303);
    const guesses = await Promise.all(Array.from({ length: 12 }, () => signIn(username, 'a wrong guess')));
    for (const { answer } of guesses) wait(answer.status);
    expect(guesses.some(({ answer }) => answer.status === 429)).toBe(true);
    const late = await signIn(username, password);
    expect(late.answer.status).toBe(429);
    expect(late.one.cookies.has(SESSION)).toBe(false);
    const api = await fetch(`${server.info.api}/v10/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login: username, password }),
    });
    expect(api.status).toBe(429);
  });

  test('codes of the second step is throttled, and a used code is rejected', async () => {
    const { one, username, password } = await signedUp();
    await one.get('/settings/two-step');
    const key = /<code>([A-Z2-7 ]+)<\/code>/.exec(one.text)![1]!.replaceAll(' ', '');
    keep('TOTP key', key);
    const sealed = keep('sealed key', one.hidden('sealed'));
    const code = new TOTP({ secret: key }).generate();
    await one.post('/settings/two-step', { sealed, code, current: password });
    const recovery = [...one.text.matchAll(/<li>([a-z2-7-]{19})<\/li>/g)].map(([, text]) =>
      keep('recovery code', text!),
    );
    expect(recovery).toHaveLength(8);
    const second = async (given: string) => {
      const { one: again } = await signIn(username, password);
      const ticket = keep('ticket', again.hidden('ticket'));
      return (await again.post('/login/code', { ticket, code: given })).status;
    };
    // The code that switched it on has been used.
    expect(await second(code)).toBe(422);
    const used = await Promise.all([second(recovery[0]!), second(recovery[0]!), second(recovery[0]!)]);
    expect(used.filter((status) => status === 303 || status === 200)).toHaveLength(1);
    const statuses: number[] = [];
    for (let guess = 0; guess < 10; guess += 1) statuses.push(await second(String(100_000 + guess)));
    expect(statuses.at(-1)).toBe(429);
    expect(await second(recovery[1]!)).toBe(429);
  });

  test('device codes is throttled', async () => {
    const { one } = await signedUp();
    await one.get('/activate');
    const statuses: number[] = [];
    for (let guess = 0; guess < 25; guess += 1)
      statuses.push((await one.post('/activate', { user_code: 'BCDFGHJK' })).status);
    expect(statuses.slice(0, 15).every((status) => status === 422)).toBe(true);
    expect(statuses.at(-1)).toBe(429);
  });
});

test('no token, code, secret, password, key or cookie of all this is in the log, at any level', async () => {
  const { username, password } = await signedUp('secretive');
  const game = await OAuthClient.make(server, { redirect_uris: [CALLBACK] });
  for (const secret of [game.secret, game.botToken, server.info.admin.token, server.info.bot.token])
    keep('secret', secret);
  const login = await fetch(`${server.info.api}/v10/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: username, password }),
  });
  const { token } = (await login.json()) as { token: string };
  keep('user token', token);
  const { verifier, asked } = pkce();
  keep('verifier', verifier);
  const { body } = await game.decide(token, {
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'identify openid',
    state: keep('state', 'the state of a request'),
    ...asked,
  });
  const code = keep('code', new URL(body.location!).searchParams.get('code')!);
  const tokens = await game.tokens({
    grant_type: 'authorization_code',
    redirect_uri: CALLBACK,
    code,
    code_verifier: verifier,
  });
  const next = (await game.refresh(tokens.refresh_token!)).body as unknown as Tokens;
  for (const each of [tokens, next])
    for (const secret of [each.access_token, each.refresh_token, each.id_token]) keep('token', secret ?? '');
  const device = (await game.post<Record<string, string>>('device/authorize', { scope: 'identify' })).body;
  keep('device code', device.device_code!);
  keep('user code', device.user_code!);
  const made = await server.bot().call<{ access_token: string; id_token: string }>('bot_partner_sdk_token', {
    body: { external_user_id: 'x' },
  });
  keep('player token', made.access_token);
  const player = server.restOf(`Bearer ${made.access_token}`);
  await player.call('create_or_join_lobby', {
    body: { secret: keep('lobby secret', 'the secret of a lobby') },
  });
  for (const bad of [
    { secret: 'x'.repeat(300) },
    { secret: { deep: keep('lobby secret', 'a misplaced secret') } },
  ])
    expect((await player.ask('create_or_join_lobby', { body: bad })).status).toBe(400);
  await fetch(`${server.info.api}/v10/users/@me?access_token=${next.access_token}`);
  await fetch(`${server.info.api}/v10/nowhere/${next.access_token}`);
  await game.post('token', {
    grant_type: 'refresh_token',
    refresh_token: next.refresh_token!,
    client_secret: keep('wrong secret', 'a wrong client secret'),
  });
  expect(log.length).toBeGreaterThan(0);
  expect(secrets.size).toBeGreaterThan(60);
  const told = [...secrets]
    .filter(([, secret]) => log.includes(secret) || log.includes(encodeURIComponent(secret)))
    .map(([what]) => what);
  expect(told).toEqual([]);
});
