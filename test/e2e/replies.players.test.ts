// Goal: the relay compares successful replies about players, friends and lobbies that no other end-to-end test asks for.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../main.ts';
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

interface WithId {
  readonly id: string;
}

let server: TestServer;
let bot: Caller;
let ann: Someone;
let bob: Someone;
let application: string;
beforeAll(async () => {
  server = await startServer();
  bot = callerOf(server, `Bot ${server.info.bot.token}`);
  application = server.info.application.id;
  await server.admin(`/applications/${application}/oauth2`, { redirect_uris: [CALLBACK] });
  [ann, bob] = [await player('ann'), await player('bob')];
});
afterAll(() => server?.finish());

interface Someone {
  readonly id: string;
  readonly token: string;
  readonly call: Caller;
}

async function someone(token: string): Promise<Someone> {
  const call = callerOf(server, `Bearer ${token}`);
  return { id: (await call<WithId>(`GET ${own}`)).id, token, call };
}

/** A player authenticated by the bot of the game. */
async function player(name: string): Promise<Someone> {
  const { access_token } = await bot<{ access_token: string }>('POST /partner-sdk/token/bot', {
    external_user_id: name,
    preferred_global_name: name,
  });
  return someone(access_token);
}

async function person(username: string): Promise<Someone> {
  return someone((await server.admin<{ token: string }>('/users', { username })).token);
}

/** A person that a player of the game has become. */
async function linked(name: string): Promise<Someone> {
  const { id, client_secret: secret } = server.info.application;
  const client = new OAuthClient(server, { id, secret });
  people += 1;
  const { token } = await person(`${name}.${people}`);
  const { body } = await client.decide(token, {
    ...{ response_type: 'code', redirect_uri: CALLBACK, scope: 'openid sdk.social_layer' },
  });
  const tokens = await client.tokens({
    ...{ grant_type: 'authorization_code', redirect_uri: CALLBACK },
    code: new URL(body.location ?? '').searchParams.get('code') ?? '',
    external_auth_type: 'DISCORD_BOT_ISSUED_ACCESS_TOKEN',
    external_auth_token: (await player(name)).token,
  });
  return someone(tokens.access_token);
}
let people = 0;

const gatewayOf = ({ token }: Someone) =>
  GatewayClient.ready(server.info.gateway, { token: `Bearer ${token}` });

describe('people', () => {
  test('have friends with nicknames, ring them and stop', async () => {
    const [cid, dan] = [await person('cid.replies'), await person('dan.replies')];
    await cid.call(`PUT ${own}/relationships/${dan.id}`, {});
    await dan.call(`PUT ${own}/relationships/${cid.id}`, {});
    await cid.call(`PATCH ${own}/relationships/${dan.id}`, { nickname: 'Danny' });
    expect(await cid.call(`GET ${own}/relationships`)).toMatchObject([
      { id: dan.id, type: 1, nickname: 'Danny', user: { username: 'dan.replies' } },
    ]);

    const { id: channelId } = await cid.call<WithId>(`POST ${own}/channels`, { recipient_id: dan.id });
    const gateway = await gatewayOf(cid);
    const place = { guild_id: null, channel_id: channelId, self_mute: false, self_deaf: false };
    gateway.send(OP.VOICE_STATE_UPDATE, place);
    await gateway.dispatch('CALL_CREATE');
    await cid.call(`POST /channels/${channelId}/call/stop-ringing`, { recipients: [dan.id] });
    await cid.call(`POST /channels/${channelId}/call/ring`, { recipients: [dan.id] });
    gateway.close();
  });

  test('change and delete what they have written to friends', async () => {
    const [hal, ida] = [await person('hal.replies'), await person('ida.replies')];
    await hal.call(`PUT ${own}/relationships/${ida.id}`, {});
    await ida.call(`PUT ${own}/relationships/${hal.id}`, {});
    const messages = `/users/${ida.id}/messages`;
    const { id } = await hal.call<WithId>(`POST ${messages}`, { content: 'helo' });
    expect(await hal.call(`PATCH ${messages}/${id}`, { content: 'hello' })).toMatchObject({
      content: 'hello',
    });
    await hal.call(`DELETE ${messages}/${id}`);
    expect(await hal.call(`GET ${messages}`)).toEqual([]);
  });

  test('set who may write to them', async () => {
    const eve = await person('eve.replies');
    const path = `${beyond}/users/@me/settings`;
    expect(await eve.call(`GET ${path}`)).toEqual({ direct_messages_from: null });
    expect(await eve.call(`PATCH ${path}`, { direct_messages_from: 'friends' })).toEqual({
      direct_messages_from: 'friends',
    });
  });

  test('are shown what an application asks for', async () => {
    const query = new URLSearchParams({
      ...{ client_id: application, response_type: 'code' },
      ...{ redirect_uri: CALLBACK, scope: 'identify guilds' },
    });
    const fay = await person('fay.replies');
    expect(await fay.call(`GET /oauth2/authorize?${query}`)).toMatchObject({
      application: { id: application },
      scopes: ['identify', 'guilds'],
      authorized: false,
      user: { id: fay.id },
    });
  });
});

