// Goal: a game signs in on the gateway with an OAuth2 token, and receives only what it was granted and asked for.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { ALL_INTENTS, INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { type Dialect, GatewayClient } from '../support/gateway-client.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const LAYER = 'sdk.social_layer';
const AT_ONCE = { capabilities: CAPABILITY.AUTO_LOBBY_CONNECT };

let server: TestServer;
/** A token of the demo's owner, as the owner's own client has it. */
let owner: string;
beforeAll(async () => {
  server = await startServer({ bots: 2 });
  const { guild } = server.info;
  const { owner_id: user_id } = await server
    .bot()
    .call<{ owner_id: string }>('get_guild', { params: { guild_id: guild.id } });
  owner = (await server.admin<{ token: string }>('/tokens/rotate', { user_id })).token;
});
afterAll(() => server.finish());

interface Player {
  readonly id: string;
  readonly token: string;
  readonly rest: RestClient;
}

async function playerOf(token: string): Promise<Player> {
  const rest = server.restOf(`Bearer ${token}`);
  const { id } = await rest.call<{ id: string }>('get_my_user');
  return { id, token, rest };
}

/** A player authenticated by the bot of a game. */
async function player(name: string, game = 0): Promise<Player> {
  const made = await server
    .bot(game)
    .call<{ access_token: string }>('bot_partner_sdk_token', { body: { external_user_id: name } });
  return playerOf(made.access_token);
}

const post = (path: string, body: URLSearchParams | object, authorization?: string, method = 'POST') =>
  fetch(`${server.info.api}/v10${path}`, {
    method,
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(!(body instanceof URLSearchParams) && { 'content-type': 'application/json' }),
    },
    body: body instanceof URLSearchParams ? body : JSON.stringify(body),
  });

/** A token of the demo's owner, a person with a guild, for the first game. */
async function ownersToken(scope: string): Promise<string> {
  const { id, client_secret } = server.info.application;
  const form = { grant_type: 'client_credentials', scope, client_id: id, client_secret };
  const response = await post('/oauth2/token', new URLSearchParams(form));
  const body = (await response.json()) as { access_token: string };
  expect(response.status, JSON.stringify(body)).toBe(200);
  return body.access_token;
}

const ready = (
  { token }: { readonly token: string },
  more: { intents?: number; capabilities?: number } = {},
  dialect: Dialect = {},
) => GatewayClient.ready(server.info.gateway, { token: `Bearer ${token}`, ...more }, dialect);

/** The response to IDENTIFY: the close, or op 9. */
async function refusalOf(identify: Readonly<Record<string, unknown>>) {
  const client = await GatewayClient.connect(server.info.gateway);
  client.identify({ intents: 0, ...identify });
  return client.closed;
}

const secretOf = (name: string) => ({ body: { secret: `a secret of ${name}` } });

describe('READY', () => {
  test.each<Dialect>([{}, { v: 9 }, { encoding: 'etf', compress: 'zlib-stream' }])(
    'gives the game its user, its application and its scopes, in the dialect %j',
    async (dialect) => {
      const one = await player('ready');
      const client = await ready(one, AT_ONCE, dialect);
      const { d } = client.received.find(({ t }) => t === 'READY')!;
      expect(d).toMatchObject({
        session_type: 'oauth',
        user: { id: one.id },
        application: { id: server.info.bots[0]!.application_id, parent_id: null },
        guilds: [],
        relationships: [],
        game_relationships: [],
        private_channels: [],
        lobbies: [],
        av_sf_protocol_floor: 1,
        feature_flags: { disabled_functions: [], disabled_gateway_events: [] },
      });
      expect(d.scopes).toContain('gateway.connect');
      client.close();
    },
  );

  test('contains no guild of the person, and no guild event follows it', async () => {
    const { guild, bot } = server.info;
    const watcher = await GatewayClient.ready(server.info.gateway, { token: bot.token });
    const client = await ready({ token: await ownersToken(LAYER) });
    await server.bot().call('create_message', {
      params: { channel_id: guild.text_channel_id },
      body: { content: 'Not for games' },
    });
    await server.bot().call('update_guild', { params: { guild_id: guild.id }, body: { name: 'Renamed' } });
    await watcher.dispatch('GUILD_UPDATE');
    client.send(OP.REQUEST_GUILD_MEMBERS, { guild_id: guild.id, query: '', limit: 0 });
    client.send(OP.REQUEST_CHANNEL_INFO, { guild_id: guild.id, fields: ['status'] });
    client.send(OP.HEARTBEAT, client.seq);
    await client.next(({ op }) => op === OP.HEARTBEAT_ACK, 'the answer to a heartbeat');
    expect(client.names.filter((name) => !name.startsWith('PRESENCE'))).toEqual(['READY']);
    // Its user is seen in the game.
    const seen = await watcher.dispatch('PRESENCE_UPDATE', (d) => 'embedded' in (d.client_status as object));
    expect(seen).toMatchObject({ user: { id: client.userId } });
    client.close();
    watcher.close();
  });
});

