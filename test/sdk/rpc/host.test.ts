// Goal: applications on a person's machine are admitted by id, origin and rate, show activities together, and get only what their scopes allow.
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { RPC_CLOSE, RPC_ERROR, RPC_OP } from '../../../protocol/rpc.ts';
import { RpcHost } from '../../../sdk/rpc/host.ts';
import { ME, PEER, ScriptedServer } from '../../support/sdk.ts';

const [GAME, OTHER, ORIGIN] = ['5001', '5002', 'https://game.example.org'];
const [GUILD, CHANNEL, SECOND] = ['31', '41', '42'];
const user = (id: string) => ({ id, username: `user${id}` });
const voiceOf = (userId: string, channelId: string | null, more: object = {}) => ({
  ...{ user_id: userId, channel_id: channelId, guild_id: GUILD, member: { user: user(userId) } },
  ...more,
});

interface Frame {
  readonly cmd?: string;
  readonly evt?: string | null;
  readonly nonce?: string | null;
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly code?: number;
}

let server: ScriptedServer;
let host: RpcHost;
let nowMs: number;
let isConsenting: boolean;
let opened: string[];
let questions: number;
let confirming: Promise<boolean> | null;
const asked = async () => {
  questions += 1;
  return confirming ?? isConsenting;
};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  [nowMs, isConsenting, opened, questions, confirming] = [0, true, [], 0, null];
  server = new ScriptedServer();
  for (const [id, name] of [
    [GAME, 'Game'],
    [OTHER, 'Other'],
  ])
    server.answer(`GET /applications/${id}/rpc`, () => ({ body: { id, name, rpc_origins: [ORIGIN] } }));
  const { os, openSocket, fetch } = server.host();
  host = new RpcHost({
    ...{ api: 'http://server.test/api', gatewayUrl: 'ws://server.test', token: 'own', os, fetch },
    ...{ open: openSocket, nowMs: () => nowMs, ended: () => undefined, audio: null },
    page: {
      ...{ locale: 'en-GB', confirm: asked, consent: async () => isConsenting },
      openExternal: (url) => opened.push(url) > 0,
    },
  });
  server.welcome({ guilds: [{ id: GUILD, name: 'Hall', icon: 'abc', voice_states: [], members: [] }] });
  await host.started();
  return () => {
    host.close();
    vi.useRealTimers();
  };
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

function connect(kind: 'ipc' | 'websocket' | 'http' = 'ipc', origin: string | null = null) {
  const sent: (readonly [number, Frame])[] = [];
  const connection = host.connect({
    ...{ kind, origin, closed: () => undefined },
    send: (op, data) => void sent.push([op, data as Frame]),
  });
  let nonces = 0;
  return {
    ...{ sent, connection },
    async shake(clientId: string = GAME) {
      connection.receive(RPC_OP.HANDSHAKE, { v: 1, client_id: clientId });
      await settle();
      return sent.at(-1)?.[1] ?? {};
    },
    async ask(cmd: string, args: object = {}, evt?: string) {
      nonces += 1;
      const nonce = String(nonces);
      connection.receive(RPC_OP.FRAME, { cmd, args, nonce, ...(evt !== undefined && { evt }) });
      for (let n = 0; n < 8; n += 1) await settle();
      return sent.map(([, one]) => one).find((one) => one.nonce === nonce) ?? {};
    },
    heard: (event: string) => sent.filter(([, one]) => one.evt === event).map(([, { data }]) => data),
  };
}

/** A connection that has authenticated with these scopes. */
async function signedIn(...scopes: readonly string[]) {
  const game = connect();
  await game.shake();
  server.answer('GET /oauth2/@me', () => ({
    body: { application: { id: GAME, name: 'Game' }, scopes, expires: 'later', user: user(ME) },
  }));
  expect(await game.ask('AUTHENTICATE', { access_token: 't' })).toMatchObject({ evt: null });
  return game;
}

const activities = () =>
  server.sent(3).map((d) => (d as { activities: { state?: string }[] }).activities.map(({ state }) => state));

