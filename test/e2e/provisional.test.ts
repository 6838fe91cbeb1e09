// Goal: a game's players come in by their own identity provider, become full accounts and part again, over the wire.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { openIssuer } from '../support/oidc.ts';
import { startServer, type TestServer } from '../support/server.ts';

const REDIRECT = 'http://127.0.0.1/callback';

let issuer: Awaited<ReturnType<typeof openIssuer>>;
let folder: string;
let server: TestServer;
beforeAll(async () => {
  issuer = await openIssuer();
  folder = await mkdtemp(join(tmpdir(), 'guildhall-oidc-'));
  await writeFile(join(folder, 'ca.pem'), issuer.ca);
  server = await start();
  const { application } = server.info;
  const oidc = { type: 'OIDC', issuer: issuer.issuer, client_id: 'game' };
  await server.admin(`/applications/${application.id}/identity-providers`, oidc);
  await server.admin(`/applications/${application.id}/oauth2`, { redirect_uris: [REDIRECT] });
});
afterAll(async () => {
  await server.finish();
  await issuer.close();
  await rm(folder, { recursive: true });
});

const start = () =>
  startServer({
    bots: 2,
    dataDir: join(folder, 'data'),
    set: { identity_issuers_private: issuer.issuer, identity_ca_file: join(folder, 'ca.pem') },
  });

interface Tokens {
  readonly access_token: string;
  readonly expires_in: number;
  readonly scope: string;
  readonly id_token: string;
}
interface Refused {
  readonly code: number;
  readonly user_id?: string;
}

async function post<T>(path: string, body: object, authorization?: string, method = 'POST') {
  const response = await fetch(`${server.info.api}/v10${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(authorization && { authorization }) },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as T };
}

const proof = (token: string) => ({
  client_id: server.info.application.id,
  client_secret: server.info.application.client_secret,
  external_auth_type: 'OIDC',
  external_auth_token: token,
});
const signIn = async <T = Tokens>(claims: object, header: object = {}) =>
  post<T>('/partner-sdk/token', proof(await issuer.idToken(claims, header)));
const whoIs = (token: string) =>
  server
    .restOf(`Bearer ${token}`)
    .ask<{ id: string; global_name: string; public_flags: number }>('get_my_user');

/** A person who agrees to what the game asks for; the code for it. */
async function agreed(name: string) {
  const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', {
    username: name,
    global_name: name,
  });
  const query = new URLSearchParams({
    client_id: server.info.application.id,
    response_type: 'code',
    redirect_uri: REDIRECT,
    scope: 'openid sdk.social_layer',
  });
  const answer = await post<{ location: string }>(
    `/oauth2/authorize?${query}`,
    { authorize: true },
    `Bearer ${token}`,
  );
  expect(answer).toMatchObject({ status: 200 });
  return { id: user.id, own: token, code: new URL(answer.body.location).searchParams.get('code')! };
}

/** Exchanges a code, and merges a player with the user who gave it. */
async function exchange<T = Tokens>(code: string, externalToken: string) {
  const { id, client_secret } = server.info.application;
  const response = await fetch(`${server.info.api}/v10/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: id,
      client_secret,
      code,
      redirect_uri: REDIRECT,
      external_auth_type: 'OIDC',
      external_auth_token: externalToken,
    }),
  });
  return { status: response.status, body: (await response.json()) as T };
}

/** A player who has become a full account. */
async function linked(name: string) {
  const player = await signIn({ sub: name });
  const person = await agreed(name);
  const merged = await exchange(person.code, await issuer.idToken({ sub: name }));
  expect(merged.status).toBe(200);
  return { ...person, player: player.body.access_token, token: merged.body.access_token };
}

