// Goal: dispatches between people, players and members of a lobby are sent to the sessions concerned, and to no
// others.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../main.ts';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { OP } from '../../protocol/opcodes.ts';
import { type Caller, callerOf } from '../support/callers.ts';
import { freePort } from '../support/freeport.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { OAuthClient } from '../support/oauth.ts';
import { openRelay } from '../support/relay.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CALLBACK = 'http://127.0.0.1/callback';
const own = '/users/@me';
const beyond = '/guildhall/v1';
type WithId = { readonly id: string };

let server: TestServer;
let bot: Caller;
let application: string;
/** Somebody who has nothing to do with any of it. */
let stranger: GatewayClient;
const open: GatewayClient[] = [];
beforeAll(async () => {
  server = await startServer();
  application = server.info.application.id;
  bot = callerOf(server, `Bot ${server.info.bot.token}`);
  await server.admin(`/applications/${application}/oauth2`, { redirect_uris: [CALLBACK] });
  stranger = await gatewayOf(await player('stranger'));
});
afterAll(async () => {
  for (const session of open) session.close();
  await server?.finish();
});

interface Someone extends WithId {
  readonly authorization: string;
  readonly call: Caller;
}

async function someone(authorization: string): Promise<Someone> {
  const call = callerOf(server, authorization);
  return { id: (await call<WithId>(`GET ${own}`)).id, authorization, call };
}
const person = async (username: string) =>
  someone((await server.admin<{ token: string }>('/users', { username })).token);

async function player(name: string): Promise<Someone> {
  const body = { external_user_id: name, preferred_global_name: name };
  const made = await bot<{ access_token: string }>('POST /partner-sdk/token/bot', body);
  return someone(`Bearer ${made.access_token}`);
}

/** A person in the game, with what the person let it do. */
async function playing(who: Someone, scope: string, more: Record<string, string> = {}): Promise<Someone> {
  const { id, client_secret: secret } = server.info.application;
  const client = new OAuthClient(server, { id, secret });
  const { body } = await client.decide(who.authorization, {
    ...{ response_type: 'code', redirect_uri: CALLBACK, scope },
  });
  const { access_token } = await client.tokens({
    ...{ grant_type: 'authorization_code', redirect_uri: CALLBACK, ...more },
    code: new URL(body.location ?? '').searchParams.get('code') ?? '',
  });
  return someone(`Bearer ${access_token}`);
}

async function gatewayOf(
  { authorization: token }: Someone,
  capabilities: number = CAPABILITY.AUTO_LOBBY_CONNECT,
): Promise<GatewayClient> {
  const session = await GatewayClient.ready(server.info.gateway, { token, capabilities });
  open.push(session);
  return session;
}

async function friends(one: Someone, other: Someone, path = 'relationships'): Promise<void> {
  await one.call(`PUT ${own}/${path}/${other.id}`, {});
  await other.call(`PUT ${own}/${path}/${one.id}`, {});
}
const heardNothing = (session: GatewayClient, names: RegExp) =>
  expect(session.names.filter((name) => names.test(name))).toEqual([]);

describe('between people', () => {
  test('a friend nickname is sent to the person who set it, and ringing to both', async () => {
    const [cid, dan] = [await person('cid.social'), await person('dan.social')];
    await friends(cid, dan);
    const [cidAt, danAt] = [await gatewayOf(cid), await gatewayOf(dan)];
    await cid.call(`PATCH ${own}/relationships/${dan.id}`, { nickname: 'Danny' });
    expect(await cidAt.dispatch('RELATIONSHIP_UPDATE')).toMatchObject({ id: dan.id, nickname: 'Danny' });
    const { id } = await cid.call<WithId>(`POST ${own}/channels`, { recipient_id: dan.id });
    const place = { guild_id: null, channel_id: id, self_mute: false, self_deaf: false };
    cidAt.send(OP.VOICE_STATE_UPDATE, place);
    await danAt.dispatch('CALL_CREATE');
    await cid.call(`POST /channels/${id}/call/ring`, { recipients: [dan.id] });
    for (const at of [cidAt, danAt])
      expect(
        await at.dispatch('CALL_UPDATE', ({ ringing }) => (ringing as string[]).length > 0),
      ).toMatchObject({
        ...{ channel_id: id, ringing: [dan.id] },
      });
    heardNothing(danAt, /^RELATIONSHIP_UPDATE$/);
    heardNothing(stranger, /^(CALL|RELATIONSHIP)_/);
  });
});

