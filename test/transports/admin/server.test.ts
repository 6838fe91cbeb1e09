// Goal: the admin port serves health to everyone and the engine's admin operations to the bearer of the token alone.
import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { DEFAULTS } from '../../../config/config.ts';
import type { Admin, CallListing } from '../../../embedding.ts';
import { NotServed } from '../../../protocol/faults.ts';
import { invalidField, type Refusal } from '../../../protocol/refusal.ts';
import type { SecurityTrail } from '../../../protocol/security.ts';
import type { AdminToken } from '../../../transports/admin/port.ts';
import { findRoute } from '../../../transports/admin/routes.ts';
import { type AdminServer, openAdminServer } from '../../../transports/admin/server.ts';

const TOKEN = 'the-admin-token-of-this-test';
const servers: AdminServer[] = [];
let refusing: Error;
beforeEach(() => {
  refusing = new Refused('Unknown Guild');
});
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

class Refused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal | string) {
    super('refused');
    this.refusal = typeof refusal === 'string' ? { status: 404, code: 10004, message: refusal } : refusal;
  }
}

async function arrange(
  options: {
    token?: string | null;
    tokens?: readonly AdminToken[];
    security?: SecurityTrail;
    reasons?: Record<string, string>;
    calls?: CallListing[];
    fault?: Error;
  } = {},
) {
  const calls: unknown[] = [];
  const record =
    <T>(name: string, value: T) =>
    async (...given: unknown[]) => {
      calls.push([name, ...given]);
      return value;
    };
  const admin = {
    createApplication: record('createApplication', {
      application: { id: '1', name: 'Lantern' },
      bot: { id: '2', username: 'Lantern' },
      botToken: 'bot-token',
      clientSecret: 'client-secret',
    }),
    createUser: record('createUser', { user: { id: '3' }, token: 'user-token' }),
    setPassword: record('setPassword', { loginName: 'juniper', password: 'made' }),
    createGuild: async () => Promise.reject(refusing),
    addMember: record('addMember', undefined),
    setPremiumTier: record('setPremiumTier', undefined),
    rotateToken: record('rotateToken', { token: 'new-token' }),
    revokeTokens: record('revokeTokens', undefined),
    listApplications: async () => Promise.reject(options.fault ?? new Error('the database is on fire')),
    listUsers: record('listUsers', [{ id: '3' }]),
    listGuilds: record('listGuilds', [
      { id: '4', name: 'Hall' },
      { id: '5', name: 'Pier' },
    ]),
  } as unknown as Admin;
  const server = await openAdminServer({
    engine: {
      admin,
      config: DEFAULTS,
      ...{ api: {} as never, interact: () => Promise.reject(new Error('none')) },
      calls: { list: async () => [...(options.calls ?? [])], setAudibility: () => false },
      cluster: { status: async () => Promise.reject(new NotServed('nobody')), drain: async () => undefined },
      metrics: async () => 'up 1\n',
      unready: async () => options.reasons ?? {},
      ...(options.security && { security: options.security }),
    },
    ...{ clock: systemClock, host: '127.0.0.1', port: 0 },
    token: options.token === undefined ? TOKEN : options.token,
    tokens: options.tokens ?? [],
  });
  servers.push(server);
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  };
  return { ask, calls, server };
}

describe('health', () => {
  test('needs no token, and readiness names a reason per part', async () => {
    const { ask } = await arrange({ reasons: { database: 'does not answer' } });
    const nobody = { authorization: '' };
    expect(await ask('GET', '/livez', undefined, nobody)).toEqual({ status: 200, body: { alive: true } });
    expect(await ask('GET', '/metrics', undefined, nobody)).toEqual({ status: 200, body: 'up 1\n' });
    expect(await ask('GET', '/readyz', undefined, nobody)).toEqual({
      status: 503,
      body: { ready: false, reasons: { database: 'does not answer' } },
    });
  });

  test('is ready when no part gives a reason', async () => {
    const { ask } = await arrange();
    expect(await ask('GET', '/readyz')).toEqual({ status: 200, body: { ready: true, reasons: {} } });
  });
});