describe('a player with an ID token', () => {
  test('is signed in with an account of their own, again and again', async () => {
    const first = await signIn({ sub: 'ada', preferred_username: 'Ada' });
    expect(first).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', id_token: expect.any(String) },
    });
    // The first token waits for the key that ID tokens are signed with to be made.
    expect(first.body.expires_in).toBeGreaterThan(604_700);
    expect(first.body.expires_in).toBeLessThanOrEqual(604_800);
    expect(first.body.scope.split(' ')).toEqual(expect.arrayContaining(['openid', 'sdk.social_layer']));
    const again = await signIn({ sub: 'ada', preferred_username: 'Another' });
    const [one, other] = [await whoIs(first.body.access_token), await whoIs(again.body.access_token)];
    expect(one.body).toMatchObject({ global_name: 'Ada', public_flags: 1 << 23 });
    expect(other.body.id).toBe(one.body.id);
  });

  test('renames the account by the token of the game', async () => {
    const { body } = await signIn({ sub: 'renamed' });
    const authorization = `Bearer ${body.access_token}`;
    const renamed = await post('/users/@me/account', { global_name: 'Knight' }, authorization, 'PATCH');
    expect(renamed).toMatchObject({ status: 200, body: { global_name: 'Knight' } });
    const long = await post('/users/@me/account', { global_name: 'x'.repeat(33) }, authorization, 'PATCH');
    expect(long).toMatchObject({ status: 400, body: { code: 50_035 } });
  });

  test.each([
    [{ iss: 'https://evil.example.org' }, {}, 530_002],
    [{ aud: 'other' }, {}, 530_003],
    [{ exp: 1 }, {}, 530_001],
    [{ iat: 1_000_000 }, {}, 530_004],
    [{}, { kid: undefined }, 530_027],
    [{}, { kid: 'unknown' }, 530_020],
  ])('is refused with claims %j and header %j: %i', async (claims, header, code) => {
    expect(await signIn<Refused>(claims, header)).toMatchObject({ status: 400, body: { code } });
  });

  test('is refused without a signature, and without the secret of the game', async () => {
    const [, body] = (await issuer.idToken()).split('.');
    const head = Buffer.from('{"alg":"none","kid":"key-0"}').toString('base64url');
    expect(await post('/partner-sdk/token', proof(`${head}.${body}.`))).toMatchObject({
      body: { code: 530_020 },
    });
    const wrong = { ...proof(await issuer.idToken()), client_secret: 'wrong' };
    expect(await post('/partner-sdk/token', wrong)).toMatchObject({ status: 401, body: { code: 530_007 } });
    const unknown = { ...proof('x'), external_auth_type: 'NOBODY' };
    expect(await post('/partner-sdk/token', unknown)).toMatchObject({ status: 400, body: { code: 50_035 } });
  });
});

