// Goal: programs sign people in, act within what was agreed to, and stop at once when it is taken back, on a real server.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { OAuthClient, pkce, type Tokens } from '../support/oauth.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CALLBACK = 'https://game.example/callback';
const LOCAL = 'http://127.0.0.1/callback';
const SCHEME = 'game-77:/authorize/callback';
const REDIRECTS = [CALLBACK, LOCAL, SCHEME];

let server: TestServer;
let game: Awaited<ReturnType<typeof OAuthClient.make>>;
let dataDir: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guildhall-oauth-'));
  server = await startServer({ dataDir });
  const [{ id: owner_id } = { id: '' }] = server.info.users;
  game = await OAuthClient.make(server, { owner_id, redirect_uris: REDIRECTS });
});
afterAll(async () => {
  await server.finish();
  await rm(dataDir, { recursive: true, force: true });
});

const person = (index = 0) => server.info.users[index]!;
const bearer = ({ access_token }: Tokens) => server.restOf(`Bearer ${access_token}`);

describe('signing in', () => {
  test.each([CALLBACK, 'http://127.0.0.1:49152/callback', SCHEME])(
    'is answered at %s, and the code gives a token of the person',
    async (redirect) => {
      const tokens = await game.signIn(person().token, redirect, 'identify guilds');
      expect(await bearer(tokens).call('get_my_user')).toMatchObject({ id: person().id });
      expect(await bearer(tokens).call('list_my_guilds')).toMatchObject([{ id: server.info.guild.id }]);
    },
  );

  test('gives an ID token that anybody can check by discovery', async () => {
    const { verifier, asked } = pkce();
    const { body } = await game.decide(person().token, {
      ...{ response_type: 'code', redirect_uri: CALLBACK, scope: 'openid identify', nonce: 'n' },
      ...asked,
    });
    const code = new URL(body.location!).searchParams.get('code')!;
    const { id_token, ...tokens } = await game.tokens({
      ...{ grant_type: 'authorization_code', redirect_uri: CALLBACK, code, code_verifier: verifier },
    });
    const discovered = await fetch(`${server.info.cdn}/.well-known/openid-configuration`);
    const {
      issuer,
      jwks_uri: jwks,
      userinfo_endpoint: info,
    } = (await discovered.json()) as Record<string, string>;
    const { payload } = await jwtVerify(id_token!, createRemoteJWKSet(new URL(jwks!)), {
      issuer: issuer!,
      audience: game.id,
    });
    expect(payload).toMatchObject({ sub: person().id, nonce: 'n' });
    const said = await fetch(info!, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect(await said.json()).toMatchObject({ sub: person().id, preferred_username: person().name });
  });

  test('redirects nowhere but to the application', async () => {
    const foreign = { response_type: 'code', scope: 'identify', redirect_uri: 'https://evil.example/' };
    expect(await game.decide(person().token, foreign)).toMatchObject({ status: 400, body: { code: 50035 } });
    const query = { ...foreign, redirect_uri: CALLBACK };
    const denied = await game.decide(person().token, query, { authorize: false });
    expect(new URL(denied.body.location!).searchParams.get('error')).toBe('access_denied');
  });

  test('needs PKCE and no secret for a public client', async () => {
    const setup = { owner_id: person().id, redirect_uris: [LOCAL], public_client: true };
    const pocket = await OAuthClient.make(server, setup);
    const bare = new OAuthClient(server, { id: pocket.id, secret: '' });
    const tokens = await bare.signIn(person().token, LOCAL, 'identify');
    const again = await bare.tokens({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token! });
    expect(await bearer(again).call('get_my_user')).toMatchObject({ id: person().id });
    const { body } = await bare.post('token', { grant_type: 'client_credentials', scope: 'identify' });
    expect(body.error).toBe('invalid_client');
  });
});

describe('an access token', () => {
  test('allows what its scopes cover, and names the missing scope otherwise', async () => {
    const tokens = await game.signIn(person().token, CALLBACK, 'identify');
    const me = await bearer(tokens).call<object>('get_my_user');
    expect(me).not.toHaveProperty('email');
    expect(await bearer(tokens).ask('list_my_guilds')).toMatchObject({
      status: 403,
      body: { code: 50026, message: 'Missing required OAuth2 scope: guilds' },
    });
    const channel = { params: { channel_id: server.info.guild.text_channel_id }, body: { content: 'x' } };
    expect(await bearer(tokens).ask('create_message', channel)).toMatchObject({ status: 403 });
    expect(await bearer(tokens).call('get_my_oauth2_authorization')).toMatchObject({
      application: { id: game.id },
      scopes: ['identify'],
      user: { id: person().id },
    });
  });

  test('lets the application’s bot, and no other, add the person if it has guilds.join', async () => {
    const { user } = await server.admin<{ user: { id: string } }>('/users', { username: 'host' });
    const { guild } = await server.admin<{ guild: { id: string } }>('/guilds', {
      name: 'G',
      owner_id: user.id,
    });
    for (const user_id of [game.botId, server.info.bot.id])
      await server.admin(`/guilds/${guild.id}/members`, { user_id, permissions: '8' });
    const params = { guild_id: guild.id, user_id: person(1).id };
    const add = (bot: string, { access_token }: Tokens) =>
      server.restOf(`Bot ${bot}`).ask('add_guild_member', { params, body: { access_token } });
    const plain = await game.signIn(person(1).token, CALLBACK, 'identify');
    const joining = await game.signIn(person(1).token, CALLBACK, 'identify guilds.join');
    expect(await add(game.botToken, plain)).toMatchObject({ status: 403, body: { code: 50026 } });
    expect(await add(server.info.bot.token, joining)).toMatchObject({ status: 403, body: { code: 50025 } });
    expect((await add(game.botToken, joining)).status).toBe(201);
  });

  test('belongs to the owner when it comes by client credentials', async () => {
    const tokens = await game.tokens({ grant_type: 'client_credentials', scope: 'identify' });
    expect(tokens).not.toHaveProperty('refresh_token');
    expect(await bearer(tokens).call('get_my_user')).toMatchObject({ id: person().id });
  });
});

describe('a token pair', () => {
  test('ends at once on refresh, and its whole chain ends when an old refresh token is reused', async () => {
    const first = await game.signIn(person().token, CALLBACK, 'identify');
    const { body } = await game.refresh(first.refresh_token!);
    const second = body as unknown as Tokens;
    expect((await bearer(first).ask('get_my_user')).status).toBe(401);
    expect((await bearer(second).ask('get_my_user')).status).toBe(200);
    expect(await game.refresh(first.refresh_token!)).toEqual({
      status: 400,
      body: { error: 'invalid_grant', error_description: 'Invalid "refresh_token" in request' },
    });
    expect((await bearer(second).ask('get_my_user')).status).toBe(401);
    expect((await game.refresh(second.refresh_token!)).status).toBe(400);
  });

  test('ends with every token and session of the user in the application when one token is revoked', async () => {
    const scope = 'openid sdk.social_layer_presence';
    const [tokens, other] = [
      await game.signIn(person(1).token, CALLBACK, scope),
      await game.signIn(person(1).token, SCHEME, scope),
    ];
    const session = await GatewayClient.ready(server.info.gateway, {
      token: `Bearer ${other.access_token}`,
      intents: 0,
    });
    expect((await game.post('token/revoke', { token: tokens.refresh_token! })).status).toBe(200);
    const told = await session.dispatch('OAUTH2_TOKEN_REVOKE');
    expect(told).toEqual({ application_id: game.id });
    expect((await session.closed).code).toBe(4004);
    for (const each of [tokens, other]) expect((await bearer(each).ask('get_my_user')).status).toBe(401);
  });

  test('stays ended, and its successor valid, after a SIGKILL of the server', async () => {
    const kept = await game.signIn(person().token, CALLBACK, 'identify openid');
    const refreshed = (await game.refresh(kept.refresh_token!)).body as unknown as Tokens;
    await server.kill9();
    server = await startServer({ dataDir });
    game = Object.assign(new OAuthClient(server, game), { botId: game.botId, botToken: game.botToken });
    expect((await bearer(kept).ask('get_my_user')).status).toBe(401);
    expect((await bearer(refreshed).ask('get_my_user')).status).toBe(200);
    expect((await game.refresh(refreshed.refresh_token!)).status).toBe(200);
  });
});

test('a device without a browser gets tokens when a person enters its code', async () => {
  const asked = await game.post<Record<string, string>>('device/authorize', { scope: 'identify' });
  const { device_code = '', user_code = '', verification_uri } = asked.body;
  expect(verification_uri).toBe(`${server.info.cdn}/activate`);
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code };
  expect((await game.post('token', grant)).body.error).toBe('authorization_pending');
  const answer = (step: string, body: object) =>
    fetch(`${server.info.api}/oauth2/device/${step}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person().token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect(await (await answer('verify', { user_code })).json()).toMatchObject({ client_id: game.id });
  expect((await answer('finish', { user_code, result: 'granted' })).status).toBe(204);
  const tokens = await game.tokens(grant);
  expect(await bearer(tokens).call('get_my_user')).toMatchObject({ id: person().id });
});

test('a bot is added to a server with a managed role, which is removed with the bot', async () => {
  const host = await server.admin<{ user: { id: string }; token: string }>('/users', { username: 'warden' });
  const named = { name: 'Keep', owner_id: host.user.id };
  const { guild } = await server.admin<{ guild: { id: string } }>('/guilds', named);
  const query = { scope: 'bot applications.commands', permissions: '3072' };
  const stranger = await game.decide(person().token, query, { guild_id: guild.id });
  expect(stranger).toMatchObject({ status: 403, body: { code: 50013 } });
  const decided = await game.decide(host.token, query, { guild_id: guild.id });
  expect(decided).toEqual({ status: 200, body: { location: null } });
  const owner = server.restOf(`Bearer ${host.token}`);
  const roles = () =>
    owner.call<{ id: string; managed: boolean; permissions: string; tags?: object }[]>('list_guild_roles', {
      params: { guild_id: guild.id },
    });
  const [role] = (await roles()).filter(({ managed }) => managed);
  expect(role).toMatchObject({ name: 'Lighthouse', permissions: '3072', tags: { bot_id: game.botId } });
  const member = { params: { guild_id: guild.id, user_id: game.botId } };
  expect(await owner.call('get_guild_member', member)).toMatchObject({ roles: [role!.id] });
  expect(
    (await owner.ask('delete_guild_role', { params: { guild_id: guild.id, role_id: role!.id } })).status,
  ).toBe(400);
  await owner.call('delete_guild_member', member);
  expect((await roles()).some(({ managed }) => managed)).toBe(false);
});