describe('a handshake', () => {
  test('is answered over the socket with READY and the user', async () => {
    expect(await connect().shake()).toMatchObject({
      ...{ cmd: 'DISPATCH', evt: 'READY' },
      data: { v: 1, config: { api_endpoint: '//server.test/api' }, user: { id: ME, username: 'me' } },
    });
  });

  test.each([
    ['', RPC_CLOSE.INVALID_CLIENTID],
    ['game', RPC_CLOSE.INVALID_CLIENTID],
    ['404', RPC_CLOSE.INVALID_CLIENTID],
  ])('closes client "%s" with %i', async (clientId, code) => {
    expect(await connect().shake(clientId)).toMatchObject({ code });
  });

  test.each([null, 'https://evil.example', 'null'])(
    'closes a page of origin %s with 4001',
    async (origin) => {
      expect(await connect('websocket', origin).shake()).toMatchObject({ code: RPC_CLOSE.INVALID_ORIGIN });
    },
  );

  test('does not reveal the user to a page on the origin list', async () => {
    const ready = await connect('websocket', ORIGIN).shake();
    expect(ready).toMatchObject({ evt: 'READY', data: { v: 1 } });
    expect(ready.data).not.toHaveProperty('user');
  });

  test('closes the third connection of one client within a minute with 4002, while other clients connect', async () => {
    await connect().shake();
    await connect().shake();
    expect(await connect().shake()).toMatchObject({ code: RPC_CLOSE.RATELIMITED });
    expect(await connect().shake(OTHER)).toMatchObject({ evt: 'READY' });
    nowMs = 60_000;
    expect(await connect().shake()).toMatchObject({ evt: 'READY' });
  });

  test('does not count against the connections of the application if its page is rejected', async () => {
    for (let n = 0; n < 5; n += 1)
      expect((await connect('websocket', 'https://evil.example').shake()).evt).toBeUndefined();
    expect(await connect().shake()).toMatchObject({ evt: 'READY' });
    expect(await connect('websocket', ORIGIN).shake()).toMatchObject({ evt: 'READY' });
    expect(await connect('websocket', 'https://evil.example').shake()).toMatchObject({
      code: RPC_CLOSE.RATELIMITED,
    });
  });

  test('is accepted once on a connection', async () => {
    const game = connect();
    await game.shake();
    expect(await game.shake(OTHER)).toMatchObject({ code: RPC_CLOSE.INVALID_CLIENTID });
  });

  test('is closed with 4002 when 64 connections are open', () => {
    for (let n = 0; n < 64; n += 1) expect(connect().sent).toEqual([]);
    expect(connect().sent).toMatchObject([[RPC_OP.CLOSE, { code: RPC_CLOSE.RATELIMITED }]]);
  });
});

