// Goal: a game's players meet in a lobby over the wire: every operation as published, text, voice with sound, and a link.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CAPABILITY } from '../../protocol/capabilities.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import type { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { agreed, type Caller, callIn } from '../support/voice-caller.ts';

let server: TestServer;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  server = await startServer({ bots: 2 });
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  await server?.finish();
});

interface Player {
  readonly id: string;
  readonly token: string;
  readonly rest: RestClient;
}

/** A player authenticated by the bot of a game. */
async function player(name: string, game = 0): Promise<Player> {
  const { access_token: token } = await server
    .bot(game)
    .call<{ access_token: string }>('bot_partner_sdk_token', { body: { external_user_id: name } });
  const rest = server.restOf(`Bearer ${token}`);
  const { id } = await rest.call<{ id: string }>('get_my_user');
  return { id, token, rest };
}

async function online({ token }: Player): Promise<GatewayClient> {
  const client = await GatewayClient.ready(server.info.gateway, {
    token: `Bearer ${token}`,
    capabilities: CAPABILITY.AUTO_LOBBY_CONNECT,
  });
  closers.push(() => client.close());
  return client;
}

interface Lobby {
  readonly id: string;
  readonly members: readonly { readonly id: string; readonly flags: number }[];
  readonly linked_channel?: { readonly id: string };
}

const join = (who: Player, secret: string, more: object = {}) =>
  who.rest.call<Lobby>('create_or_join_lobby', { body: { secret, ...more } });

test('players meet by secret, talk, and are taken out by the server of their game', async () => {
  const [ann, ben, eve] = [await player('ann'), await player('ben'), await player('eve', 1)];
  const [annOnline, benOnline] = [await online(ann), await online(ben)];
  const lobby = await join(ann, 'table 1', { lobby_metadata: { map: 'dunes' }, idle_timeout_seconds: 60 });
  const params = { lobby_id: lobby.id };
  expect((await join(ben, 'table 1')).members.map(({ id }) => id)).toEqual([ann.id, ben.id]);
  expect(await annOnline.dispatch('LOBBY_MEMBER_ADD')).toMatchObject({ lobby_id: lobby.id });
  expect(await benOnline.dispatch('LOBBY_CREATE')).toMatchObject({
    id: lobby.id,
    metadata: { map: 'dunes' },
    members: [{ connected: true }, { connected: true }],
  });
  const sent = await ann.rest.call<{ id: string }>('create_lobby_message', {
    params,
    body: { content: 'hello', metadata: { mood: 'bold' } },
  });
  expect(await benOnline.dispatch('LOBBY_MESSAGE_CREATE')).toMatchObject({
    id: sent.id,
    content: 'hello',
    metadata: { mood: 'bold' },
    author: { id: ann.id },
  });
  await server.bot().call('update_lobby_message_external_moderation_metadata', {
    params: { ...params, message_id: sent.id },
    body: { verdict: 'fine' },
  });
  expect(await benOnline.dispatch('LOBBY_MESSAGE_UPDATE')).toMatchObject({
    moderation_metadata: { verdict: 'fine' },
  });
  expect(await ben.rest.call('get_lobby_messages', { params, query: { limit: 1 } })).toMatchObject([
    { id: sent.id, moderation_metadata: { verdict: 'fine' } },
  ]);

  for (const [operation, call] of [
    ['create_lobby_message', { params, body: { content: 'let me in' } }],
    ['get_lobby_messages', { params }],
    ['leave_lobby', { params }],
  ] as const)
    expect(await eve.rest.ask(operation, call)).toMatchObject({ status: 404, body: { code: 10031 } });
  expect((await join(eve, 'table 1')).id).not.toBe(lobby.id);

  await server.bot().call('bulk_update_lobby_members', {
    params,
    body: [
      { id: ann.id, additional_name: 'Captain', flags: 1 },
      { id: ben.id, remove_member: true },
    ],
  });
  expect(await benOnline.dispatch('LOBBY_DELETE')).toEqual({ id: lobby.id, reason: 'removed' });
  expect(await annOnline.dispatch('LOBBY_MEMBER_REMOVE')).toMatchObject({ member: { user: { id: ben.id } } });
  await ann.rest.call('leave_lobby', { params });
  expect(await annOnline.dispatch('LOBBY_DELETE')).toEqual({ id: lobby.id, reason: 'removed' });
  await server.bot().call('delete_lobby', { params });
  await server.bot().call('delete_lobby', { params });
});

