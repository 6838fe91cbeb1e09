// Goal: the operations of the authorization server speak the RFC's wire: forms, Basic credentials, errors, no caches.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newApplication } from '../../../../engine/user/application.ts';
import { newUser } from '../../../../engine/user/user.ts';
import type { ApplicationId, UserId } from '../../../../protocol/ids.ts';
import { BAD_REFRESH_TOKEN } from '../../../../protocol/oauth.ts';
import { refusal } from '../../../../protocol/refusal.ts';
import type { Scope } from '../../../../protocol/scopes.ts';
import { Secret } from '../../../../protocol/secret.ts';
import type { TokenAnswer, TokenRequest } from '../../../../services/oauth/ports.ts';
import { discoveryDocument, wellKnownRoutes } from '../../../../transports/http/wellknown.ts';
import type { Caller } from '../../../../transports/rest/operation.ts';
import { oauth2, oauth2Unlisted } from '../../../../transports/rest/resources/oauth2.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { HUMAN, pipelineOf, startApi } from '../../../support/rest.ts';

const GAME = '1100000000000000011' as ApplicationId;
const person = newUser({ id: HUMAN.userId, username: 'ada', globalName: 'Ada', bot: false });
const robot = newUser({ id: GAME as string as UserId, username: 'game', globalName: null, bot: true });
const application = newApplication(GAME, GAME as string as UserId, {
  name: 'Game',
  ownerId: HUMAN.userId,
  flags: 0,
  verifyKey: 'ab',
});

const TOKENS: TokenAnswer = {
  accessToken: new Secret('access'),
  refreshToken: new Secret('refresh'),
  expiresInSec: 604_800,
  expiresMs: 1,
  scopes: new Set(['identify', 'guilds']),
  idToken: null,
  guild: null,
};

const asked: TokenRequest[] = [];
const shown: (string | null)[][] = [];
let answer: unknown = { ok: true, value: TOKENS };

const services = {
  oauth: {
    token: async (request: TokenRequest) => {
      asked.push(request);
      return answer;
    },
    client: async (id: string, secret: string | null) => {
      shown.push([id, secret]);
      return secret === 'wrong' ? null : { application, proved: true };
    },
    revoke: async () => {},
    devices: {
      begin: async () => ({
        ok: true,
        value: { deviceCode: new Secret('device'), userCode: 'BCDFGHJK', expiresInSec: 300, intervalSec: 5 },
      }),
      look: async (code: string) =>
        code === 'BCDFGHJK' ? { application, scopes: ['identify'], state: 'pending' } : null,
      finish: async (_userId: string, code: string) => code === 'BCDFGHJK',
    },
    publicKeys: async () => [{ kty: 'RSA', use: 'sig', kid: 'k', n: 'n', e: 'AQAB', alg: 'RS256' }],
    grants: async () => [{ id: '70', applicationId: GAME, scopes: ['identify'] }],
    deauthorize: async () => true,
    consents: {
      describe: async () => ({ kind: 'refused', refusal: refusal('UNKNOWN_APPLICATION') }),
      decide: async () => ({ kind: 'decided', location: 'https://game.example/?code=c', guildId: null }),
    },
  },
  accounts: { contact: async () => ({ email: 'ada@example.org', verified: true }) },
  read: {
    users: { get: async (ids: readonly string[]) => [person, robot].filter(({ id }) => ids.includes(id)) },
    applications: { get: async () => application },
  },
};

const operations = { ...oauth2, ...oauth2Unlisted };
let api: Awaited<ReturnType<typeof startApi>>;
beforeAll(async () => {
  const installers = [wellKnownRoutes(() => 'https://guild.example')];
  api = await startApi(operations, { services, limited: false, installers });
});
afterAll(() => api.server.close());