describe('lobbies', () => {
  test('arrive within READY or one LOBBY_CREATE each, only in sessions with the intent', async () => {
    const [one, two] = [await player('host'), await player('guest')];
    const host = await ready(one, AT_ONCE);
    const deaf = await ready(one, { ...AT_ONCE, intents: INTENTS.DIRECT_MESSAGES });
    const { id } = await one.rest.call<{ id: string }>('create_or_join_lobby', secretOf('host'));
    expect(await host.dispatch('LOBBY_CREATE')).toMatchObject({ id });
    await two.rest.call('create_or_join_lobby', secretOf('host'));
    expect(await host.dispatch('LOBBY_MEMBER_ADD')).toMatchObject({
      lobby_id: id,
      member: { user: { id: two.id } },
    });

    const atOnce = await ready(two, AT_ONCE);
    const { d } = atOnce.received.find(({ t }) => t === 'READY')!;
    expect(d.lobbies).toMatchObject([{ id }]);
    const oneByOne = await ready(two);
    expect(await oneByOne.dispatch('LOBBY_CREATE')).toMatchObject({ id });
    expect(oneByOne.received.find(({ t }) => t === 'READY')!.d).not.toHaveProperty('lobbies');

    await two.rest.call('create_lobby_message', { params: { lobby_id: id }, body: { content: 'Here' } });
    for (const client of [host, atOnce, oneByOne])
      expect(await client.dispatch('LOBBY_MESSAGE_CREATE')).toMatchObject({ lobby_id: id, content: 'Here' });
    deaf.send(OP.HEARTBEAT, deaf.seq);
    await deaf.next(({ op }) => op === OP.HEARTBEAT_ACK, 'the answer to a heartbeat');
    expect(deaf.names).toEqual(['READY']);
    for (const client of [host, deaf, atOnce, oneByOne]) client.close();
  });

  test('are sent only to sessions of their own game', async () => {
    const here = await player('twice');
    const there = await player('twice', 1);
    const client = await ready(there);
    await here.rest.call('create_or_join_lobby', secretOf('twice'));
    const own = await there.rest.call<{ id: string }>('create_or_join_lobby', secretOf('twice'));
    expect(await client.dispatch('LOBBY_CREATE')).toMatchObject({ id: own.id });
    expect(client.names).toEqual(['READY', 'LOBBY_CREATE']);
    client.close();
  });
});

