// Goal: the relay compares successful replies about sign-up, sign-in and e-mail that no other end-to-end test asks for.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TOTP } from 'otpauth';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, callerOf } from '../support/callers.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { Visitor } from '../transports/pages/arrange.ts';

const PASSWORD = 'correct horse battery';

interface Session {
  readonly token: string;
  readonly user_id: string;
}

let dataDir: string;
let server: TestServer;
let anybody: Caller;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guildhall-replies-'));
  server = await startServer({ dataDir, set: { registration: 'open' } });
  anybody = callerOf(server, null);
});
afterAll(async () => {
  await server?.finish();
  await rm(dataDir, { recursive: true, force: true });
});

/** The token in the newest e-mail that links to a page. */
async function mailed(page: string): Promise<string> {
  let token = '';
  const outbox = join(dataDir, 'outbox');
  const read = async () => {
    const names = (await readdir(outbox)).filter((name) => name.endsWith('.eml')).sort();
    const texts = await Promise.all(names.map((name) => readFile(join(outbox, name), 'utf8')));
    // Long lines are folded with `=` at their end, and `=` itself is `=3D`.
    const whole = texts.map((text) => text.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')).join('\n');
    token = [...whole.matchAll(new RegExp(`/${page}\\?token=(\\S+)`, 'g'))].at(-1)?.[1] ?? '';
    return token;
  };
  await expect.poll(read).not.toBe('');
  return token;
}

test('people register, confirm their address, choose a new password and sign out', async () => {
  const made = await anybody<Session>('POST /auth/register', {
    ...{ username: 'ann.replies', password: PASSWORD, email: 'ann@example.org' },
  });
  expect(await anybody('POST /auth/verify', { token: await mailed('verify-email') })).toEqual({
    user_id: made.user_id,
  });
  await anybody('POST /auth/forgot', { login: 'ann@example.org' });
  const password = `${PASSWORD} staple`;
  const again = await anybody<Session>('POST /auth/reset', { token: await mailed('reset'), password });
  expect(again.user_id).toBe(made.user_id);
  const ann = callerOf(server, `Bearer ${again.token}`);
  await ann('POST /auth/logout');
  await expect(ann('GET /users/@me')).rejects.toThrow('401');
});

test('people sign in with a second step', async () => {
  const visitor = new Visitor(server.info.cdn);
  await visitor.get('/register');
  await visitor.post('/register', { username: 'bob.replies', email: '', password: PASSWORD });
  await visitor.get('/settings/two-step');
  const key = /<code>([A-Z2-7 ]+)<\/code>/.exec(visitor.text)?.[1]?.replaceAll(' ', '') ?? '';
  const code = new TOTP({ secret: key }).generate();
  await visitor.post('/settings/two-step', { sealed: visitor.hidden('sealed'), code, current: PASSWORD });
  const [recovery = ''] = /[a-z2-7]{4}(?:-[a-z2-7]{4}){3}/.exec(visitor.text) ?? [];
  const first = await anybody<{ ticket: string; mfa: boolean; user_id: string }>('POST /auth/login', {
    ...{ login: 'bob.replies', password: PASSWORD },
  });
  expect(first).toMatchObject({ mfa: true, totp: true });
  // The code that switched it on has been used.
  const second = await anybody<Session>('POST /auth/mfa/totp', { ticket: first.ticket, code: recovery });
  expect(second.user_id).toBe(first.user_id);

  const bob = callerOf(server, second.token);
  const { id } = await bob<{ id: string }>('POST /guilds', { name: 'Guarded' });
  expect(await bob(`POST /guilds/${id}/mfa`, { level: 1 })).toEqual({ level: 1 });
  // The guild now requires a second step: moderators without one are refused, and moderators with one go on.
  const role = await bob<{ id: string }>(`POST /guilds/${id}/roles`, { permissions: '8' });
  const channels = await bob<{ id: string; type: number }[]>(`GET /guilds/${id}/channels`);
  const channel = channels.find(({ type }) => type === 0);
  const { code: door } = await bob<{ code: string }>(`POST /channels/${channel?.id}/invites`, {});
  const { token, user_id } = await anybody<Session>('POST /auth/register', {
    ...{ username: 'cleo.replies', password: PASSWORD },
  });
  const cleo = callerOf(server, token);
  await cleo(`POST /invites/${door}`, {});
  await bob(`PUT /guilds/${id}/members/${user_id}/roles/${role.id}`);
  await expect(cleo(`POST /guilds/${id}/roles`, { name: 'mine' })).rejects.toThrow('60003');
  await expect(cleo(`POST /guilds/${id}/mfa`, { level: 0 })).rejects.toThrow('50013');
  expect(await cleo(`GET /guilds/${id}`)).toMatchObject({ mfa_level: 1 });
  expect(await cleo<object[]>('GET /users/@me/guilds')).toHaveLength(1);
});