async function post(path: string, body: string | object, headers: Record<string, string> = {}) {
  const form =
    typeof body === 'string' ? body : new URLSearchParams(body as Record<string, string>).toString();
  const type = 'application/x-www-form-urlencoded';
  const response = await fetch(`${api.url}/api/v10/oauth2/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': type, ...headers },
    body: form,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) };
}
const basic = (id: string, secret: string) => ({
  Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

describe('the token endpoint', () => {
  test('returns tokens with headers that forbid caching', async () => {
    const { status, headers, body } = await post('token', {
      grant_type: 'authorization_code',
      client_id: GAME,
      client_secret: 's',
      code: 'c',
      redirect_uri: 'https://game.example/a?b=c&d',
    });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('pragma')).toBe('no-cache');
    expect(body).toEqual({
      token_type: 'Bearer',
      access_token: 'access',
      refresh_token: 'refresh',
      expires_in: 604_800,
      scope: 'guilds identify',
    });
    expect(asked.at(-1)).toEqual({
      clientId: GAME,
      clientSecret: 's',
      grantType: 'authorization_code',
      code: 'c',
      redirectUri: 'https://game.example/a?b=c&d',
      codeVerifier: null,
      refreshToken: null,
      scope: null,
      deviceCode: null,
      external: null,
    });
  });

  test('accepts the client by Basic authentication with form encoding', async () => {
    const { status } = await post('token', { grant_type: 'refresh_token' }, basic(GAME, 'a%20b+c%3A'));
    expect(status).toBe(200);
    expect(asked.at(-1)).toMatchObject({ clientId: GAME, clientSecret: 'a b c:' });
  });

  test.each([
    ['two ways at once', { client_secret: 's' }],
    ['two names', { client_id: '99' }],
  ])('refuses a client that authenticates in %s', async (_, more) => {
    const { status, body } = await post('token', { grant_type: 'x', ...more }, basic(GAME, 's'));
    expect([status, body.error]).toEqual([400, 'invalid_request']);
  });

  test('ignores tokens in the Authorization header, valid or not', async () => {
    for (const token of ['Bearer good', 'Bearer bad', 'Bot bad', 'Basic', 'Basic ???'])
      expect(
        (await post('token', { grant_type: 'x', client_id: GAME }, { Authorization: token })).status,
      ).toBe(200);
  });

  test.each([
    ['JSON', '{"grant_type":"refresh_token"}', { 'Content-Type': 'application/json' }],
    ['no type', 'grant_type=x', { 'Content-Type': '' }],
    ['no grant', `client_id=${GAME}`, {}],
    ['a field twice', `grant_type=x&grant_type=y&client_id=${GAME}`, {}],
    ['a field too long', `grant_type=x&client_id=${GAME}&code=${'x'.repeat(600)}`, {}],
    ['an incomplete proof', `grant_type=x&client_id=${GAME}&external_auth_type=OIDC`, {}],
    ['another provider', `grant_type=x&client_id=${GAME}&external_auth_type=X&external_auth_token=y`, {}],
  ])('answers %s with invalid_request', async (_, form, headers) => {
    const { status, body } = await post('token', form, headers as Record<string, string>);
    expect([status, body]).toEqual([
      400,
      { error: 'invalid_request', error_description: expect.stringMatching(/\S/) },
    ]);
  });

  test('passes the proof of an external account to the service', async () => {
    const external = { external_auth_type: 'OIDC', external_auth_token: 'x'.repeat(10_240) };
    await post('token', { grant_type: 'authorization_code', client_id: GAME, ...external });
    expect(asked.at(-1)?.external).toEqual({
      externalAuthType: 'OIDC',
      externalAuthToken: 'x'.repeat(10_240),
    });
  });

  test('refuses a form that is too large, before it is read', async () => {
    const { status } = await post('token', `grant_type=${'x'.repeat(70_000)}`).catch(() => ({ status: 413 }));
    expect(status).toBe(413);
  });

  test('returns error codes of the RFC, and of the platform for a merge', async () => {
    answer = { ok: false, refusal: BAD_REFRESH_TOKEN };
    const request = { grant_type: 'refresh_token', client_id: GAME };
    expect(await post('token', request)).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Invalid "refresh_token" in request' },
    });
    answer = { ok: false, refusal: { status: 400, code: 530_014, message: 'Not provisional' } };
    expect((await post('token', request)).body).toEqual({ code: 530_014, message: 'Not provisional' });
    answer = { ok: true, value: { ...TOKENS, refreshToken: null, idToken: 'a.b.c', guild: { id: '1' } } };
    const { body } = await post('token', request);
    expect(body).toMatchObject({ id_token: 'a.b.c', guild: { id: '1' } });
    expect(body).not.toHaveProperty('refresh_token');
  });

  test('answers a client without credentials with 401 and WWW-Authenticate', async () => {
    const { status, headers, body } = await post('token', { grant_type: 'x' });
    expect([status, body.error]).toEqual([401, 'invalid_client']);
    expect(headers.get('www-authenticate')).toMatch(/^Basic /);
  });
});

test('revocation returns 200 for any token, and 401 to unknown clients', async () => {
  expect((await post('token/revoke', { token: 'x', client_id: GAME, client_secret: 's' })).status).toBe(200);
  const stranger = await post('token/revoke', { token: 'x' }, basic(GAME, 'wrong'));
  expect([stranger.status, stranger.body.error]).toEqual([401, 'invalid_client']);
  expect(shown.at(-1)).toEqual([GAME, 'wrong']);
});

test('a device receives the verification URI for its user', async () => {
  const { body } = await post('device/authorize', { client_id: GAME, scope: 'identify' });
  expect(body).toEqual({
    device_code: 'device',
    user_code: 'BCDFGHJK',
    verification_uri: 'http://127.0.0.1/activate',
    verification_uri_complete: 'http://127.0.0.1/activate?user_code=BCDFGHJK',
    expires_in: 300,
    interval: 5,
  });
});

test('discovery lists every endpoint under its issuer', async () => {
  const response = await fetch(`${api.url}/.well-known/openid-configuration`);
  expect(await response.json()).toEqual(discoveryDocument('https://guild.example'));
  expect(response.headers.get('content-type')).toBe('application/json');
});

const { pipeline } = pipelineOf(operations, { services, limited: false });
const acting = (...scopes: Scope[]): Caller => ({
  ...HUMAN,
  applicationId: GAME,
  authorization: { id: '70', applicationId: GAME, scopes: new Set(scopes), expiresMs: 1_800_000_000_000 },
});
async function call(id: string, caller: Caller | null, more: object = {}) {
  const { status, body } = await pipeline.invoke(id, {
    caller,
    publicUrl: 'http://x',
    address: null,
    ...more,
  });
  if (id in oauth2) expect(validateResponse(id, status, body)).toEqual([]);
  return { status, body };
}

describe('the description of a token', () => {
  test('is returned to its holder, with the user if the scopes allow it', async () => {
    const { body } = await call('get_my_oauth2_authorization', acting('guilds'));
    expect(body).toMatchObject({
      application: { id: GAME, name: 'Game', bot: { id: GAME } },
      scopes: ['guilds'],
      expires: '2027-01-15T08:00:00.000Z',
    });
    expect(body).not.toHaveProperty('user');
    expect(JSON.stringify(body)).not.toContain('owner');
    const identified = await call('get_my_oauth2_authorization', acting('identify'));
    expect(identified.body).toMatchObject({ user: { id: HUMAN.userId } });
    expect((await call('get_my_oauth2_authorization', HUMAN)).status).toBe(403);
  });

  test('contains the claims of the user that the scopes allow', async () => {
    const sub = HUMAN.userId;
    expect((await call('get_openid_connect_userinfo', acting('openid'))).body).toEqual({ sub });
    const named = { sub, preferred_username: 'ada', nickname: 'Ada', locale: 'en-US' };
    expect((await call('get_openid_connect_userinfo', acting('openid', 'identify'))).body).toEqual(named);
    const mailed = await call('get_openid_connect_userinfo', acting('openid', 'identify', 'email'));
    expect(mailed.body).toEqual({ ...named, email: 'ada@example.org', email_verified: true });
    expect((await call('get_openid_connect_userinfo', acting('identify', 'email'))).status).toBe(403);
  });

  test('is verified with public keys', async () => {
    expect((await call('get_public_keys', null)).body).toMatchObject({ keys: [{ kid: 'k', alg: 'RS256' }] });
  });
});

describe('consent and device operations', () => {
  const decision = { query: { client_id: GAME }, body: { authorize: true } };
  test('are refused to applications that act for a user', async () => {
    for (const [id, more] of [
      ['oauth2_authorize', decision],
      ['oauth2_describe', decision],
      ['oauth2_device_verify', { body: { user_code: 'BCDFGHJK' } }],
      ['oauth2_device_finish', { body: { user_code: 'BCDFGHJK', result: 'granted' } }],
      ['oauth2_tokens', {}],
      ['oauth2_token_delete', { params: { token_id: '70' } }],
    ] as const)
      expect((await call(id, acting('identify', 'openid'), more)).status, id).toBe(403);
  });

  test('let a user consent, list grants, and revoke them', async () => {
    expect((await call('oauth2_authorize', HUMAN, decision)).body).toEqual({
      location: 'https://game.example/?code=c',
    });
    expect((await call('oauth2_describe', HUMAN, decision)).status).toBe(404);
    expect((await call('oauth2_tokens', HUMAN)).body).toMatchObject([
      { id: '70', scopes: ['identify'], application: { id: GAME } },
    ]);
    expect((await call('oauth2_token_delete', HUMAN, { params: { token_id: '70' } })).status).toBe(204);
    expect((await call('oauth2_token_delete', HUMAN, { params: { token_id: '71' } })).status).toBe(404);
  });

  test('let a user approve a device', async () => {
    const device = await call('oauth2_device_verify', HUMAN, { body: { user_code: 'BCDFGHJK' } });
    expect(device.body).toMatchObject({ client_id: GAME, scopes: ['identify'], type: 'pending' });
    const finish = (user_code: string) =>
      call('oauth2_device_finish', HUMAN, { body: { user_code, result: 'granted' } });
    expect((await finish('BCDFGHJK')).status).toBe(204);
    expect((await finish('XXXXXXXX')).status).toBe(404);
  });
});