describe('an activity', () => {
  test('is published without a token, with the name and id of its application, until the connection ends', async () => {
    const [game, other] = [connect(), connect()];
    await game.shake();
    await other.shake(OTHER);
    const timestamps = { start: 1_700_000_000 };
    const shown = await game.ask('SET_ACTIVITY', {
      activity: { state: 'Playing', application_id: OTHER, timestamps, secrets: { join: 'secret' } },
    });
    const activity = {
      name: 'Game',
      application_id: GAME,
      type: 0,
      timestamps: { start: 1_700_000_000_000 },
    };
    expect(shown).toMatchObject({ evt: null, data: activity });
    expect(JSON.stringify(shown)).not.toContain('secret');
    await other.ask('SET_ACTIVITY', { activity: { state: 'Reading' } });
    game.connection.lost();
    other.connection.lost();
    expect(activities()).toEqual([['Playing'], ['Reading', 'Playing'], ['Reading'], []]);
  });

  test('is not published for a command that was read after the connection had ended', async () => {
    const game = connect();
    await game.shake();
    game.connection.lost();
    await game.ask('SET_ACTIVITY', { pid: 1, activity: { state: 'Gone' } });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(activities().flat()).toEqual([]);
  });

  test('is joined only by an invite to its own application', async () => {
    const game = connect();
    await game.shake();
    const invite = { type: 1, user_id: PEER, session_id: 's', channel_id: CHANNEL, message_id: '71' };
    server.answer(`GET /users/${PEER}/sessions/s/activities/${OTHER}/1`, () => ({
      body: { secret: 'theirs' },
    }));
    server.answer(`GET /users/${PEER}/sessions/s/activities/${GAME}/1`, () => ({ body: { secret: 'ours' } }));
    await game.ask('SUBSCRIBE', {}, 'ACTIVITY_JOIN');
    expect(await game.ask('ACCEPT_ACTIVITY_INVITE', { ...invite, application_id: OTHER })).toMatchObject({
      data: { code: RPC_ERROR.INVALID_CLIENTID },
    });
    expect(await game.ask('ACCEPT_ACTIVITY_INVITE', invite)).toMatchObject({ evt: null });
    expect(game.heard('ACTIVITY_JOIN')).toEqual([{ secret: 'ours' }]);
  });

  test('changes at most five times in twenty seconds on the gateway, and ends with the latest', async () => {
    const game = connect();
    await game.shake();
    for (let n = 0; n < 20; n += 1) await game.ask('SET_ACTIVITY', { activity: { state: `Round ${n}` } });
    expect(activities()).toHaveLength(5);
    vi.advanceTimersByTime(20_000);
    expect(activities()).toHaveLength(6);
    expect(activities().at(-1)).toEqual(['Round 19']);
  });

  test.each([
    { state: 'x' },
    { state: 5 },
    { details: 'x'.repeat(129) },
    { type: 1 },
    { type: 4 },
    { party: { size: [5, 4] } },
    { timestamps: { start: -1 } },
    { buttons: [{ label: 'Go', url: 'javascript:alert(1)' }] },
    { buttons: [{ label: 'Go', url: 'https://a.example' }], secrets: { join: 'x' } },
    'text',
  ])('is refused with 4000 when it is %j', async (activity) => {
    const game = connect();
    await game.shake();
    expect(await game.ask('SET_ACTIVITY', { activity })).toMatchObject({
      data: { code: RPC_ERROR.INVALID_PAYLOAD },
    });
    expect(activities()).toEqual([]);
  });

  test('requires its scope when a page sets it', async () => {
    const page = connect('websocket', ORIGIN);
    await page.shake();
    expect(await page.ask('SET_ACTIVITY', { activity: {} })).toMatchObject({ data: { code: 4006 } });
  });
});

describe('consent', () => {
  beforeEach(() => {
    server.answer('GET /oauth2/authorize', () => ({
      body: { application: { name: 'Game' }, authorized: false },
    }));
    server.answer('POST /oauth2/authorize', () => ({
      body: { location: 'http://127.0.0.1/callback?code=c' },
    }));
  });

  test('returns a code to the application', async () => {
    const game = connect();
    await game.shake();
    expect(await game.ask('AUTHORIZE', { client_id: GAME, scopes: ['rpc'] })).toMatchObject({
      data: { code: 'c' },
    });
  });

  test('is refused with 5000 without a prompt when the application requests prompt=none', async () => {
    const game = connect();
    await game.shake();
    const wanted = { client_id: GAME, scopes: ['rpc'], prompt: 'none' };
    expect(await game.ask('AUTHORIZE', wanted)).toMatchObject({ data: { code: 5000 } });
    expect(server.asked.some(({ method }) => method === 'POST')).toBe(false);
  });

  test('fails with 5000 when the user refuses', async () => {
    isConsenting = false;
    const game = connect();
    await game.shake();
    expect(await game.ask('AUTHORIZE', { client_id: GAME, scopes: ['rpc'] })).toMatchObject({
      data: { code: 5000 },
    });
    expect(server.asked.some(({ method }) => method === 'POST')).toBe(false);
  });

  test.each([
    [400, { message: 'Invalid redirect_uri.' }, 'Invalid redirect_uri.'],
    [200, { location: 'http://127.0.0.1/?error=invalid_scope&error_description=No%20rpc' }, 'No rpc'],
    [200, { location: 'http://127.0.0.1/?error=invalid_scope' }, 'invalid_scope'],
    [503, null, 'status 503'],
  ])('fails with the reason of the server for the response %i %j', async (status, body, reason) => {
    server.answer('GET /oauth2/authorize', () => ({ status, body }));
    const game = connect();
    await game.shake();
    expect(await game.ask('AUTHORIZE', { client_id: GAME, scopes: ['rpc'] })).toMatchObject({
      data: { code: 5000, message: `The request for authorization is refused: ${reason}` },
    });
  });

  test('cannot be requested for another application', async () => {
    const game = connect();
    await game.shake();
    expect(await game.ask('AUTHORIZE', { client_id: OTHER, scopes: ['rpc'] })).toMatchObject({
      data: { code: 4007 },
    });
  });
});

