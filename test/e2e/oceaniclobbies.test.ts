// Goal: the server of a game, made with an unmodified oceanic.js, does everything with lobbies that this library can.
import { Client } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { tokenOf } from '../support/voice-player.ts';

type Lobbies = Client['rest']['lobbies'];

const CAN_LINK_LOBBY = 1;
const MANAGE_CHANNELS = 16;

let server: TestServer;
let bot: Client;
let lobbies: Lobbies;
/** The methods that were called. */
const called = new Set<string>();
const errors: (Error | string)[] = [];

beforeAll(async () => {
  server = await startServer();
  bot = new Client({
    auth: `Bot ${server.info.bot.token}`,
    gateway: { intents: ['GUILDS'] },
    rest: { baseURL: `${server.info.api}/v10` },
  });
  bot.on('error', (error) => errors.push(error));
  const ready = new Promise((resolve) => bot.once('ready', () => resolve(null)));
  await bot.connect();
  await ready;
  lobbies = new Proxy(bot.rest.lobbies, {
    get(target, name) {
      called.add(String(name));
      const method = Reflect.get(target, name) as (...given: unknown[]) => unknown;
      return method.bind(target);
    },
  });
});
afterAll(async () => {
  bot?.disconnect(false);
  await server?.finish();
});

/** Somebody at the game. */
async function player(name: string) {
  const token = await tokenOf(server, name);
  const { id } = await server.restOf(`Bearer ${token}`).call<{ id: string }>('get_my_user');
  return { id, token };
}

const ids = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id);

test('players join by a secret, write, read and leave, each by their own token', async () => {
  const [ann, ben] = [await player('ann'), await player('ben')];
  const secret = 'table 1';
  const made = await lobbies.joinOrCreate({
    secret,
    accessToken: ann.token,
    idleTimeoutSeconds: 60,
    lobbyMetadata: { map: 'dunes' },
    memberMetadata: { team: 'red' },
  });
  expect(made).toMatchObject({ applicationID: server.info.application.id, metadata: { map: 'dunes' } });
  expect(made.members.map(({ id, metadata }) => [id, metadata])).toEqual([[ann.id, { team: 'red' }]]);
  const joined = await lobbies.joinOrCreate({ secret, accessToken: ben.token });
  expect([joined.id, ids(joined.members)]).toEqual([made.id, [ann.id, ben.id]]);

  const sent = await lobbies.createMessage(
    made.id,
    { content: 'ready?', metadata: { round: '1' } },
    ann.token,
  );
  expect(sent).toMatchObject({ lobbyID: made.id, channelID: made.id, metadata: { round: '1' } });
  expect(sent.author.id).toBe(ann.id);
  await lobbies.updateMessageModerationMetadata(made.id, sent.id, { verdict: 'fine' });
  await lobbies.createMessage(made.id, { content: 'go' }, ben.token);
  const history = await lobbies.getMessages(made.id, { limit: 10 }, ben.token);
  expect(history.map(({ content }) => content)).toEqual(['go', 'ready?']);
  expect(history[1]).toMatchObject({ id: sent.id, moderationMetadata: { verdict: 'fine' } });

  await lobbies.leave(made.id, ben.token);
  await expect(lobbies.getMessages(made.id, {}, ben.token)).rejects.toMatchObject({ code: 50_001 });
  expect(ids((await lobbies.get(made.id)).members)).toEqual([ann.id]);
});

test('the server of the game makes a lobby, and says who is in it and under which name', async () => {
  const [ann, ben, cas] = [await player('ann'), await player('ben'), await player('cas')];
  const lobby = await lobbies.create({
    metadata: { kind: 'ranked' },
    members: [{ id: ann.id, metadata: { seat: '1' } }],
    idleTimeoutSeconds: 60,
  });
  const edited = await lobbies.edit(lobby.id, {
    metadata: { kind: 'casual' },
    members: [{ id: ben.id }],
  });
  expect([edited.metadata, ids(edited.members)]).toEqual([{ kind: 'casual' }, [ben.id]]);

  const captain = await lobbies.addMember(lobby.id, ann.id, { additionalName: 'Captain', flags: 1 });
  expect(captain).toMatchObject({ id: ann.id, additionalName: 'Captain', flags: CAN_LINK_LOBBY });
  const { lobbyMember } = await lobbies.createMessage(lobby.id, { content: 'aye' }, ann.token);
  expect(lobbyMember).toEqual({ additionalName: 'Captain' });

  const upserted = await lobbies.bulkUpdateMembers(lobby.id, [
    { id: cas.id, additionalName: 'Cook' },
    { id: ben.id, removeMember: true },
  ]);
  expect(upserted.map(({ id, additionalName }) => [id, additionalName])).toEqual([[cas.id, 'Cook']]);
  await lobbies.removeMember(lobby.id, cas.id);
  await lobbies.removeMember(lobby.id, cas.id);
  expect(ids((await lobbies.get(lobby.id)).members)).toEqual([ann.id]);

  await lobbies.delete(lobby.id);
  await lobbies.delete(lobby.id);
  await expect(lobbies.get(lobby.id)).rejects.toMatchObject({ code: 10_031 });
});

test('a lobby is linked to a channel and creates guild invites, by members with the right', async () => {
  const [ann, ben] = [await player('linking ann'), await player('linking ben')];
  const { id: guildId, text_channel_id: channelId } = server.info.guild;
  const permissions = String(MANAGE_CHANNELS);
  await server.admin(`/guilds/${guildId}/members`, { user_id: ann.id, permissions });
  const { id } = await lobbies.create({
    members: [{ id: ann.id, flags: CAN_LINK_LOBBY }, { id: ben.id }],
  });
  await expect(lobbies.linkChannel(id, channelId, ben.token)).rejects.toMatchObject({ code: 50_013 });
  const linked = await lobbies.linkChannel(id, channelId, ann.token);
  expect(linked.linkedChannel).toMatchObject({ id: channelId, guildID: guildId });

  await lobbies.createMessage(id, { content: 'from the game' }, ann.token);
  const inChannel = () => bot.rest.channels.getMessages(channelId, { limit: 1 });
  await expect.poll(async () => (await inChannel())[0]?.content).toBe('from the game');

  const [own, given] = [
    await lobbies.createCurrentUserInvite(id, ben.token),
    await lobbies.createInvite(id, ben.id),
  ];
  expect(own.code).not.toBe(given.code);
  const invite = await bot.rest.channels.getInvite(given.code, {});
  expect(invite).toMatchObject({ guildID: guildId, channelID: channelId });

  expect((await lobbies.unlinkChannel(id, ann.token)).linkedChannel).toBeUndefined();
  await expect(lobbies.createInvite(id, ben.id)).rejects.toThrow();
  await lobbies.delete(id);
});

test('every method of the library is called, and the connection of the bot stays open', () => {
  const all = Object.getOwnPropertyNames(Object.getPrototypeOf(bot.rest.lobbies));
  const offered = all.filter((name) => name !== 'constructor' && !name.startsWith('_'));
  expect([...called].sort()).toEqual(offered.sort());
  expect(errors).toEqual([]);
});