test('a lobby created by a game’s server is linked to a channel, and both show the same messages', async () => {
  const ann = await player('linking ann');
  const annOnline = await online(ann);
  const { guild } = server.info;
  await server.admin(`/guilds/${guild.id}/members`, { user_id: ann.id, permissions: '16' });
  const bot = server.bot();
  const made = await bot.call<Lobby>('create_lobby', {
    body: { metadata: { kind: 'clan' }, members: [{ id: ann.id, flags: 1 }] },
  });
  const params = { lobby_id: made.id };
  await bot.call('edit_lobby', { params, body: { metadata: { kind: 'guild' } } });
  await bot.call('add_lobby_member', {
    params: { ...params, user_id: ann.id },
    body: { additional_name: 'Ann the Bold' },
  });
  const linked = await ann.rest.call<Lobby>('edit_lobby_channel_link', {
    params,
    body: { channel_id: guild.text_channel_id },
  });
  expect(linked.linked_channel?.id).toBe(guild.text_channel_id);
  expect(await bot.call('get_lobby', { params })).toMatchObject({
    metadata: { kind: 'guild' },
    linked_channel: { id: guild.text_channel_id },
  });
  await ann.rest.call('create_lobby_message', { params, body: { content: 'from the game' } });
  const channel = { channel_id: guild.text_channel_id };
  await expect
    .poll(async () => {
      const [last] = await bot.call<{ content: string }[]>('list_messages', { params: channel });
      return last?.content;
    })
    .toBe('from the game');
  const { id } = await bot.call<{ id: string }>('create_message', {
    params: channel,
    body: { content: 'from the guild' },
  });
  expect(
    await annOnline.dispatch('LOBBY_MESSAGE_CREATE', ({ content }) => content === 'from the guild'),
  ).toMatchObject({ id, lobby_id: made.id, guild_id: guild.id, ...channel });
  await bot.call('delete_message', { params: { ...channel, message_id: id } });
  expect(await annOnline.dispatch('LOBBY_MESSAGE_DELETE')).toEqual({ id, lobby_id: made.id });

  const invite = await ann.rest.call<{ code: string }>('create_linked_lobby_guild_invite_for_self', {
    params,
  });
  const other = await bot.call<{ code: string }>('create_linked_lobby_guild_invite_for_user', {
    params: { ...params, user_id: ann.id },
  });
  expect(invite.code).not.toBe(other.code);
  await bot.call('delete_lobby_member', { params: { ...params, user_id: ann.id } });
  await bot.call('delete_lobby', { params });
});

/** Brings a player into lobby voice by op 17, as far as hearing and being heard. */
async function talk(gateway: GatewayClient, lobbyId: string): Promise<Caller> {
  const { userId } = gateway;
  gateway.send(17, [{ lobby_id: lobbyId, self_mute: false, self_deaf: false }]);
  const [state, place] = await Promise.all([
    gateway.dispatch(
      'LOBBY_VOICE_STATE_UPDATE',
      (d) => d.user_id === userId && d.channel_id === lobbyId && d.lobby_id === lobbyId,
    ),
    gateway.dispatch<{ endpoint: string; token: string; lobby_id: string }>('LOBBY_VOICE_SERVER_UPDATE'),
  ]);
  expect(place).toEqual({ lobby_id: lobbyId, token: expect.any(String), endpoint: expect.any(String) });
  const { endpoint, token } = place;
  const sessionId = String(state.session_id);
  const caller = await callIn(
    { endpoint, token, serverId: lobbyId, channelId: lobbyId, userId, sessionId },
    { caFile: server.info.ca_file },
  );
  closers.push(() => caller.close());
  caller.client.speak(caller.ready.ssrc);
  return caller;
}

test('two players hear each other end-to-end encrypted, and leave when op 17 omits the lobby', async () => {
  const [ann, ben] = [await player('voice ann'), await player('voice ben')];
  const [annOnline, benOnline] = [await online(ann), await online(ben)];
  const { id } = await join(ann, 'headsets on');
  await join(ben, 'headsets on');
  const [first, second] = [await talk(annOnline, id), await talk(benOnline, id)];
  await agreed(first, second);
  for (const [from, to] of [
    [first, second],
    [second, first],
  ] as const) {
    // A first packet gives the server the listener's address.
    to.udp.sendOpus(Uint8Array.of(0xf8, 0xff, 0xfe));
    const spoken = randomBytes(90);
    const heard = () =>
      to.udp.rtp.filter(({ ssrc, payload }) => ssrc === from.ready.ssrc && payload.length > 3);
    await expect
      .poll(() => {
        from.udp.sendOpus(from.dave.encrypt(spoken));
        return heard().length;
      })
      .toBeGreaterThan(0);
    expect(to.dave.decrypt(from.ticket.userId, heard()[0]!.payload)).toEqual(spoken);
  }
  annOnline.send(17, []);
  expect((await first.client.closed).code).toBe(4014);
  expect((await second.client.waitFor(13)).d).toEqual({ user_id: ann.id });
  expect(
    await benOnline.dispatch('LOBBY_VOICE_STATE_UPDATE', ({ channel_id }) => channel_id === null),
  ).toMatchObject({ lobby_id: id, user_id: ann.id });
  await server.bot().call('delete_lobby', { params: { lobby_id: id } });
  expect((await second.client.closed).code).toBe(4022);
});
