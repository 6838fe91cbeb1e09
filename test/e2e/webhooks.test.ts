// Goal: an unmodified WebhookClient writes here with nothing but a URL, and stock bots see what it and followed channels write.
import {
  ActionRowBuilder,
  AttachmentBuilder,
  ButtonBuilder,
  ButtonStyle,
  ChannelType,
  Client,
  EmbedBuilder,
  Events,
  GatewayIntentBits,
  type Message,
  type TextChannel,
  WebhookClient,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';

const TIMEOUT_MS = 10_000;

let server: TestServer;
let bot: Client<true>;
let channel: TextChannel;
let hook: WebhookClient;

const heard = <Value>(start: (resolve: (value: Value) => void) => void): Promise<Value> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('It did not come.')), TIMEOUT_MS);
    start((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
const next = (event: Events.MessageCreate | Events.MessageUpdate | Events.MessageDelete, channelId: string) =>
  heard<Message>((resolve) => {
    const listen = (...messages: unknown[]) => {
      const message = messages.at(-1) as Message;
      if (message.channelId !== channelId) return;
      bot.off(event, listen);
      resolve(message);
    };
    bot.on(event, listen);
  });

beforeAll(async () => {
  server = await startServer({ set: { log_level: 'trace' } });
  const { api, cdn } = server.info;
  const { Guilds, GuildMessages, GuildWebhooks, MessageContent } = GatewayIntentBits;
  bot = new Client({
    intents: [Guilds, GuildMessages, GuildWebhooks, MessageContent],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = heard<Client<true>>((resolve) => bot.once(Events.ClientReady, resolve));
  await bot.login(server.info.bot.token);
  await ready;
  const guild = await bot.guilds.fetch(server.info.guild.id);
  channel = await guild.channels.create({ name: 'herald', type: ChannelType.GuildText });
  const told = heard<unknown>((resolve) => bot.once(Events.WebhooksUpdate, resolve));
  const made = await channel.createWebhook({ name: 'Herald' });
  expect(await told).toMatchObject({ id: channel.id });
  expect(made.token).toMatch(/^[\w-]{68}$/);
  hook = new WebhookClient({ id: made.id, token: made.token ?? '' }, { rest: { api, cdn, version: '10' } });
}, 60_000);
afterAll(async () => {
  hook?.destroy();
  await bot?.destroy();
  await server?.finish();
});

describe('a WebhookClient', () => {
  test('sends, fetches, edits and deletes, and a bot sees each', async () => {
    const coming = next(Events.MessageCreate, channel.id);
    const sent = await hook.send({
      content: 'hello',
      username: 'Guest',
      embeds: [new EmbedBuilder().setTitle('news')],
    });
    const seen = await coming;
    expect(seen).toMatchObject({ content: 'hello', webhookId: hook.id });
    expect(seen.author).toMatchObject({ id: hook.id, username: 'Guest', bot: true, discriminator: '0000' });
    expect(seen.member).toBeNull();
    expect(await hook.fetchMessage(sent.id)).toMatchObject({ content: 'hello' });
    const changing = next(Events.MessageUpdate, channel.id);
    expect(await hook.editMessage(sent.id, 'goodbye')).toMatchObject({ content: 'goodbye' });
    expect((await changing).content).toBe('goodbye');
    const leaving = next(Events.MessageDelete, channel.id);
    await hook.deleteMessage(sent.id);
    expect((await leaving).id).toBe(sent.id);
    await expect(hook.fetchMessage(sent.id)).rejects.toMatchObject({ code: 10008 });
  });

  test('sends a file, and the buttons of its application', async () => {
    const coming = next(Events.MessageCreate, channel.id);
    const button = new ButtonBuilder().setCustomId('go').setLabel('Go').setStyle(ButtonStyle.Primary);
    const sent = await hook.send({
      files: [new AttachmentBuilder(Buffer.from('contents'), { name: 'note.txt' })],
      components: [new ActionRowBuilder<ButtonBuilder>().addComponents(button)],
    });
    expect(sent.attachments[0]).toMatchObject({ filename: 'note.txt', size: 8 });
    expect((await coming).components).toHaveLength(1);
    const url = sent.attachments[0]?.url ?? '';
    expect(await (await fetch(url)).text()).toBe('contents');
  });

  test('waits as its own rate limit demands, and loses no message', async () => {
    const sent = await Promise.all(Array.from({ length: 12 }, (_, index) => hook.send(`number ${index}`)));
    expect(new Set(sent.map(({ id }) => id)).size).toBe(12);
  }, 30_000);

  test('is changed and deleted by its token', async () => {
    const made = await channel.createWebhook({ name: 'Short' });
    const { api, cdn } = server.info;
    const rest = { api, cdn, version: '10' } as const;
    const short = new WebhookClient({ id: made.id, token: made.token ?? '' }, { rest });
    expect(await short.edit({ name: 'Shorter' })).toMatchObject({ name: 'Shorter' });
    await short.delete();
    await expect(short.send('x')).rejects.toMatchObject({ code: 10015 });
    short.destroy();
  });
});

describe('a bot', () => {
  test('follows an announcement channel and sees what is published there', async () => {
    const news = await channel.guild.channels.create({ name: 'news', type: ChannelType.GuildAnnouncement });
    await news.addFollower(channel.id);
    const said = await news.send('published');
    const coming = next(Events.MessageCreate, channel.id);
    await said.crosspost();
    const copy = await coming;
    expect(copy).toMatchObject({ content: 'published' });
    expect(copy.flags.toArray()).toEqual(['IsCrosspost']);
    expect(copy.reference).toMatchObject({ messageId: said.id, channelId: news.id });
  });

  test('reads no token in the audit log', async () => {
    const log = await channel.guild.fetchAuditLogs({ limit: 20 });
    expect(log.entries.some(({ target }) => (target as { id?: string } | null)?.id === hook.id)).toBe(true);
    expect(JSON.stringify(log.entries.map((entry) => entry.toJSON()))).not.toContain(hook.token);
  });
});

test('the token of a webhook is in no error and no log line, at any level', async () => {
  const path = `${server.info.api}/v10/webhooks/${hook.id}/${hook.token}`;
  const json = { 'content-type': 'application/json' };
  const answers = await Promise.all([
    fetch(`${path}/nowhere`),
    fetch(path, { method: 'POST', headers: json, body: '{' }),
    fetch(path, { method: 'POST', headers: json, body: '{"content":5,"embeds":"x"}' }),
    fetch(`${path}/messages/${hook.id}`),
    fetch(`${path}/slack`, { method: 'POST', headers: json, body: '{"attachments":[1]}' }),
    fetch(`${path}/github`, { method: 'POST', headers: json, body: '[]' }),
    fetch(`${path}x`, { method: 'POST', headers: json, body: '{"content":"x"}' }),
  ]);
  expect(answers.map(({ ok }) => ok)).not.toContain(true);
  for (const answer of answers) expect(await answer.text()).not.toContain(hook.token);
  expect(server.logged(hook.token)).toEqual([]);
});