describe('the admin API', () => {
  test.each([
    ['', 401],
    ['Bearer ', 401],
    [`Bearer ${TOKEN.slice(1)}`, 401],
    [TOKEN, 401],
    [`Bearer ${TOKEN}`, 200],
  ])('answers authorization "%s" with %i', async (authorization, status) => {
    const { ask } = await arrange();
    expect((await ask('GET', '/users', undefined, { authorization })).status).toBe(status);
  });

  test('accepts each of several named tokens, and no part of a token', async () => {
    const tokens = [
      { name: 'ci', secret: 'the-token-of-machines' },
      { name: 'anna', secret: 'the-token-of-anna' },
    ];
    const events: [string, object][] = [];
    const { ask } = await arrange({ tokens, security: (event, fields) => void events.push([event, fields]) });
    const as = (token: string) =>
      ask('POST', '/tokens/revoke', { user_id: '3' }, { authorization: `Bearer ${token}` });
    const given = [TOKEN, ...tokens.map(({ secret }) => secret)];
    for (const token of given) expect((await as(token)).status).toBe(204);
    for (const token of [
      ...given.map((one) => one.slice(1)),
      'ci',
      'ci=the-token-of-machines',
      given.join(','),
    ])
      expect((await as(token)).status).toBe(401);
    const what = { what: 'POST /tokens/revoke', id: null, user_id: '3', status: 204 };
    expect(events.slice(0, 3)).toEqual(
      ['admin_token', 'ci', 'anna'].map((name) => ['admin_change', { token_name: name, ...what }]),
    );
    const refused = ['admin_refused', { reason: 'token', network: '127.0.0.1' }];
    expect(events.slice(3)).toEqual(Array.from({ length: 6 }, () => refused));
  });

  test('accepts a named token when admin_token is not set', async () => {
    const { ask } = await arrange({ token: null, tokens: [{ name: 'ci', secret: TOKEN }] });
    expect((await ask('GET', '/users')).status).toBe(200);
    expect((await ask('GET', '/users', undefined, { authorization: 'Bearer null' })).status).toBe(401);
  });

  test('logs failed changes, and no reads', async () => {
    const events: [string, object][] = [];
    const { ask } = await arrange({ security: (event, fields) => void events.push([event, fields]) });
    await ask('GET', '/users');
    await ask('POST', '/guilds', { name: 'Hall', owner_id: '3' });
    await ask('POST', '/users/3/password', { secret: 'x' });
    await ask('POST', '/tokens/rotate', { user_id: 'not an id' });
    await ask('GET', '/users', undefined, { host: 'evil.example' });
    const by = { token_name: 'admin_token' };
    expect(events.map(([, fields]) => fields)).toEqual([
      { ...by, what: 'POST /guilds', id: null, user_id: null, status: 404 },
      { ...by, what: 'POST /users/:id/password', id: '3', user_id: null, status: 400 },
      { ...by, what: 'POST /tokens/rotate', id: null, user_id: null, status: 400 },
    ]);
  });

  test('stays closed when the server has no admin token', async () => {
    const { ask } = await arrange({ token: null });
    const answer = await ask('GET', '/users', undefined, { authorization: 'Bearer null' });
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'admin_api_closed' } } });
  });

  test('runs commands and shows new secrets once', async () => {
    const { ask, calls } = await arrange();
    expect(await ask('POST', '/applications', { name: 'Lantern', owner_id: '9', flags: 1 })).toEqual({
      status: 201,
      body: {
        application: { id: '1', name: 'Lantern' },
        client_secret: 'client-secret',
        bot: { id: '2', username: 'Lantern', token: 'bot-token' },
      },
    });
    expect((await ask('POST', '/users', { username: 'juniper', global_name: 'Juniper' })).status).toBe(201);
    expect((await ask('POST', '/users/3/password', {})).body).toEqual({
      user_id: '3',
      login: 'juniper',
      password: 'made',
    });
    expect((await ask('POST', '/guilds/77/members', { user_id: '3', permissions: '8' })).status).toBe(204);
    expect((await ask('POST', '/guilds/77/premium-tier', { premium_tier: 2 })).status).toBe(204);
    expect((await ask('POST', '/guilds/77/premium-tier', { premium_tier: 4 })).status).toBe(400);
    expect((await ask('POST', '/tokens/rotate', { user_id: '3' })).body).toEqual({
      user_id: '3',
      token: 'new-token',
    });
    expect((await ask('POST', '/tokens/revoke', { user_id: '3' })).status).toBe(204);
    expect((await ask('GET', '/guilds?after=3&limit=2')).body).toEqual({
      guilds: [
        { id: '4', name: 'Hall' },
        { id: '5', name: 'Pier' },
      ],
    });
    expect(calls).toEqual([
      ['createApplication', { name: 'Lantern', ownerId: '9', flags: 1 }],
      ['createUser', { username: 'juniper', globalName: 'Juniper' }],
      ['setPassword', { userId: '3' }],
      ['addMember', { guildId: '77', userId: '3', permissions: 8n }],
      ['setPremiumTier', { guildId: '77', tier: 2 }],
      ['rotateToken', '3'],
      ['revokeTokens', '3'],
      ['listGuilds', '3', 2],
    ]);
  });

  test('accepts ids as integers with all their digits', async () => {
    const { ask, calls } = await arrange();
    expect((await ask('POST', '/tokens/revoke', '{"user_id":175928847299117063}')).status).toBe(204);
    expect((await ask('POST', '/guilds/77/members', '{"user_id":3}')).status).toBe(204);
    expect(calls).toEqual([
      ['revokeTokens', '175928847299117063'],
      ['addMember', expect.objectContaining({ guildId: '77', userId: '3' })],
    ]);
  });

  test.each([
    ['POST', '/tokens/revoke', '{"user_id":-175928847299117063}', 400, 'invalid_body'],
    ['POST', '/tokens/revoke', '{"user_id":1.5}', 400, 'invalid_body'],
    ['POST', '/users', '{"username":175928847299117063}', 400, 'invalid_body'],
    ['POST', '/users', `[${'0,'.repeat(20_000)}0]`, 400, 'invalid_json'],
    ['POST', '/users', { username: '' }, 400, 'invalid_body'],
    ['POST', '/users', { username: 'a', admin: true }, 400, 'invalid_body'],
    ['POST', '/users', '{"username":', 400, 'invalid_json'],
    ['POST', '/users', { username: 'x'.repeat(70_000) }, 413, 'too_large'],
    ['POST', '/guilds/abc/members', { user_id: '3' }, 404, 'not_found'],
    ['POST', '/guilds', { name: 'a', owner_id: '1' }, 404, '10004'],
    ['GET', '/users?limit=5000', undefined, 400, 'invalid_query'],
    ['GET', '/users?after=-1', undefined, 400, 'invalid_query'],
    ['DELETE', '/users', undefined, 405, 'method_not_allowed'],
    ['GET', '/nowhere', undefined, 404, 'not_found'],
    ['GET', '/cluster', undefined, 503, 'not_served'],
  ])('%s %s with %j is %i %s', async (method, path, body, status, code) => {
    const { ask } = await arrange();
    const answer = await ask(method, path, body);
    expect(answer).toMatchObject({ status, body: { error: { code, message: expect.any(String) } } });
  });

  test.each([
    ['a body that is too large', {}, 413],
    ['a wrong token', { authorization: 'Bearer wrong' }, 401],
  ])('the answer to %s is read whole by a client that is still sending 6 MB', async (_, headers, status) => {
    const { ask } = await arrange();
    for (let round = 0; round < 5; round += 1)
      expect((await ask('POST', '/users', { username: 'x'.repeat(6_000_000) }, headers)).status).toBe(status);
  });

  test('returns the first invalid field with the reason, and the tree of all errors', async () => {
    const { ask } = await arrange();
    const { errors, ...wrong } = invalidField(['username'], 'TAKEN', 'This name is taken. Try another.');
    const of = (tree: object) =>
      new Refused({ ...wrong, errors: { ...errors, ...tree } } as unknown as Refusal);
    const uris = { redirect_uris: { 1: { _errors: [{ code: 'BAD', message: 'Not a URI.' }] } } };
    refusing = of(uris);
    const { status, body } = await ask('POST', '/guilds', { name: 'Hall', owner_id: '3' });
    expect([status, body.error.code]).toEqual([400, '50035']);
    expect(body.error.message).toBe('username: This name is taken. Try another. redirect_uris.1: Not a URI.');
    expect(body.error.errors).toEqual({ ...errors, ...uris });
  });

  test('requires JSON, so that a form of another site is rejected', async () => {
    const { ask } = await arrange();
    const answer = await ask('POST', '/users', '{}', { 'content-type': 'text/plain' });
    expect(answer.status).toBe(415);
  });

  test.each([
    ['fault of the environment with 503', new Error('The house is on fire.'), 503, 'unavailable'],
    ['bug with 500', new TypeError('The house is on fire.'), 500, 'fault'],
  ])('answers a %s, without its text', async (_kind, fault, status, code) => {
    const { ask } = await arrange({ fault });
    const answer = await ask('GET', '/applications');
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
    expect(JSON.stringify(answer.body)).not.toContain('fire');
  });

  test('survives a request target that is no URL', async () => {
    const { ask, server } = await arrange();
    const { hostname, port } = new URL(server.url);
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write('GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n'),
      );
      socket.once('data', (data) => {
        resolve(String(data));
        socket.destroy();
      });
    });
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect((await ask('GET', '/livez')).status).toBe(200);
  });
});

