// Goal: storms and floods on lobbies lose nothing, duplicate nothing and leave the server as it was; a user who is
// banned or merged meanwhile stays out.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { OAuthClient, type Tokens } from '../support/oauth.ts';
import { type Player, playerOf } from '../support/players.ts';
import { startServer, type TestServer } from '../support/server.ts';

const CALLBACK = 'https://game.example/callback';
/** Twice what a server of this size takes for its own garbage, and far less than what was sent to it. */
const GREW_BYTES_MAX = 350 << 20;

let server: TestServer;
let startedBytes: number;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer();
  startedBytes = await server.rssBytes();
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await server?.finish();
});

const player = (name: string) => playerOf(server, name);

/** So many players, a few at a time. */
async function players(count: number, prefix: string): Promise<Player[]> {
  const made: Player[] = [];
  while (made.length < count) {
    const some = Array.from({ length: Math.min(50, count - made.length) }, (_, at) =>
      player(`${prefix} ${made.length + at}`),
    );
    made.push(...(await Promise.all(some)));
  }
  return made;
}

async function online({ token }: Player): Promise<GatewayClient> {
  const client = await GatewayClient.ready(server.info.gateway, { token: `Bearer ${token}` });
  closers.push(() => client.close());
  return client;
}

interface Lobby {
  readonly id: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly members: readonly { readonly id: string; readonly metadata?: object }[];
}