describe('between players', () => {
  test('the end of a game friendship is sent to both players, in the game', async () => {
    const [ann, bob] = [await player('ann'), await player('bob')];
    const [annAt, bobAt] = [await gatewayOf(ann), await gatewayOf(bob)];
    await friends(ann, bob, 'game-relationships');
    await ann.call(`DELETE ${own}/game-relationships/${bob.id}`);
    for (const [at, other] of [
      [annAt, bob],
      [bobAt, ann],
    ] as const)
      expect(await at.dispatch('GAME_RELATIONSHIP_REMOVE')).toMatchObject({ id: other.id });
    heardNothing(stranger, /RELATIONSHIP/);
  });

  test('an invitation to play is sent to a game without the scope for messages', async () => {
    const [jim, kim] = [await person('jim.social'), await person('kim.social')];
    await friends(jim, kim);
    const jimPlays = await playing(jim, 'openid sdk.social_layer');
    const [jimAt, kimAt] = [
      await gatewayOf(jimPlays),
      await gatewayOf(await playing(kim, 'openid sdk.social_layer_presence')),
    ];
    const activity = {
      name: 'Chess',
      type: 0,
      party: { id: 'table 1', size: [1, 2] },
      secrets: { join: 'sesame' },
    };
    jimAt.send(OP.PRESENCE_UPDATE, { since: null, status: 'online', afk: false, activities: [activity] });
    const message = {
      content: 'come',
      activity: { type: 1, session_id: jimAt.sessionId, party_id: 'table 1' },
    };
    await expect
      .poll(() => jimPlays.call(`POST /users/${kim.id}/messages`, message).then(() => 'sent', String), {
        timeout: 10_000,
      })
      .toBe('sent');
    expect(await kimAt.dispatch('ACTIVITY_INVITE_CREATE')).toMatchObject({ author: { id: jim.id } });
    heardNothing(stranger, /INVITE/);
  });

  test('the player receives a changed profile and a removed identity', async () => {
    const before = await player('fay');
    const fay = await person('fay.social');
    const plays = await playing(fay, 'openid sdk.social_layer', {
      external_auth_type: 'DISCORD_BOT_ISSUED_ACCESS_TOKEN',
      external_auth_token: before.authorization.slice('Bearer '.length),
    });
    const at = await gatewayOf(plays);
    await bot(`PATCH /applications/${application}/users/${fay.id}/identities/fay/profile`, {
      username: 'Knight',
    });
    expect(await at.dispatch('USER_APPLICATION_IDENTITY_UPDATE')).toMatchObject({ user_id: fay.id });
    await bot(`POST ${own.replace('@me', fay.id)}/application-identities/${application}/BOT/fay/delete`, {});
    expect(await at.dispatch('USER_APPLICATION_IDENTITY_REMOVE')).toMatchObject({ user_id: fay.id });
    heardNothing(stranger, /IDENTITY/);
  });

  test('members, settings, voice, ready checks and messages are dispatched within the lobby', async () => {
    const [gil, hal] = [await player('gil'), await player('hal')];
    const [gilAt, halAt] = [await gatewayOf(gil), await gatewayOf(hal)];
    const { id } = await gil.call<WithId>(`POST ${beyond}/lobbies`, { listed: true, host_grace_seconds: 0 });
    const path = `${beyond}/lobbies/${id}`;
    await hal.call(`PUT ${path}/members/@me`, {});
    await bot(`PUT /lobbies/${id}/members/${hal.id}`, { metadata: { team: 'red' } });
    const isRed = (d: Record<string, unknown>) => JSON.stringify(d).includes('"team":"red"');
    expect(await gilAt.dispatch('LOBBY_MEMBER_UPDATE', isRed)).toMatchObject({ lobby_id: id });
    const gilPlays = await gatewayOf(gil, CAPABILITY.AUTO_LOBBY_CONNECT | CAPABILITY.LOBBY_CHANGES);
    await bot(`PATCH /lobbies/${id}`, { metadata: { map: 'dunes' } });
    await halAt.dispatch('LOBBY_UPDATE');
    expect(await gilPlays.dispatch('GUILDHALL_LOBBY_UPDATE')).toMatchObject({
      id,
      metadata: { map: 'dunes' },
    });
    await bot(`PUT /lobbies/${id}/members/${hal.id}`, { metadata: { team: 'blue' } });
    expect(await gilPlays.dispatch('GUILDHALL_LOBBY_MEMBER_UPDATE')).toMatchObject({
      member: { id: hal.id, metadata: { team: 'blue' } },
    });
    heardNothing(gilPlays, /^LOBBY_(MEMBER_)?UPDATE/);
    const voice = (on: boolean) =>
      halAt.send(OP.LOBBY_VOICE_STATES, on ? [{ lobby_id: id, self_mute: true, self_deaf: false }] : []);
    voice(true);
    expect(await gilAt.dispatch('LOBBY_MEMBER_CONNECT')).toMatchObject({ lobby_id: id });
    voice(false);
    await gilAt.dispatch('LOBBY_MEMBER_DISCONNECT');
    await gil.call(`POST ${path}/ready-check`, { timeout_seconds: 30 });
    await hal.call(`PUT ${path}/ready-check/@me`, { ready: true });
    const isReady = (d: Record<string, unknown>) => JSON.stringify(d).includes(hal.id);
    expect(await gilAt.dispatch('GUILDHALL_LOBBY_READY', isReady)).toMatchObject({ lobby_id: id });
    await hal.call(`POST ${path}/messages`, { type: 'move', data: { to: 'e4' } });
    expect(await gilAt.dispatch('GUILDHALL_LOBBY_MESSAGE')).toMatchObject({
      ...{ lobby_id: id, user_id: hal.id, type: 'move', data: { to: 'e4' } },
    });
    await gil.call(`PUT ${path}/host`, { user_id: hal.id });
    expect(
      await halAt.dispatch('GUILDHALL_LOBBY_HOST', (d) => JSON.stringify(d).includes(hal.id)),
    ).toBeTruthy();
    heardNothing(stranger, /LOBBY/);
  });
});