test.each([
  ['another application', { application: { id: OTHER }, user: user(ME) }],
  ['another user', { application: { id: GAME }, user: user(PEER) }],
])('a token of %s is refused', async (_, whose) => {
  const game = connect();
  await game.shake();
  server.answer('GET /oauth2/@me', () => ({ body: { ...whose, scopes: ['rpc'], expires: 'later' } }));
  expect(await game.ask('AUTHENTICATE', { access_token: 't' })).toMatchObject({
    data: { code: RPC_ERROR.INVALID_TOKEN },
  });
  expect(await game.ask('GET_GUILDS')).toMatchObject({ data: { code: RPC_ERROR.INVALID_PERMISSIONS } });
});

describe('a purchase', () => {
  const skus = () => [{ id: '81', name: 'Lantern', price: null }];

  test('opens the store after the user has agreed, and returns no payment data', async () => {
    server.answer(`GET /applications/${GAME}/skus`, () => ({ body: skus() }));
    const game = connect();
    await game.shake();
    expect(await game.ask('GET_SKUS')).toMatchObject({ data: [{ id: '81', price: { amount: 0 } }] });
    expect(await game.ask('START_PURCHASE', { sku_id: '81' })).toMatchObject({ evt: null, data: [] });
    expect(opened).toEqual([`http://server.test/store/${GAME}#sku-81`]);
    isConsenting = false;
    expect(await game.ask('START_PURCHASE', { sku_id: '81' })).toMatchObject({ data: { code: 5008 } });
    expect(opened).toHaveLength(1);
  });

  test('is refused with 5009 for a SKU of another application, and opens nothing', async () => {
    server.answer(`GET /applications/${GAME}/skus`, () => ({ body: skus() }));
    const game = connect();
    await game.shake();
    expect(await game.ask('START_PURCHASE', { sku_id: '82' })).toMatchObject({ data: { code: 5009 } });
    expect(await game.ask('START_PURCHASE', { sku_id: '../x' })).toMatchObject({ data: { code: 4000 } });
    expect(opened).toEqual([]);
  });

  test('is dispatched when it is granted, to its application only', async () => {
    const [game, other] = [connect(), connect()];
    await game.shake();
    await other.shake(OTHER);
    await game.ask('SUBSCRIBE', {}, 'ENTITLEMENT_CREATE');
    await other.ask('SUBSCRIBE', {}, 'ENTITLEMENT_CREATE');
    server.dispatch('ENTITLEMENT_CREATE', { id: '91', application_id: GAME, sku_id: '81' });
    expect(game.heard('ENTITLEMENT_CREATE')).toMatchObject([{ entitlement: { id: '91' } }]);
    expect(other.heard('ENTITLEMENT_CREATE')).toEqual([]);
  });
});

test('prompts of applications are shown one at a time, and at most four wait', async () => {
  server.answer(`GET /applications/${GAME}/skus`, () => ({ body: [{ id: '81', name: 'Lantern' }] }));
  const [game, other] = [connect(), connect()];
  await game.shake();
  await other.shake();
  let answer = (_: boolean): void => undefined;
  confirming = new Promise((resolve) => {
    answer = resolve;
  });
  for (const each of [game, game, game, other, other])
    expect(await each.ask('START_PURCHASE', { sku_id: '81' })).toEqual({});
  expect(questions).toBe(1);
  expect(await other.ask('START_PURCHASE', { sku_id: '81' })).toMatchObject({ data: { code: 5011 } });
  answer(true);
  await settle();
  await settle();
  expect([questions, opened.length]).toEqual([5, 5]);
});

