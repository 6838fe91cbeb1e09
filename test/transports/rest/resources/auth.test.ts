// Goal: programs sign people up and in with the platform's shapes, and get a token that counts until they sign out.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../../../compose/engine.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
const PASSWORD = 'correct horse battery';
let engine: Engine;
let api: string;

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  ({ api } = await engine.listen());
}, 60_000);
afterAll(() => engine.close());

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const json = { 'content-type': 'application/json', ...headers };
  const response = await fetch(`${api}/v10/auth/${path}`, {
    method: 'POST',
    headers: json,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers };
}
const me = (token: string) =>
  fetch(`${api}/v10/users/@me`, { headers: { authorization: `Bearer ${token}` } });

describe('client programs', () => {
  test('sign up, in and out; signing out revokes one token only', async () => {
    const up = await post('register', { username: 'anna', password: PASSWORD, global_name: 'Anna' });
    expect(up).toMatchObject({
      status: 201,
      body: { token: expect.any(String), user_id: expect.any(String) },
    });
    expect(up.headers.getSetCookie()).toEqual([]);
    expect(await (await me(up.body.token)).json()).toMatchObject({
      id: up.body.user_id,
      username: 'anna',
      global_name: 'Anna',
    });
    const into = await post('login', { login: 'Anna', password: PASSWORD });
    expect(into).toMatchObject({ status: 200, body: { user_id: up.body.user_id } });
    const out = await post('logout', {}, { authorization: `Bearer ${into.body.token}` });
    expect(out.status).toBe(204);
    expect((await me(into.body.token)).status).toBe(401);
    expect((await me(up.body.token)).status).toBe(200);
  });

  test('receive the invalid field, and the same error for an unknown account as for a wrong password', async () => {
    const taken = await post('register', { username: 'anna', password: PASSWORD });
    expect(taken).toMatchObject({
      status: 400,
      body: { code: 50035, errors: { username: { _errors: [{ code: 'USERNAME_ALREADY_TAKEN' }] } } },
    });
    const short = await post('register', { username: 'eve', password: 'short' });
    expect(short.body.errors).toMatchObject({ password: { _errors: [{ code: 'BASE_TYPE_MIN_LENGTH' }] } });
    const wrong = await post('login', { login: 'anna', password: 'a wrong one' });
    expect(wrong).toMatchObject({
      status: 400,
      body: { errors: { login: { _errors: [{ code: 'INVALID_LOGIN' }] } } },
    });
    expect((await post('login', { login: 'nobody', password: 'a wrong one' })).body).toEqual(wrong.body);
    expect((await post('forgot', { login: 'nobody' })).status).toBe(204);
    expect((await post('reset', { token: 'x', password: PASSWORD })).status).toBe(400);
    expect((await post('verify', { token: 'x' })).status).toBe(400);
    expect((await post('mfa/totp', { ticket: 'x', code: '000000' })).body).toMatchObject({ code: 60010 });
  });

  test('receive an error for malformed, oversized and wrongly typed bodies', async () => {
    for (const body of ['', '{', '[]', '{"login":1,"password":{}}', '{"login":null}', '"x"'])
      expect((await post('login', body)).status).toBe(400);
    expect((await post('login', { login: 'x'.repeat(400), password: 'x' })).status).toBe(400);
    expect((await post('login', { login: 'x', password: 'x'.repeat(2000) })).status).toBe(400);
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post('login', 'login=anna', form)).status).toBe(415);
    expect((await post('logout', {})).status).toBe(401);
  });

  test('wait longer after each wrong password, and receive retry_after', async () => {
    await post('register', { username: 'slow', password: PASSWORD });
    for (let n = 0; n < 5; n++) await post('login', { login: 'slow', password: 'a wrong one' });
    const waiting = await post('login', { login: 'slow', password: PASSWORD });
    expect(waiting).toMatchObject({ status: 429, body: { retry_after: expect.any(Number), global: false } });
    expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(10);
  });
});

test('the operator sets a password for a user without one', async () => {
  const { user } = await engine.admin.createUser({ username: 'Juniper' });
  const given = await engine.admin.setPassword({ userId: user.id as never });
  expect(given).toMatchObject({ loginName: 'juniper' });
  const into = await post('login', { login: 'juniper', password: given.password });
  expect(into).toMatchObject({ status: 200, body: { user_id: user.id } });
  const application = await engine.admin.createApplication({ name: 'Bot' });
  await expect(engine.admin.setPassword({ userId: application.bot.id as never })).rejects.toThrow(
    'Unknown User',
  );
});