describe('an account that a player merges into', () => {
  test('receives the player’s data and an event, and is named when the player signs in again', async () => {
    const { body } = await signIn({ sub: 'merged' });
    const source = (await whoIs(body.access_token)).body.id;
    const profile = `/applications/${server.info.application.id}/users/${source}/identities/merged/profile`;
    const bot = `Bot ${server.info.bot.token}`;
    const written = await post(profile, { username: 'Knight' }, bot, 'PATCH');
    expect(written).toMatchObject({ status: 201, body: { username: 'Knight', data: null } });
    expect(await post(profile, { data: { primary: { season: '3' } } }, bot, 'PATCH')).toMatchObject({
      status: 204,
    });

    const person = await agreed('merged');
    const client = await GatewayClient.ready(server.info.gateway, { token: person.own });
    expect(await exchange(person.code, 'nonsense')).toMatchObject({ status: 403, body: { code: 50_025 } });
    const merged = await exchange(person.code, await issuer.idToken({ sub: 'merged' }));
    expect(merged).toMatchObject({ status: 200, body: { refresh_token: expect.any(String) } });
    const completed = await client.dispatch('USER_MERGE_OPERATION_COMPLETED');
    expect(completed).toEqual({ merge_operation_id: expect.any(String), source_user_id: source });
    client.close();
    expect((await whoIs(body.access_token)).status).toBe(401);
    expect((await whoIs(merged.body.access_token)).body.id).toBe(person.id);

    const again = await signIn<Refused>({ sub: 'merged' });
    expect(again).toMatchObject({
      status: 400,
      body: {
        code: 530_010,
        user_id: person.id,
        provider_type: 'OIDC',
        provider_id: issuer.issuer,
        provider_issued_user_id: 'merged',
      },
    });
    const listed = await post('/application-identities', { user_ids: [person.id, source] }, bot);
    expect(listed.body).toEqual([{ user_id: person.id, external_user_id: 'merged' }]);
  });

  test('is unlinked from the player: tokens end at once, and the player gets a new account', async () => {
    const { id, token } = await linked('parted');
    const client = await GatewayClient.ready(server.info.gateway, { token: `Bearer ${token}` });
    const closed = client.closed;
    const parted = await post(
      '/partner-sdk/provisional-accounts/unmerge',
      proof(await issuer.idToken({ sub: 'parted' })),
    );
    expect(parted.status).toBe(204);
    expect((await closed).code).toBe(4004);
    expect((await whoIs(token)).status).toBe(401);
    const fresh = await signIn({ sub: 'parted' });
    const account = (await whoIs(fresh.body.access_token)).body;
    expect(account.id).not.toBe(id);
    expect(account.global_name).toBe('parted');
    const again = await post<Refused>(
      '/partner-sdk/provisional-accounts/unmerge',
      proof(await issuer.idToken({ sub: 'parted' })),
    );
    expect(again).toMatchObject({ status: 400, body: { code: 50_229 } });
    const nobody = await post<Refused>(
      '/partner-sdk/provisional-accounts/unmerge',
      proof(await issuer.idToken({ sub: 'nobody' })),
    );
    expect(nobody).toMatchObject({ status: 404, body: { code: 10_013 } });
  });

  test('loses access under an operator’s ban, and its player cannot be linked until the ban ends', async () => {
    const { id, token } = await linked('banned');
    await server.admin(`/users/${id}/ban`, {});
    expect((await whoIs(token)).status).toBe(401);
    expect(await signIn({ sub: 'banned' })).toMatchObject({ status: 200 });
    const other = await agreed('other');
    const external = await issuer.idToken({ sub: 'banned' });
    expect(await exchange(other.code, external)).toMatchObject({ status: 400, body: { code: 530_017 } });
    await server.admin(`/users/${id}/unban`, {});
    expect(await exchange(other.code, external)).toMatchObject({ status: 200 });
  });
});

describe('identities', () => {
  test('are shown only to their own game and their own user', async () => {
    const { body } = await signIn({ sub: 'shown' });
    const { id } = (await whoIs(body.access_token)).body;
    const path = `/users/${id}/application-identities/${server.info.application.id}`;
    const get = async (authorization: string) => {
      const response = await fetch(`${server.info.api}/v10${path}`, { headers: { authorization } });
      return { status: response.status, body: await response.json() };
    };
    const identity = {
      provider_type: 'OIDC',
      provider_id: issuer.issuer,
      provider_issued_user_id: 'shown',
      user_id: id,
    };
    for (const authorization of [`Bot ${server.info.bot.token}`, `Bearer ${body.access_token}`])
      expect(await get(authorization)).toEqual({ status: 200, body: { identities: [identity] } });
    const stranger = await signIn({ sub: 'stranger' });
    for (const authorization of [`Bot ${server.info.bots[1]!.token}`, `Bearer ${stranger.body.access_token}`])
      expect(await get(authorization)).toMatchObject({ status: 403, body: { code: 50_001 } });
  });
});

describe('an issuer', () => {
  test.each([
    'https://127.0.0.1',
    'https://169.254.169.254/latest',
    'https://localhost',
    'http://id.example.org',
    'https://metadata.google.internal',
    'https://id.example.org/?a',
  ])('cannot be %s', async (text) => {
    const { application, admin } = server.info;
    const response = await fetch(`${admin.url}/applications/${application.id}/identity-providers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'OIDC', issuer: text, client_id: 'game' }),
    });
    expect(response.status).toBe(400);
  });
});

describe('a server that is killed', () => {
  test('keeps every player and finishes pending operations after the restart', async () => {
    const { id } = await linked('survivor');
    const before = (await whoIs((await signIn({ sub: 'ada' })).body.access_token)).body.id;
    await server.kill9();
    server = await start();
    // The demo is created again over the old data; the earlier game is known by its id and secret.
    expect((await whoIs((await signIn({ sub: 'ada' })).body.access_token)).body.id).toBe(before);
    expect(await signIn<Refused>({ sub: 'survivor' })).toMatchObject({
      body: { code: 530_010, user_id: id },
    });
  });
});