describe('direct messages', () => {
  test('reach the sessions that were granted them and ask for them, and the person’s own', async () => {
    const full = { token: await ownersToken(LAYER) };
    const narrow = { token: await ownersToken('sdk.social_layer_presence') };
    const one = await player('writer');
    const [writing, hearing, deaf, ungranted, own] = await Promise.all([
      ready(one),
      ready(full, { intents: INTENTS.DIRECT_MESSAGES }),
      ready(full, { intents: INTENTS.GUILD_MESSAGES | INTENTS.LOBBIES }),
      ready(narrow),
      GatewayClient.ready(server.info.gateway, { token: owner }),
    ]);
    const sent = await post(`/users/${hearing.userId}/messages`, { content: 'Hello' }, `Bearer ${one.token}`);
    expect(sent.status).toBe(200);
    for (const client of [hearing, own, writing])
      expect(await client.dispatch('MESSAGE_CREATE')).toMatchObject({
        content: 'Hello',
        author: { id: one.id },
      });
    expect(own.received.find(({ t }) => t === 'CHANNEL_CREATE')).toBeDefined();
    for (const client of [deaf, ungranted]) {
      client.send(OP.HEARTBEAT, client.seq);
      await client.next(({ op }) => op === OP.HEARTBEAT_ACK, 'the answer to a heartbeat');
      expect(client.names.filter((name) => /^(MESSAGE|CHANNEL)/.test(name))).toEqual([]);
    }
    expect(hearing.names).not.toContain('CHANNEL_CREATE');
    // The channel is in READY of those who were granted that.
    const later = await ready(full);
    const { d } = later.received.find(({ t }) => t === 'READY')!;
    expect(d.private_channels).toMatchObject([{ recipients: [{ id: one.id }] }]);
    expect(d.users).toContainEqual(expect.objectContaining({ id: one.id }));
    for (const client of [writing, hearing, deaf, ungranted, own, later]) client.close();
  });
});

describe('RESUME', () => {
  test('replays missed events for any token of the same player and game', async () => {
    const one = await player('resumer');
    const client = await ready(one);
    await client.terminate();
    await one.rest.call('create_or_join_lobby', secretOf('resumer'));
    const { token } = await player('resumer');
    const again = await GatewayClient.connect(server.info.gateway);
    again.resume(`Bearer ${token}`, client.sessionId, client.seq!);
    await again.dispatch('RESUMED');
    expect(again.names).toEqual(['LOBBY_CREATE', 'RESUMED']);
    again.close();
  });

  test('rejects the tokens of another player, of another game, of the bot and of the person alone', async () => {
    const client = await ready({ token: await ownersToken(LAYER) });
    const strangers = [
      `Bearer ${(await player('stranger')).token}`,
      `Bearer ${(await player('stranger', 1)).token}`,
      server.info.bot.token,
      owner,
    ];
    for (const token of strangers) {
      const thief = await GatewayClient.connect(server.info.gateway);
      thief.resume(token, client.sessionId, 0);
      expect(await thief.next(({ op }) => op === OP.INVALID_SESSION, 'op 9')).toMatchObject({ d: false });
      thief.close();
    }
    client.send(OP.HEARTBEAT, client.seq);
    await client.next(({ op }) => op === OP.HEARTBEAT_ACK, 'the answer to a heartbeat');
    client.close();
  });
});

