// Goal: an unmodified oceanic.js bot logs in and has messages go round.
import { Client, type Message, type PossiblyUncachedMessage } from 'oceanic.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.finish());

test('login, guild, message with file, embed and reply, edit, reaction, pin, role, delete', async () => {
  const { api, bot, guild, users } = server.info;
  const client = new Client({
    auth: `Bot ${bot.token}`,
    gateway: {
      intents: ['GUILDS', 'GUILD_MESSAGES', 'GUILD_MESSAGE_REACTIONS', 'GUILD_MEMBERS', 'MESSAGE_CONTENT'],
    },
    rest: { baseURL: `${api}/v10` },
  });
  const errors: (Error | string)[] = [];
  client.on('error', (error) => errors.push(error));
  const ready = new Promise((resolve) => client.once('ready', () => resolve(null)));
  await client.connect();
  await ready;
  expect(client.user.id).toBe(bot.id);
  const there = client.guilds.get(guild.id)!;
  expect(there.memberCount).toBe(4);

  const { channels, guilds } = client.rest;
  const channelId = guild.text_channel_id;
  const created = new Promise<Message>((resolve) => client.once('messageCreate', resolve));
  const sent = await channels.createMessage(channelId, {
    content: 'Low water',
    embeds: [{ title: 'Tides' }],
    files: [{ name: 'tides.txt', contents: Buffer.from('0412 1.2 m') }],
  });
  const message = await created;
  expect(message).toMatchObject({ id: sent.id, content: 'Low water' });
  expect(message.embeds[0]?.title).toBe('Tides');
  expect(await (await fetch(message.attachments.first()!.url)).text()).toBe('0412 1.2 m');

  const edited = new Promise<Message>((resolve) => client.once('messageUpdate', resolve));
  await channels.editMessage(channelId, sent.id, { content: 'High water' });
  expect(await edited).toMatchObject({ id: sent.id, content: 'High water' });
  const reacted = new Promise<string>((resolve) =>
    client.once('messageReactionAdd', (_message, _by, { emoji }) => resolve(emoji.name)),
  );
  await channels.createReaction(channelId, sent.id, '🌊');
  expect(await reacted).toBe('🌊');
  expect((await channels.getReactions(channelId, sent.id, '🌊')).map(({ id }) => id)).toEqual([bot.id]);
  await channels.pinMessage(channelId, sent.id);
  expect((await channels.getPinnedMessages(channelId)).map(({ id }) => id)).toEqual([sent.id]);

  const role = await guilds.createRole(guild.id, { name: 'Pilot', permissions: '0', hoist: true });
  const updated = new Promise<readonly string[]>((resolve) =>
    client.once('guildMemberUpdate', ({ roles }) => resolve(roles)),
  );
  await guilds.addMemberRole(guild.id, users[0]!.id, role.id, 'Knows the sands');
  expect(await updated).toContain(role.id);
  expect((await there.fetchMembers()).length).toBe(4);

  const deleted = new Promise<PossiblyUncachedMessage>((resolve) => client.once('messageDelete', resolve));
  await channels.deleteMessage(channelId, sent.id, 'Done');
  expect((await deleted).id).toBe(sent.id);
  await expect(channels.getMessage(channelId, sent.id)).rejects.toMatchObject({ code: 10008 });
  client.disconnect(false);
  expect(errors).toEqual([]);
});