test('findRoute returns a result for every path without throwing', () => {
  fc.assert(
    fc.property(fc.string(), fc.webPath(), (method, path) => {
      expect(findRoute(method, path)).toBeTypeOf('object');
    }),
  );
});

describe('the calls', () => {
  const quiet: Omit<CallListing['members'][number], 'media'> = {
    ...{ userId: '7', ssrc: 5, transport: 'udp', attached: true, connected: true },
    ...{ silenced: false, deafened: false, speaking: false },
  };
  const media = { packetsIn: 50, packetsOut: 40, bytesIn: 5000, bytesOut: 4000, loss: 0.25, jitterMs: 1.5 };
  const callOf = (callId: string, members: CallListing['members']): CallListing => ({
    ...{ callId, serverId: '1', guildId: '1', ageMs: 1234.5 },
    dave: { version: 1, epoch: '3', phase: 'secure' },
    members,
  });

  test('are shown with the media state of their members', async () => {
    const { ask } = await arrange({ calls: [callOf('20', [{ ...quiet, media }])] });
    const { body } = await ask('GET', '/calls');
    expect(body).toEqual({
      voice: true,
      total: 1,
      calls: [
        {
          ...{ call_id: '20', server_id: '1', guild_id: '1', age_ms: 1235 },
          dave: { version: 1, epoch: '3', phase: 'secure' },
          members: [
            {
              ...{ user_id: '7', ssrc: 5, transport: 'udp', attached: true, connected: true },
              ...{ silenced: false, deafened: false, speaking: false },
              media: {
                ...{ packets_in: 50, packets_out: 40, bytes_in: 5000, bytes_out: 4000 },
                ...{ loss: 0.25, jitter_ms: 1.5 },
              },
            },
          ],
        },
      ],
    });
  });

  test('are listed in pages, in order of their ids, with the total count', async () => {
    const { ask } = await arrange({ calls: ['100', '9', '30', '2'].map((callId) => callOf(callId, [])) });
    const page = async (query: string) => {
      const { body } = await ask('GET', `/calls${query}`);
      return [body.total, body.calls.map((call: { call_id: string }) => call.call_id).join(' ')];
    };
    expect(await page('')).toEqual([4, '2 9 30 100']);
    expect(await page('?limit=2')).toEqual([4, '2 9']);
    expect(await page('?limit=2&after=9')).toEqual([4, '30 100']);
    expect(await page('?after=100')).toEqual([4, '']);
    expect((await ask('GET', '/calls?limit=0')).status).toBe(400);
    expect((await ask('GET', '/calls?after=x')).status).toBe(400);
  });
});
