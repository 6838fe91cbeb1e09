// Goal: an unmodified discord.js bot lives a whole day here, and every answer it gets fits the published file.
import {
  ActivityType,
  AttachmentBuilder,
  AuditLogEvent,
  ChannelType,
  Client,
  type ClientEvents,
  EmbedBuilder,
  Events,
  GatewayIntentBits,
  type Guild,
  type Message,
  Partials,
  PermissionFlagsBits,
  type TextChannel,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GatewayClient } from '../support/gateway-client.ts';
import { type NewBot, startServer, type TestServer } from '../support/server.ts';

const INTENTS = Object.values(GatewayIntentBits).filter(
  (bit): bit is GatewayIntentBits => typeof bit === 'number',
);
const TIMEOUT_MS = 10_000;

let server: TestServer;
/** Administrator. */
let bot: Client<true>;
/** A member like any. */
let plain: Client<true>;
let plainBot: NewBot;
let guild: Guild;
let channel: TextChannel;

async function online(token: string): Promise<Client<true>> {
  const { api, cdn } = server.info;
  const client = new Client({
    intents: INTENTS,
    partials: [Partials.Channel, Partials.Message],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  client.on(Events.Error, (error) => expect.fail(error.message));
  const [[ready]] = await Promise.all([heard(client, Events.ClientReady), client.login(token)]);
  return ready;
}

/** The next event of that name that matches. */
function heard<E extends keyof ClientEvents>(
  client: Client,
  event: E,
  matches: (...args: ClientEvents[E]) => boolean = () => true,
): Promise<ClientEvents[E]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${event} did not come.`)), TIMEOUT_MS);
    const listener = (...args: ClientEvents[E]) => {
      if (!matches(...args)) return;
      clearTimeout(timer);
      client.off(event as string, listener as () => void);
      resolve(args);
    };
    client.on(event as string, listener as () => void);
  });
}

beforeAll(async () => {
  server = await startServer();
  plainBot = await server.newBot('Wick');
  bot = await online(server.info.bot.token);
  plain = await online(plainBot.token);
  guild = bot.guilds.cache.get(server.info.guild.id)!;
  channel = guild.channels.cache.get(server.info.guild.text_channel_id) as TextChannel;
});
afterAll(async () => {
  await bot?.destroy();
  await plain?.destroy();
  expect(server.relay?.checked).toBeGreaterThan(60);
  await server.finish();
});

describe('login', () => {
  test('brings the demo guild with its channels, roles and members', () => {
    expect(bot.user.id).toBe(server.info.bot.id);
    expect(bot.guilds.cache.size).toBe(1);
    expect(guild.available).toBe(true);
    expect(guild.memberCount).toBe(5);
    expect(channel.type).toBe(ChannelType.GuildText);
    expect(guild.channels.cache.get(server.info.guild.voice_channel_id)?.type).toBe(ChannelType.GuildVoice);
    expect(guild.members.me?.permissions.has(PermissionFlagsBits.Administrator)).toBe(true);
  });

  test('brings a session start limit, a gateway and the application as stock clients ask for them', async () => {
    const application = await bot.application.fetch();
    expect(application.id).toBe(server.info.application.id);
    const about = (await bot.rest.get('/gateway/bot')) as {
      url: string;
      shards: number;
      session_start_limit: Record<string, number>;
    };
    expect(about).toMatchObject({ shards: 1 });
    expect(about.url).not.toContain('?');
    expect(Object.keys(about.session_start_limit).sort()).toEqual([
      'max_concurrency',
      'remaining',
      'reset_after',
      'total',
    ]);
  });
});

describe('a message', () => {
  test('is delivered to others with embed and reference as it was sent', async () => {
    const seen = heard(plain, Events.MessageCreate, ({ content }) => content === 'Supper is ready.');
    const embed = new EmbedBuilder()
      .setTitle('Menu')
      .setColor(0xaa5500)
      .addFields({ name: 'Soup', value: 'Leek' });
    const sent = await channel.send({ content: 'Supper is ready.', embeds: [embed] });
    const [message] = await seen;
    expect(message.id).toBe(sent.id);
    expect(message.author.id).toBe(bot.user.id);
    expect(message.member?.id).toBe(bot.user.id);
    expect(message.embeds[0]?.toJSON()).toMatchObject(embed.toJSON());

    const answered = heard(bot, Events.MessageCreate, ({ content }) => content === 'I am coming.');
    const reply = await (message as Message<true>).reply('I am coming.');
    expect(reply.reference?.messageId).toBe(sent.id);
    const [heardReply] = await answered;
    expect((await heardReply.fetchReference()).id).toBe(sent.id);
    expect(heardReply.mentions.repliedUser?.id).toBe(bot.user.id);
  });

  test('carries a file up, and the CDN brings it down unchanged', async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 31) % 251));
    const seen = heard(plain, Events.MessageCreate, ({ attachments }) => attachments.size > 0);
    const file = new AttachmentBuilder(bytes, { name: 'chart of the bay.bin', description: 'The bay' });
    await channel.send({ content: 'A chart', files: [file] });
    const attachment = (await seen)[0].attachments.first()!;
    expect(attachment).toMatchObject({
      name: 'chart_of_the_bay.bin',
      size: bytes.length,
      description: 'The bay',
    });
    expect(attachment.url.startsWith(server.info.cdn)).toBe(true);
    const response = await fetch(attachment.url);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-disposition')).toContain('attachment');
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('is edited, reacted to, pinned and deleted, and others receive each event', async () => {
    const created = heard(plain, Events.MessageCreate, ({ content }) => content === 'Draft');
    const message = await channel.send('Draft');
    await created;

    const edited = heard(plain, Events.MessageUpdate, (_, { id }) => id === message.id);
    await message.edit('Fair copy');
    const [before, after] = await edited;
    expect([before.content, after.content]).toEqual(['Draft', 'Fair copy']);
    expect(after.editedTimestamp).not.toBeNull();

    const reacted = heard(plain, Events.MessageReactionAdd);
    await message.react('🔥');
    const [reaction, by] = await reacted;
    expect([reaction.emoji.name, reaction.message.id, by.id]).toEqual(['🔥', message.id, bot.user.id]);
    const users = await (await message.fetch()).reactions.cache.get('🔥')!.users.fetch();
    expect([...users.keys()]).toEqual([bot.user.id]);
    const removed = heard(plain, Events.MessageReactionRemove);
    await message.reactions.cache.get('🔥')!.users.remove();
    expect((await removed)[0].message.id).toBe(message.id);

    const pinned = heard(plain, Events.ChannelPinsUpdate);
    await message.pin('Worth keeping');
    expect((await pinned)[0].id).toBe(channel.id);
    expect((await channel.messages.fetchPins()).items.map((pin) => pin.message.id)).toEqual([message.id]);
    await message.unpin();
    expect((await channel.messages.fetchPins()).items).toEqual([]);

    const deleted = heard(plain, Events.MessageDelete);
    await message.delete();
    expect((await deleted)[0].id).toBe(message.id);
    await expect(channel.messages.fetch({ message: message.id, force: true })).rejects.toMatchObject({
      code: 10008,
      status: 404,
    });
  });

  test('is found again in history, oldest and newest first, and deleted in bulk', async () => {
    const sent: Message[] = [];
    for (let index = 0; index < 5; index += 1) sent.push(await channel.send(`Line ${index}`));
    const ids = sent.map(({ id }) => id);
    const after = await channel.messages.fetch({ after: ids[0]!, limit: 2 });
    expect([...after.keys()].sort()).toEqual(ids.slice(1, 3));
    const bulk = heard(plain, Events.MessageBulkDelete);
    await channel.bulkDelete(ids.slice(1));
    expect([...(await bulk)[0].keys()].sort()).toEqual(ids.slice(1));
    expect((await channel.messages.fetch({ limit: 1 })).first()?.id).toBe(ids[0]);
  });
});

describe('permissions', () => {
  test('apply from the next dispatch on when a role is given or an overwrite changes', async () => {
    const madeRole = heard(plain, Events.GuildRoleCreate);
    const role = await guild.roles.create({
      name: 'Night watch',
      permissions: [],
      colors: { primaryColor: 0x336699 },
    });
    expect((await madeRole)[0].name).toBe('Night watch');
    const member = await guild.members.fetch(plainBot.id);
    const given = heard(plain, Events.GuildMemberUpdate, (_, { id }) => id === plainBot.id);
    await member.roles.add(role, 'On duty');
    expect((await given)[1].roles.cache.has(role.id)).toBe(true);

    const room = await guild.channels.create({ name: 'watch-room' });
    await expect.poll(() => plain.channels.cache.has(room.id)).toBe(true);
    const texts: string[] = [];
    plain.on(Events.MessageCreate, ({ content, channelId }) => {
      if (channelId === room.id || content === 'That was all.') texts.push(content);
    });
    await room.send('All may read this.');
    await room.permissionOverwrites.edit(role, { ViewChannel: false });
    await room.send('None of the watch may read this.');
    await room.permissionOverwrites.edit(role, { ViewChannel: true });
    await room.send('The watch is back.');
    await room.permissionOverwrites.edit(guild.roles.everyone, { ViewChannel: false });
    await room.send('The watch stays.');
    const taken = heard(plain, Events.GuildMemberUpdate, (_, { id }) => id === plainBot.id);
    await member.roles.remove(role);
    await room.send('And without the role it reads nothing.');
    await taken;
    const last = heard(plain, Events.MessageCreate, ({ content }) => content === 'That was all.');
    await channel.send('That was all.');
    await last;
    expect(texts).toEqual(['All may read this.', 'The watch is back.', 'The watch stays.', 'That was all.']);
    await expect(plain.rest.get(`/channels/${room.id}`)).rejects.toMatchObject({ code: 50001 });
    await room.delete();
    await role.delete();
  });

  test('are enforced for a plain member with the platform’s error code', async () => {
    const refusal = plain.guilds.cache.get(guild.id)!.roles.create({ name: 'King' });
    await expect(refusal).rejects.toMatchObject({ code: 50013, status: 403 });
  });
});

describe('members', () => {
  test('are fetched in chunks, by name and all', async () => {
    const all = await guild.members.fetch({ withPresences: true });
    expect(all.size).toBe(5);
    const found = await guild.members.fetch({ query: 'jun', limit: 5 });
    expect(found.map(({ user }) => user.username)).toEqual(['juniper']);
    const searched = await guild.members.search({ query: 'row', limit: 5 });
    expect(searched.map(({ user }) => user.username)).toEqual(['rowan']);
  });

  test('are nicknamed, timed out, banned and let in again, with the reason in the audit log', async () => {
    const rowan = await guild.members.fetch(server.info.users[1]!.id);
    const named = heard(plain, Events.GuildMemberUpdate, (_, { nickname }) => nickname === 'Ro');
    await rowan.setNickname('Ro', 'Shorter');
    await named;
    expect((await rowan.timeout(60_000, 'Too loud')).isCommunicationDisabled()).toBe(true);
    await rowan.timeout(null);

    const [banned, gone] = [heard(bot, Events.GuildBanAdd), heard(plain, Events.GuildMemberRemove)];
    await guild.members.ban(rowan.id, { reason: 'Spilled the ink · 墨', deleteMessageSeconds: 60 });
    expect((await banned)[0].user.id).toBe(rowan.id);
    expect((await gone)[0].id).toBe(rowan.id);
    expect((await guild.bans.fetch(rowan.id)).reason).toBe('Spilled the ink · 墨');
    const log = await guild.fetchAuditLogs({ type: AuditLogEvent.MemberBanAdd, limit: 1 });
    expect(log.entries.first()).toMatchObject({
      reason: 'Spilled the ink · 墨',
      executorId: bot.user.id,
      targetId: rowan.id,
    });
    const pardoned = heard(bot, Events.GuildBanRemove);
    await guild.bans.remove(rowan.id);
    expect((await pardoned)[0].user.id).toBe(rowan.id);
    await expect(guild.bans.fetch({ user: rowan.id, force: true })).rejects.toMatchObject({ code: 10026 });
  });
});

describe('invites', () => {
  test('are made, resolved and revoked', async () => {
    const made = heard(bot, Events.InviteCreate);
    const invite = await channel.createInvite({ maxAge: 3600, maxUses: 2, unique: true });
    expect((await made)[0].code).toBe(invite.code);
    const resolved = await plain.fetchInvite(invite.code);
    expect(resolved.guild?.id).toBe(guild.id);
    expect((await guild.invites.fetch()).has(invite.code)).toBe(true);
    const revoked = heard(bot, Events.InviteDelete);
    await invite.delete();
    expect((await revoked)[0].code).toBe(invite.code);
    await expect(plain.fetchInvite(invite.code)).rejects.toMatchObject({ code: 10006 });
  });
});

describe('presence', () => {
  test('reaches others as TYPING_START while a user types', async () => {
    const typing = heard(bot, Events.TypingStart);
    await (plain.channels.cache.get(channel.id) as TextChannel).sendTyping();
    expect((await typing)[0].user.id).toBe(plainBot.id);
  });

  test('reaches others with status and activity', async () => {
    const seen = heard(
      bot,
      Events.PresenceUpdate,
      (_, { userId, status }) => userId === plainBot.id && status === 'dnd',
    );
    plain.user.setPresence({
      status: 'dnd',
      activities: [{ name: 'the tide', type: ActivityType.Watching }],
    });
    const [, presence] = await seen;
    expect(presence.activities.map(({ name, type }) => ({ name, type }))).toEqual([
      { name: 'the tide', type: ActivityType.Watching },
    ]);
  });
});

test('a direct message reaches the session of a person, and the answer the bot', async () => {
  const { id, token } = server.info.users[0]!;
  const person = await GatewayClient.ready(server.info.gateway, { token });
  const juniper = await bot.users.fetch(id);
  const sent = await juniper.send('A word in private.');
  const message = await person.dispatch('MESSAGE_CREATE', (d) => d.id === sent.id);
  expect(message).toMatchObject({ content: 'A word in private.', author: { id: bot.user.id } });
  expect(message).not.toHaveProperty('guild_id');
  const answer = heard(bot, Events.MessageCreate, ({ content }) => content === 'Go on.');
  await server.user(0).call('create_message', {
    params: { channel_id: sent.channelId },
    body: { content: 'Go on.' },
  });
  expect((await answer)[0].channelId).toBe(sent.channelId);
  await person.close();
});

test('others receive the creation, change, move and deletion of channels', async () => {
  const category = await guild.channels.create({ name: 'Harbour', type: ChannelType.GuildCategory });
  const made = heard(plain, Events.ChannelCreate, ({ name }) => name === 'quay');
  const quay = await guild.channels.create({ name: 'quay', parent: category, topic: 'Ships' });
  expect((await made)[0].parentId).toBe(category.id);
  const changed = heard(plain, Events.ChannelUpdate, (_, { id }) => id === quay.id);
  await quay.edit({ name: 'north-quay', rateLimitPerUser: 5 });
  expect((await changed)[1]).toMatchObject({ name: 'north-quay', rateLimitPerUser: 5 });
  await guild.channels.setPositions([
    { channel: quay.id, position: 9, parent: null, lockPermissions: false },
  ]);
  await expect.poll(() => (plain.channels.cache.get(quay.id) as TextChannel).parentId).toBeNull();
  const deleted = heard(plain, Events.ChannelDelete, ({ id }) => id === quay.id);
  await quay.delete();
  await deleted;
  await category.delete();
  const renamed = heard(plain, Events.GuildUpdate);
  await guild.setName('The New Guildhall');
  expect((await renamed)[1].name).toBe('The New Guildhall');
});