describe('a gateway session of a game', () => {
  test('is closed with 4004 and a reason for an invalid token or one without gateway.connect', async () => {
    const { token } = await player('hostile');
    for (const wrong of ['Bearer ', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Bearer Bearer ${token}`])
      expect((await refusalOf({ token: wrong })).code, wrong).toBe(4004);
    const narrow = await refusalOf({ token: `Bearer ${await ownersToken('identify guilds')}` });
    expect(narrow).toMatchObject({ code: 4004, reason: expect.stringContaining('gateway.connect') });
  });

  test('is closed with 4013 without valid intents, and with 4010 for a shard', async () => {
    const token = `Bearer ${(await player('hostile')).token}`;
    expect((await refusalOf({ token, intents: undefined })).code).toBe(4013);
    expect((await refusalOf({ token, intents: 2 ** 30 })).code).toBe(4013);
    expect((await refusalOf({ token, shard: [0, 2] })).code).toBe(4010);
    expect((await refusalOf({ token, capabilities: 'all' })).code).toBe(4001);
  });

  test('changes the presence of its user only with the scope activities.write', async () => {
    const watcher = await GatewayClient.ready(server.info.gateway, { token: server.info.bot.token });
    for (const scope of ['identify gateway.connect', 'identify gateway.connect activities.write']) {
      const client = await ready({ token: await ownersToken(scope) });
      await watcher.dispatch('PRESENCE_UPDATE', (d) => d.status === 'online');
      client.send(OP.PRESENCE_UPDATE, { since: null, activities: [], status: 'dnd', afk: false });
      client.close();
      await watcher.dispatch('PRESENCE_UPDATE', (d) => d.status === 'offline');
    }
    const statuses = watcher.received.flatMap(({ t, d }) => (t === 'PRESENCE_UPDATE' ? [d.status] : []));
    expect(statuses).toEqual(['online', 'offline', 'online', 'dnd', 'offline']);
    watcher.close();
  });
});

describe('a revoked token', () => {
  test('sends OAUTH2_TOKEN_REVOKE, closes its session with 4004, and neither identifies nor resumes again', async () => {
    const token = await ownersToken(LAYER);
    const client = await ready({ token });
    const own = await GatewayClient.ready(server.info.gateway, { token: owner });
    const { id, client_secret } = server.info.application;
    const revoked = await post(
      '/oauth2/token/revoke',
      new URLSearchParams({ token, client_id: id, client_secret }),
    );
    expect(revoked.status).toBe(200);
    expect((await client.closed).code).toBe(4004);
    expect(client.received.at(-1)).toMatchObject({ t: 'OAUTH2_TOKEN_REVOKE', d: { application_id: id } });
    expect(JSON.stringify(client.received)).not.toContain(token);
    expect((await refusalOf({ token: `Bearer ${token}` })).code).toBe(4004);
    const resumed = await GatewayClient.connect(server.info.gateway);
    resumed.resume(`Bearer ${token}`, client.sessionId, 1);
    expect((await resumed.closed).code).toBe(4004);
    own.send(OP.HEARTBEAT, own.seq);
    await own.next(({ op }) => op === OP.HEARTBEAT_ACK, 'the answer to a heartbeat');
    own.close();
  });
});

describe('AUTHORIZE_REQUEST', () => {
  test('reaches the session that wants it, from its user and from the game’s bot', async () => {
    const token = await ownersToken(LAYER);
    const client = await ready({ token });
    const game = `/guildhall/v1/applications/${server.info.application.id}/authorize-requests`;
    const session = `/guildhall/v1/sessions/${client.sessionId}/authorize-requests`;
    const [bearer, person, bot, otherBot] = [
      `Bearer ${token}`,
      `Bearer ${owner}`,
      `Bot ${server.info.bots[0]!.token}`,
      `Bot ${server.info.bots[1]!.token}`,
    ];
    const user_id = client.userId;
    expect((await post(game, {}, person)).status).toBe(404);
    expect((await post(session, {}, `Bearer ${(await player('nosy')).token}`, 'PUT')).status).toBe(404);
    expect((await post(session, {}, bearer, 'PUT')).status).toBe(204);
    for (const [authorization, body] of [
      [person, {}],
      [bot, { user_id }],
    ] as const) {
      const asked = await post(game, body, authorization);
      expect(asked.status).toBe(200);
      const { request_id } = (await asked.json()) as { request_id: string };
      const d = await client.dispatch('AUTHORIZE_REQUEST', (each) => each.request_id === request_id);
      expect(d).toEqual({ application_id: server.info.application.id, request_id });
    }
    expect((await post(game, { user_id }, otherBot)).status).toBe(403);
    expect((await post(session, {}, bearer, 'DELETE')).status).toBe(204);
    expect((await post(game, { user_id }, bot)).status).toBe(404);
    client.close();
  });
});

test('every intent together is taken', async () => {
  const client = await ready(await player('all'), { intents: ALL_INTENTS });
  client.close();
});