describe('an authenticated application', () => {
  test('opens a text channel after the user has agreed', async () => {
    const game = await signedIn('rpc');
    server.answer(`GET /channels/${CHANNEL}`, () => ({
      body: { id: CHANNEL, type: 0, name: 'hall', guild_id: GUILD },
    }));
    const selected = await game.ask('SELECT_TEXT_CHANNEL', { channel_id: CHANNEL });
    expect(selected).toMatchObject({ data: { id: CHANNEL, name: 'hall' } });
    expect(opened).toEqual([`http://server.test/voice-room/?guild=${GUILD}&channel=${CHANNEL}`]);
    isConsenting = false;
    await game.ask('SELECT_TEXT_CHANNEL', { channel_id: CHANNEL });
    expect(opened).toHaveLength(1);
    expect(await game.ask('SELECT_TEXT_CHANNEL', { channel_id: null })).toMatchObject({ data: null });
  });

  test('reads guilds of the user, and no other guild', async () => {
    const game = await signedIn('rpc');
    expect(await game.ask('GET_GUILDS')).toMatchObject({
      data: { guilds: [{ id: GUILD, name: 'Hall', icon_url: `http://server.test/icons/${GUILD}/abc.png` }] },
    });
    expect(await game.ask('GET_GUILD', { guild_id: '99' })).toMatchObject({ data: { code: 4003 } });
    expect(await (await signedIn('identify')).ask('GET_GUILDS')).toMatchObject({ data: { code: 4006 } });
  });

  test.each([
    [['rpc'], GUILD, [1, 1]],
    [['guilds'], GUILD, [0, 0]],
    [['guilds', 'messages.read'], GUILD, [1, 0]],
    [['guilds.channels.read', 'rpc.voice.read'], GUILD, [0, 1]],
    [['dm_channels.read'], GUILD, 4006],
    [['rpc'], null, [1, 1]],
    [['guilds', 'messages.read', 'rpc.voice.read'], null, 4006],
    [['dm_channels.read'], null, [0, 0]],
  ] as const)(
    'reads, with the scopes %j, only the permitted fields of a channel of guild %s',
    async (scopes, guildId, seen) => {
      const game = await signedIn(...scopes);
      server.dispatch('VOICE_STATE_UPDATE', voiceOf(PEER, CHANNEL));
      server.answer(`GET /channels/${CHANNEL}`, () => ({
        body: { id: CHANNEL, type: 2, name: 'hall', ...(guildId !== null && { guild_id: guildId }) },
      }));
      server.answer(`GET /channels/${CHANNEL}/messages`, () => ({
        body: [{ id: '71', channel_id: CHANNEL, author: user(PEER), content: 'secret' }],
      }));
      const { data } = await game.ask('GET_CHANNEL', { channel_id: CHANNEL });
      const { messages, voice_states: voices } = (data ?? {}) as Record<string, readonly unknown[]>;
      expect(messages && voices ? [messages.length, voices.length] : data?.code).toEqual(seen);
    },
  );

  test('receives members who join, change and leave its subscribed channel, and channel changes of the user', async () => {
    const game = await signedIn('rpc');
    for (const event of ['VOICE_STATE_CREATE', 'VOICE_STATE_UPDATE', 'VOICE_STATE_DELETE'])
      expect(await game.ask('SUBSCRIBE', { channel_id: CHANNEL }, event)).toMatchObject({
        data: { evt: event },
      });
    await game.ask('SUBSCRIBE', {}, 'VOICE_CHANNEL_SELECT');
    server.dispatch('VOICE_STATE_UPDATE', voiceOf(PEER, CHANNEL));
    server.dispatch('VOICE_STATE_UPDATE', voiceOf(PEER, CHANNEL, { self_mute: true }));
    server.dispatch('VOICE_STATE_UPDATE', voiceOf(PEER, SECOND));
    server.dispatch('VOICE_STATE_UPDATE', voiceOf(ME, SECOND));
    expect(game.heard('VOICE_STATE_CREATE')).toMatchObject([{ user: { id: PEER } }]);
    expect(game.heard('VOICE_STATE_UPDATE')).toMatchObject([{ voice_state: { self_mute: true } }]);
    expect(game.heard('VOICE_STATE_DELETE')).toMatchObject([{ user: { id: PEER } }]);
    expect(game.heard('VOICE_CHANNEL_SELECT')).toEqual([{ channel_id: SECOND, guild_id: GUILD }]);
  });

  test('receives only the status of its guild, messages of its channel, and requests to join its party', async () => {
    const game = await signedIn('rpc');
    await game.ask('SUBSCRIBE', { guild_id: GUILD }, 'GUILD_STATUS');
    await game.ask('SUBSCRIBE', { channel_id: CHANNEL }, 'MESSAGE_CREATE');
    await game.ask('SUBSCRIBE', {}, 'ACTIVITY_JOIN_REQUEST');
    server.dispatch('GUILD_UPDATE', { id: GUILD, name: 'New', icon: null });
    const message = { id: '71', channel_id: CHANNEL, guild_id: GUILD, author: user(PEER), content: 'hi' };
    server.dispatch('MESSAGE_CREATE', message);
    server.dispatch('MESSAGE_CREATE', { ...message, channel_id: SECOND });
    const request = { ...message, channel_id: SECOND, activity: { type: 5, party_id: 'p' } };
    server.dispatch('MESSAGE_CREATE', { ...request, application: { id: GAME } });
    server.dispatch('MESSAGE_CREATE', { ...request, application: { id: OTHER } });
    expect(game.heard('GUILD_STATUS')).toMatchObject([{ guild: { id: GUILD, name: 'New', icon_url: null } }]);
    expect(game.heard('MESSAGE_CREATE')).toMatchObject([{ channel_id: CHANNEL, message: { content: 'hi' } }]);
    expect(game.heard('ACTIVITY_JOIN_REQUEST')).toMatchObject([{ user: { id: PEER }, type: 5 }]);
  });

  test('locks the voice settings until it disconnects, which restores them', async () => {
    const [game, other] = [await signedIn('rpc'), await signedIn('rpc')];
    await other.ask('SUBSCRIBE', {}, 'VOICE_SETTINGS_UPDATE');
    expect(await game.ask('SET_VOICE_SETTINGS', { mute: true, input: { volume: 40 } })).toMatchObject({
      data: { mute: true, deaf: false, input: { volume: 40, device_id: 'default' } },
    });
    expect(await other.ask('SET_VOICE_SETTINGS', { mute: false })).toMatchObject({ data: { code: 4006 } });
    expect(await game.ask('SET_VOICE_SETTINGS', { input: { volume: 101 } })).toMatchObject({
      data: { code: 4000 },
    });
    game.connection.lost();
    expect(other.heard('VOICE_SETTINGS_UPDATE')).toMatchObject([{ mute: true }, { mute: false }]);
  });

  test('moves the user out of another call only by force', async () => {
    const game = await signedIn('rpc');
    server.answer(`GET /channels/${SECOND}`, () => ({ body: { id: SECOND, type: 2, guild_id: GUILD } }));
    server.dispatch('VOICE_STATE_UPDATE', voiceOf(ME, CHANNEL));
    expect(await game.ask('SELECT_VOICE_CHANNEL', { channel_id: SECOND })).toMatchObject({
      data: { code: 5003 },
    });
    expect(server.sent(4)).toEqual([]);
    const moved = await game.ask('SELECT_VOICE_CHANNEL', { channel_id: SECOND, force: true });
    expect(moved).toMatchObject({ data: { id: SECOND } });
    expect(server.sent(4)).toEqual([
      { guild_id: GUILD, channel_id: SECOND, self_mute: false, self_deaf: false },
    ]);
  });
});

test('a connection is closed with 4003 when the server ends the session of the user', async () => {
  const game = connect();
  await game.shake();
  server.drop(4004);
  expect(game.sent.at(-1)).toMatchObject([RPC_OP.CLOSE, { code: RPC_CLOSE.TOKEN_REVOKED }]);
});

test('PING is answered with PONG and the same data', () => {
  const { sent, connection } = connect();
  connection.receive(RPC_OP.PING, 'anything');
  expect(sent).toEqual([[RPC_OP.PONG, 'anything']]);
});