describe('at the same time', () => {
  test('a hundred players with one secret join one lobby, each of them twice', async () => {
    const crowd = await players(100, 'crowd');
    const joins = crowd.flatMap(({ rest }) => [rest, rest, rest]);
    const answers = await Promise.all(
      joins.map((rest) => rest.call<Lobby>('create_or_join_lobby', { body: { secret: 'storm' } })),
    );
    const [id] = new Set(answers.map((lobby) => lobby.id));
    expect(new Set(answers.map((lobby) => lobby.id)).size).toBe(1);
    const { members } = await server.bot().call<Lobby>('get_lobby', { params: { lobby_id: id! } });
    expect(members.map((member) => member.id).sort()).toEqual(crowd.map((one) => one.id).sort());
  });

  test('a player is in a hundred lobbies at most, whether the player joins or a bot adds them', async () => {
    const eager = await player('eager');
    const join = (secret: string) => eager.rest.ask<Lobby>('create_or_join_lobby', { body: { secret } });
    const answers = await Promise.all(Array.from({ length: 130 }, (_, index) => join(`many ${index}`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100);
    for (const { status } of answers) expect([200, 400]).toContain(status);
    const made = await server.bot().call<Lobby>('create_lobby', { body: { members: [{ id: eager.id }] } });
    expect(made.members).toEqual([]);
    const params = { lobby_id: made.id, user_id: eager.id };
    expect((await server.bot().ask('add_lobby_member', { params, body: {} })).status).toBe(400);
  });

  test('a lobby deleted while players join is gone, and the joins answer with an existing lobby', async () => {
    const racers = await players(20, 'racer');
    for (let round = 0; round < 5; round += 1) {
      const secret = `race ${round}`;
      const { id } = await racers[0]!.rest.call<Lobby>('create_or_join_lobby', { body: { secret } });
      const [, ...joined] = await Promise.all([
        server.bot().call('delete_lobby', { params: { lobby_id: id } }),
        ...racers.map(({ rest }) => rest.ask<Lobby>('create_or_join_lobby', { body: { secret } })),
      ]);
      for (const { status } of joined) expect(status).toBe(200);
      const others = new Set(joined.map(({ body }) => body.id).filter((one) => one !== id));
      expect(others.size).toBeLessThanOrEqual(1);
      expect((await server.bot().ask('get_lobby', { params: { lobby_id: id } })).status).toBe(404);
      for (const { body } of joined.filter(({ body }) => body.id !== id)) {
        const there = await server.bot().call<Lobby>('get_lobby', { params: { lobby_id: body.id } });
        expect(there.members.length).toBe(joined.filter((one) => one.body.id === body.id).length);
      }
    }
  });

  test('an invite for one user to a linked lobby’s guild is rejected for every other user', async () => {
    const [guest, thief] = [await player('guest'), await player('thief')];
    const { guild } = server.info;
    await server.admin(`/guilds/${guild.id}/members`, { user_id: guest.id, permissions: '16' });
    const { id: lobby_id } = await server.bot().call<Lobby>('create_lobby', {
      body: { members: [{ id: guest.id, flags: 1 }, { id: thief.id }] },
    });
    const params = { lobby_id };
    await guest.rest.call('edit_lobby_channel_link', { params, body: { channel_id: guild.text_channel_id } });
    const { code } = await server.bot().call<{ code: string }>('create_linked_lobby_guild_invite_for_user', {
      params: { ...params, user_id: thief.id },
    });
    const people = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        server.admin<{ token: string }>('/users', { username: `accepts.${index}` }),
      ),
    );
    const accept = (token: string) =>
      fetch(`${server.info.api}/v10/invites/${code}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      });
    const statuses = (await Promise.all(people.map(({ token }) => accept(token)))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status < 300)).toEqual([]);
    await server.bot().call('delete_lobby', { params });
  });
});

test('a lobby of a thousand with as much metadata as there may be is whole, and one more does not fit', async () => {
  const { id: lobby_id } = await server.bot().call<Lobby>('create_lobby', { body: {} });
  const crowd = await players(1_001, 'legion');
  const metadata = { 'k"\\\u2028': '\u0001'.repeat(990) };
  for (let at = 0; at < 1_000; at += 25) {
    const body = crowd.slice(at, at + 25).map(({ id }) => ({ id, metadata }));
    const shown = await server
      .bot()
      .call<unknown[]>('bulk_update_lobby_members', { params: { lobby_id }, body });
    expect(shown).toHaveLength(25);
  }
  const [last] = crowd.slice(-1);
  const params = { lobby_id, user_id: last!.id };
  expect((await server.bot().ask('add_lobby_member', { params, body: {} })).status).toBe(400);
  const dropped = [{ id: last!.id, metadata }];
  expect(await server.bot().call('bulk_update_lobby_members', { params, body: dropped })).toEqual([]);
  const listeners = await Promise.all(crowd.slice(0, 5).map(online));
  for (const listener of listeners) {
    const lobby = await listener.dispatch<Lobby>('LOBBY_CREATE');
    expect(lobby.members).toHaveLength(1_000);
  }
  for (let round = 0; round < 5; round += 1) {
    await server.bot().call('edit_lobby', { params, body: { metadata: { round: String(round) } } });
    const told = listeners.map((listener) => listener.dispatch<Lobby>('LOBBY_UPDATE'));
    for (const lobby of await Promise.all(told))
      expect(lobby).toMatchObject({ id: lobby_id, metadata: { round: String(round) } });
  }
  await server.bot().call('delete_lobby', { params });
}, 240_000);

test('lobbies by the thousand come and go', async () => {
  const bot = server.bot();
  const made: Lobby[] = [];
  const make = (n: number) =>
    bot.call<Lobby>('create_lobby', {
      body: { metadata: { n: String(n), pad: 'x'.repeat(900) }, idle_timeout_seconds: 5 },
    });
  // A connection that is opened and says nothing for 10 s is closed, as this process may on a busy machine.
  while (made.length < 2_000) {
    const batch = Array.from({ length: 200 }, (_, index) => make(made.length + index));
    made.push(...(await Promise.all(batch)));
  }
  expect(new Set(made.map(({ id }) => id)).size).toBe(2_000);
  const [first] = made;
  await expect
    .poll(async () => (await bot.ask('get_lobby', { params: { lobby_id: first!.id } })).status, {
      timeout: 60_000,
      interval: 500,
    })
    .toBe(404);
}, 240_000);

describe('op 17', () => {
  test('is refused with a documented code in any shape, and a flood of it ends with one', async () => {
    const who = await player('op 17');
    const { id } = await who.rest.call<Lobby>('create_or_join_lobby', { body: { secret: 'op 17' } });
    const state = { lobby_id: id, self_mute: false, self_deaf: false };
    for (const d of [
      null,
      {},
      'x',
      [null],
      [{}],
      [{ lobby_id: 'x' }],
      [{ lobby_id: -1 }],
      [{ lobby_id: {} }],
      Array(101).fill({ lobby_id: '1' }),
    ]) {
      const client = await online(who);
      client.send(17, d);
      expect((await client.closed).code, JSON.stringify(d)?.slice(0, 40)).toBe(4001);
    }
    const foreign = await online(who);
    foreign.send(17, [
      { ...state, lobby_id: '1' },
      { ...state, lobby_id: server.info.guild.voice_channel_id },
    ]);
    foreign.send(17, [state, state, state]);
    await foreign.dispatch('LOBBY_VOICE_SERVER_UPDATE', (d) => d.lobby_id === id);
    expect(foreign.names.filter((name) => name === 'LOBBY_VOICE_SERVER_UPDATE')).toHaveLength(1);
    for (let index = 0; index < 200; index += 1) foreign.send(17, index % 2 ? [] : [state]);
    expect((await foreign.closed).code).toBe(4008);
  });
});

/** A person who lets a game act for them. */
async function person(name: string) {
  const { user, token } = await server.admin<{ user: { id: string }; token: string }>('/users', {
    username: name,
  });
  return { id: user.id, token };
}

describe('a ban', () => {
  test('ends every token, whatever is asked for at the same time, and nothing gives a new one', async () => {
    const victim = await person('victim');
    const game = await OAuthClient.make(server, { owner_id: victim.id, redirect_uris: [CALLBACK] });
    const scope = 'identify openid';
    const kept = await game.signIn(victim.token, CALLBACK, scope);
    const asked = { response_type: 'code', redirect_uri: CALLBACK, scope };
    const codes = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const { body } = await game.decide(victim.token, asked);
        return new URL(body.location!).searchParams.get('code')!;
      }),
    );
    const device = (await game.post<Record<string, string>>('device/authorize', { scope })).body;
    const grant = { grant_type: 'authorization_code', redirect_uri: CALLBACK };
    const owner = () => game.post<Tokens>('token', { grant_type: 'client_credentials', scope });
    const storm = () => [
      ...codes.map((code) => game.post<Tokens>('token', { ...grant, code })),
      ...Array.from({ length: 5 }, owner),
      game.refresh(kept.refresh_token!) as unknown as ReturnType<typeof owner>,
      game.decide(victim.token, { ...asked, response_type: 'token' }).then(({ status, body }) => {
        const fragment = new URLSearchParams(body.location ? new URL(body.location).hash.slice(1) : '');
        return { status, body: { access_token: fragment.get('access_token') ?? 'none' } as Tokens };
      }),
    ];
    const [, ...answers] = await Promise.all([server.admin(`/users/${victim.id}/ban`, {}), ...storm()]);
    const given = [kept, ...answers.map(({ body }) => body)].map(({ access_token }) => access_token);
    for (const token of [victim.token, ...given.filter(Boolean)])
      expect((await server.restOf(`Bearer ${token}`).ask('get_my_user')).status).toBe(401);
    for (const { status } of await Promise.all(storm())) expect(status).toBeGreaterThanOrEqual(400);
    const finish = await fetch(`${server.info.api}/oauth2/device/finish`, {
      method: 'POST',
      headers: { authorization: `Bearer ${victim.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ user_code: device.user_code, result: 'granted' }),
    });
    expect(finish.status).toBe(401);
    const client = await GatewayClient.connect(server.info.gateway);
    client.identify({ token: `Bearer ${kept.access_token}`, intents: 0 });
    expect((await client.closed).code).toBe(4004);
  });
});

test('the server survives all attacks without a logged fault and within bounded memory', async () => {
  expect(server.complaints).toEqual([]);
  await expect
    .poll(async () => (await server.rssBytes()) - startedBytes, { timeout: 30_000, interval: 1_000 })
    .toBeLessThan(GREW_BYTES_MAX);
});
