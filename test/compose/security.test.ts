// Goal: a real engine logs and counts security events, and never logs a secret.
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../actors/runtime/clock.ts';
import { watchAddresses } from '../../compose/api.ts';
import { createEngine } from '../../compose/engine.ts';
import { type AdminServer, openAdminServer } from '../../transports/admin/server.ts';

type Engine = Awaited<ReturnType<typeof createEngine>>;
const ADMIN = 'the-admin-token-of-this-test';
const OPERATOR = { name: 'anna-laptop', secret: 'a-secret-of-a-laptop' };
const lines: string[] = [];
let engine: Engine;
let admin: AdminServer;
let api: string;

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, registration: 'open' },
    logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
  });
  api = `${(await engine.listen()).api}`;
  const port = { host: '127.0.0.1', port: 0 } as const;
  admin = await openAdminServer({ engine, clock: systemClock, ...port, token: ADMIN, tokens: [OPERATOR] });
}, 60_000);
afterAll(async () => {
  await admin.close();
  await engine.close();
});

async function post(url: string, body: object, authorization = '') {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, text };
}

const named = (event: string) =>
  lines.map((line) => JSON.parse(line)).filter((line) => line.event === `security.${event}`);

let people = 0;
/** Creates a person, tries wrong secrets, and renews the token and the password. @returns the secrets that were given out. */
async function lives(password: string, wrong: string, adminWrong: string): Promise<string[]> {
  const username = `person_${people++}`;
  const bearer = `Bearer ${OPERATOR.secret}`;
  const made = await post(`${admin.url}/users`, { username, password }, bearer);
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const { user, token } = JSON.parse(made.text);
  const guess = { body: { login: username, password: wrong } } as never;
  for (let n = 0; n < 6; n++) await engine.api.login(guess, { as: null }).catch(() => undefined);
  await post(`${api}/auth/login`, { login: username, password: wrong });
  await post(`${admin.url}/users`, { username, password }, `Bearer ${adminWrong}`);
  const rotated = await post(`${admin.url}/tokens/rotate`, { user_id: user.id }, bearer);
  expect(rotated.status).toBe(200);
  const { text } = await post(`${admin.url}/users/${user.id}/password`, {}, `Bearer ${ADMIN}`);
  await post(`${admin.url}/users/${user.id}/password`, { password: wrong, [wrong]: 1 }, bearer);
  const { password: given } = JSON.parse(text);
  return [token, JSON.parse(rotated.text).token, given].filter((one) => typeof one === 'string');
}

const typed = (length: number) =>
  fc.string({ unit: 'grapheme-ascii', minLength: length, maxLength: 40 }).map((text) => `${text}Zq#7`);

describe('the log of an engine', () => {
  test('contains no secret that people, operators and guessers type or receive', async () => {
    const secret = fc.tuple(typed(12), typed(12), fc.stringMatching(/^[\w!-]{16,40}$/));
    await fc.assert(
      fc.asyncProperty(secret, async (secrets) => {
        const given = await lives(...secrets);
        const log = lines.join('');
        for (const one of [...secrets, ...given, ADMIN, OPERATOR.secret]) {
          expect(log.includes(one)).toBe(false);
          expect(log.includes(JSON.stringify(one).slice(1, -1))).toBe(false);
        }
      }),
      { numRuns: 4, endOnFailure: true },
    );
  }, 120_000);

  test('names the admin token of each change, and each refused caller', async () => {
    lines.length = 0;
    await lives('a horse battery staple', 'a wrong password', 'not-the-admin-token');
    const changes = named('admin_change');
    expect(changes.map(({ token_name: token, what, status }) => [token, what, status])).toEqual([
      [OPERATOR.name, 'POST /users', 201],
      [OPERATOR.name, 'POST /tokens/rotate', 200],
      ['admin_token', 'POST /users/:id/password', 200],
      [OPERATOR.name, 'POST /users/:id/password', 400],
    ]);
    expect(changes[2].id).toMatch(/^\d+$/);
    expect(changes[1].user_id).toBe(changes[2].id);
    expect(named('admin_refused')).toMatchObject([{ level: 30, reason: 'token', network: '127.0.0.1' }]);
    expect(named('sign_in_locked')).toMatchObject([{ level: 30, user_id: changes[2].id, everywhere: false }]);
    expect(named('token_rotated')).toMatchObject([{ user_id: changes[2].id }]);
    expect(named('password_changed')).toMatchObject([{ user_id: changes[2].id, by: 'operator' }]);
  });

  test('names an address blocked for invalid requests once, while metrics count every event', async () => {
    lines.length = 0;
    const watch = watchAddresses(engine.security);
    for (let n = 0; n < 10_010; n++) watch.count('192.0.2.7', n);
    expect(named('address_blocked')).toMatchObject([
      { level: 30, network: '192.0.2.7', reason: 'invalid_requests', wait_ms: 590_001 },
    ]);
    const metrics = await engine.metrics();
    expect(metrics).toMatch(/^guildhall_security_events\{event="address_blocked"\} 1$/m);
    expect(metrics).toMatch(/^guildhall_security_events\{event="email_changed"\} 0$/m);
  });
});