describe('players', () => {
  test('show activities without a connection, and others read the URLs of their buttons', async () => {
    await ann.call(`POST ${own}/activities/subscribe`);
    const activity = { name: 'Chess', type: 0, buttons: [{ label: 'Watch', url: 'https://game.example/1' }] };
    const started = await ann.call<{ token: string; activities: { session_id: string }[] }>(
      `POST ${own}/headless-sessions`,
      { activities: [activity] },
    );
    const session = started.activities[0]!.session_id;
    const path = `/users/${ann.id}/sessions/${session}/activities/${application}/metadata`;
    expect(await ann.call(`GET ${path}`)).toEqual({ button_urls: ['https://game.example/1'] });
    await ann.call(`POST ${own}/headless-sessions/delete`, { token: started.token });
  });

  test('have identities that the bot looks up, and profiles', async () => {
    const { id, call } = await player('known');
    const found = await bot<{ identities: object[] }>(
      `GET /applications/${application}/application-identities/BOT/known`,
    );
    expect(found.identities).toMatchObject([{ user_id: id, provider_issued_user_id: 'known' }]);
    const profile = `/applications/${application}/users/${id}/identities/known/profile`;
    const data = { primary: { season: '3' }, dynamic: [{ type: 2, name: 'Elo', value: 1500 }] };
    await bot(`PATCH ${profile}`, { username: 'Knight', data });
    expect(await call(`GET ${profile}`)).toEqual({ username: 'Knight', metadata: null, data });
  });

  test('sign in to another game of the publisher with the account they became', async () => {
    const { id, token } = await linked('gil');
    const child = await OAuthClient.make(server, { public_client: true });
    await server.admin(`/applications/${child.id}/parent`, { parent_id: application });
    const anybody = callerOf(server, null);
    const exchanged = await anybody<{ access_token: string }>('POST /partner-sdk/child-token', {
      parent_access_token: token,
      ...{ parent_client_secret: server.info.application.client_secret, child_application_id: child.id },
    });
    expect((await someone(exchanged.access_token)).id).toBe(id);
  });

  test.each([
    ['the bot', 'POST /partner-sdk/provisional-accounts/unmerge/bot', { external_user_id: 'jon' }],
    ['its identity', 'POST /users/:user/application-identities/:application/BOT/jon/delete', {}],
  ])('part from the account they became by %s', async (_, request, body) => {
    const { id } = await linked('jon');
    // While the accounts are being merged, the answer is 423.
    const parted = () => bot(request.replace(':user', id).replace(':application', application), body);
    await expect
      .poll(
        () =>
          parted().then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    expect((await player('jon')).id).not.toBe(id);
  });
});

describe('lobbies', () => {
  test('are read, configured, handed to another host, and end a ready check', async () => {
    // Only members who are connected can be host.
    const sessions = [await gatewayOf(ann), await gatewayOf(bob)];
    const lobby = await ann.call<WithId>(`POST ${beyond}/lobbies`, { listed: true, host_grace_seconds: 0 });
    const path = `${beyond}/lobbies/${lobby.id}`;
    expect(await ann.call(`GET ${path}`)).toMatchObject({ id: lobby.id, listed: true, host_id: ann.id });
    expect(await ann.call(`PATCH ${path}`, { locked: true, max_members: 4 })).toMatchObject({
      ...{ locked: true, max_members: 4 },
    });
    await ann.call(`PATCH ${path}`, { locked: false });
    await bob.call(`PUT ${path}/members/@me`, {});
    await ann.call(`POST ${path}/ready-check`, { timeout_seconds: 30 });
    expect(await ann.call(`DELETE ${path}/ready-check`)).toMatchObject({ status: 'cancelled' });
    expect(await ann.call(`PUT ${path}/host`, { user_id: bob.id })).toMatchObject({ host_id: bob.id });
    for (const session of sessions) session.close();
  });

  test('are unlinked by those who manage their channel', async () => {
    const { guild } = server.info;
    await server.admin(`/guilds/${guild.id}/members`, { user_id: ann.id, permissions: '16' });
    const lobby = await bot<WithId>('POST /lobbies', { members: [{ id: ann.id, flags: 1 }] });
    const channel = { channel_id: guild.text_channel_id };
    await ann.call(`PATCH /lobbies/${lobby.id}/channel-linking`, channel);
    await bot(`DELETE /channels/${guild.text_channel_id}/linked-lobby`);
    expect(await bot(`GET /lobbies/${lobby.id}`)).not.toHaveProperty('linked_channel.id');
  });

  // Queues are defined by a program that embeds the engine.
  test('are found by tickets, which are read and cancelled', async () => {
    const port = await freePort();
    const relay = await openRelay(() => port);
    const engine = await createEngine({
      config: { ...{ log_level: 'silent', listen_port: port, voice: false }, public_url: relay.origin },
    });
    engine.lobbies.defineQueue('race', { size: 2, lobby: () => ({}) });
    await engine.listen();
    const made = await engine.admin.createApplication({ name: 'Race' });
    const at = async <T>(request: string, authorization: string, body?: object): Promise<T> => {
      const [method = '', path = ''] = request.split(' ');
      const response = await fetch(`${relay.origin}/api/v10${path}`, {
        ...{ method, headers: { authorization, 'content-type': 'application/json' } },
        ...(body && { body: JSON.stringify(body) }),
      });
      if (!response.ok) expect.fail(`${request} was answered ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    };
    const { access_token } = await at<{ access_token: string }>(
      'POST /partner-sdk/token/bot',
      `Bot ${made.botToken}`,
      { external_user_id: 'racer' },
    );
    const racer = `Bearer ${access_token}`;
    const tickets = `${beyond}/matchmaking/tickets`;
    const ticket = await at<WithId>(`POST ${tickets}`, racer, {
      queue: 'race',
      properties: { rating: 1000 },
    });
    expect(await at(`GET ${tickets}/${ticket.id}`, racer)).toMatchObject({ status: 'waiting' });
    expect(await at(`DELETE ${tickets}/${ticket.id}`, racer)).toMatchObject({ status: 'cancelled' });
    await engine.close();
    await relay.close();
    expect(relay.mismatches).toEqual([]);
  });
});
