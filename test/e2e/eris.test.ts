// Goal: an unmodified eris bot logs in and has messages go round; its REST rides on an agent for plain HTTP.
import http from 'node:http';
import Eris from 'eris';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.finish());

/** Eris always asks for https. */
function plainAgent(port: number): http.Agent {
  const agent = new http.Agent();
  return Object.assign(agent, { protocol: 'https:', defaultPort: port });
}

test('login, guild, message with file, embed and reply, edit, reaction, pin, role, delete', async () => {
  const { api, bot, guild, users } = server.info;
  const { hostname, port, pathname } = new URL(api);
  const client = Eris(`Bot ${bot.token}`, {
    intents: ['guilds', 'guildMessages', 'guildMessageReactions', 'guildMembers', 'messageContent'],
    rest: {
      domain: hostname,
      baseURL: `${pathname}/v10`,
      agent: plainAgent(Number(port)) as unknown as import('node:https').Agent,
    },
  });
  const errors: Error[] = [];
  client.on('error', (error) => errors.push(error));
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
  expect(client.user.id).toBe(bot.id);
  const there = client.guilds.get(guild.id)!;
  expect(there.memberCount).toBe(4);

  const channelId = guild.text_channel_id;
  const created = new Promise<Eris.Message>((resolve) => client.once('messageCreate', resolve));
  const sent = await client.createMessage(
    channelId,
    { content: 'Low water', embeds: [{ title: 'Tides' }] },
    { name: 'tides.txt', file: Buffer.from('0412 1.2 m') },
  );
  const message = await created;
  expect(message).toMatchObject({ id: sent.id, content: 'Low water' });
  expect(message.embeds[0]?.title).toBe('Tides');
  expect(await (await fetch(message.attachments[0]!.url)).text()).toBe('0412 1.2 m');

  const edited = new Promise<Eris.Message>((resolve) => client.once('messageUpdate', resolve));
  await client.editMessage(channelId, sent.id, { content: 'High water' });
  expect(await edited).toMatchObject({ id: sent.id, content: 'High water' });
  const reacted = new Promise<string>((resolve) =>
    client.once('messageReactionAdd', (_, emoji) => resolve(emoji.name)),
  );
  await client.addMessageReaction(channelId, sent.id, '🌊');
  expect(await reacted).toBe('🌊');
  expect((await client.getMessageReaction(channelId, sent.id, '🌊')).map(({ id }) => id)).toEqual([bot.id]);
  await client.pinMessage(channelId, sent.id);
  expect((await client.getPins(channelId)).map(({ id }) => id)).toEqual([sent.id]);

  const role = await there.createRole({ name: 'Pilot', permissions: 0n, hoist: true });
  const updated = new Promise<Eris.Member>((resolve) =>
    client.once('guildMemberUpdate', (_, member) => resolve(member)),
  );
  await client.addGuildMemberRole(guild.id, users[0]!.id, role.id, 'Knows the sands');
  expect((await updated).roles).toContain(role.id);
  expect((await there.fetchMembers()).length).toBe(4);

  const deleted = new Promise<string>((resolve) => client.once('messageDelete', ({ id }) => resolve(id)));
  await client.deleteMessage(channelId, sent.id, 'Done');
  expect(await deleted).toBe(sent.id);
  await expect(client.getMessage(channelId, sent.id)).rejects.toMatchObject({ code: 10008 });
  client.disconnect({ reconnect: false });
  expect(errors).toEqual([]);
});