// Queues are defined by a program that embeds the engine.
test('a player receives the updates of their ticket', async () => {
  const port = await freePort();
  const relay = await openRelay(() => port);
  const engine = await createEngine({
    config: { ...{ log_level: 'silent', listen_port: port, voice: false }, public_url: relay.origin },
  });
  engine.lobbies.defineQueue('race', { size: 2, lobby: () => ({}) });
  await engine.listen();
  const made = await engine.admin.createApplication({ name: 'Race' });
  const post = async <T>(path: string, authorization: string, body: object): Promise<T> => {
    const response = await fetch(`${relay.origin}/api/v10${path}`, {
      ...{ method: 'POST', headers: { authorization, 'content-type': 'application/json' } },
      body: JSON.stringify(body),
    });
    if (!response.ok) expect.fail(`${path} was answered ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const sessions: GatewayClient[] = [];
  for (const name of ['one', 'two']) {
    const path = '/partner-sdk/token/bot';
    const { access_token } = await post<{ access_token: string }>(path, `Bot ${made.botToken}`, {
      external_user_id: name,
    });
    const token = `Bearer ${access_token}`;
    sessions.push(await GatewayClient.ready(relay.origin.replace('http', 'ws'), { token }));
    await post(`${beyond}/matchmaking/tickets`, token, { queue: 'race', properties: { rating: 1000 } });
  }
  for (const session of sessions)
    expect(
      await session.dispatch('GUILDHALL_MATCHMAKING_UPDATE', ({ status }) => status === 'matched'),
    ).toMatchObject({ queue: 'race' });
  for (const session of sessions) session.close();
  await engine.close();
  await relay.close();
  expect(relay.mismatches).toEqual([]);
});
