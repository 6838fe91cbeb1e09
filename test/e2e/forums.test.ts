// Goal: forums and media channels hold posts with tags, made by an unmodified discord.js bot, by people and by webhooks, and found again.
import {
  ChannelFlags,
  ChannelType,
  Client,
  Events,
  type ForumChannel,
  GatewayIntentBits,
  type Webhook,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { heard } from '../support/interactionbot.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Post {
  readonly id: string;
  readonly name: string;
  readonly applied_tags: readonly string[];
  readonly message: {
    readonly id: string;
    readonly content: string;
    readonly attachments: readonly object[];
  };
}

let server: TestServer;
let client: Client;
let forum: ForumChannel;

beforeAll(async () => {
  server = await startServer();
  const { api, cdn, bot } = server.info;
  const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
  client = new Client({
    intents: [Guilds, GuildMessages, MessageContent],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = heard<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(bot.token);
  await ready;
  forum = await client.guilds.cache.first()!.channels.create({
    name: 'help',
    type: ChannelType.GuildForum,
    availableTags: [{ name: 'open' }, { name: 'solved', moderated: true }],
  });
});

afterAll(async () => {
  await client?.destroy();
  await server?.finish();
});

const tag = (name: string): string => forum.availableTags.find((one) => one.name === name)!.id;
const post = (body: object, person = 0) =>
  server.user(person).ask<Post & { code: number; errors?: object }>('create_thread', {
    ...{ params: { channel_id: forum.id }, body },
  });

describe('a post', () => {
  test('is made by discord.js with a file and tags, and its first message has its id', async () => {
    const files = [{ attachment: Buffer.from('log'), name: 'log.txt' }];
    const made = await forum.threads.create({
      name: 'It breaks',
      message: { content: 'why?', files },
      appliedTags: [tag('open'), tag('solved')],
    });
    expect(made).toMatchObject({ name: 'It breaks', appliedTags: [tag('open'), tag('solved')] });
    const first = await made.fetchStarterMessage();
    expect(first).toMatchObject({ id: made.id, content: 'why?' });
    const file = first!.attachments.first()!;
    expect(await (await fetch(file.url)).text()).toBe('log');
    await made.send('more');
    const read = await server.bot().ask('get_channel', { params: { channel_id: made.id } });
    expect(read.body).toMatchObject({ message_count: 1, total_message_sent: 1 });
  });

  test('has tags that exist, and moderated ones from moderators alone', async () => {
    const message = { content: 'x' };
    expect((await post({ name: 'a', message, applied_tags: [tag('solved')] })).body.code).toBe(50_013);
    const unknown = await post({ name: 'a', message, applied_tags: ['1'] });
    expect(unknown.body).toMatchObject({ code: 50_035, errors: { applied_tags: { 0: expect.anything() } } });
    const made = await post({ name: 'a', message, applied_tags: [tag('open')] });
    expect(made).toMatchObject({ status: 201, body: { applied_tags: [tag('open')] } });
    const place = { channel_id: made.body.id };
    const closed = { body: { applied_tags: [tag('open'), tag('solved')] } };
    expect((await server.user(0).ask('update_channel', { params: place, ...closed })).body.code).toBe(50_013);
    expect((await server.bot().ask('update_channel', { params: place, ...closed })).status).toBe(200);
    const kept = await server.user(0).ask('update_channel', {
      params: place,
      body: { applied_tags: [tag('solved')] },
    });
    expect(kept).toMatchObject({ status: 200, body: { applied_tags: [tag('solved')] } });
  });

  test('needs a tag where the forum requires one, and a message that is not empty', async () => {
    await forum.edit({ flags: ChannelFlags.RequireTag });
    expect((await post({ name: 'none', message: { content: 'x' } })).body.code).toBe(40_067);
    await forum.edit({ flags: 0 });
    expect((await post({ name: 'none', message: {} })).body.code).toBe(50_006);
    expect((await post({ name: 'none' })).body.code).toBe(50_035);
    const said = await server.user().ask('create_message', {
      ...{ params: { channel_id: forum.id }, body: { content: 'x' } },
    });
    expect(said.body.code).toBe(40_058);
  });

  test('is pinned alone', async () => {
    const [one, two] = [
      await post({ name: '1', message: { content: 'x' } }),
      await post({ name: '2', message: { content: 'x' } }),
    ];
    const pin = (id: string) =>
      server.bot().ask('update_channel', { params: { channel_id: id }, body: { flags: 2 } });
    expect(await pin(one.body.id)).toMatchObject({ status: 200, body: { flags: 2 } });
    expect((await pin(two.body.id)).body.code).toBe(30_047);
  });
});

test('posts are found by words and tags', async () => {
  const message = { content: 'x' };
  const made = await post({ name: 'Where is 100% of it', message, applied_tags: [tag('open')] });
  const search = (query: object) =>
    server
      .user()
      .ask<{ threads: Post[]; total_results: number; first_messages: { id: string }[] }>('thread_search', {
        params: { channel_id: forum.id },
        query: { ...query },
      });
  const { body } = await search({ name: 'of 100%' });
  expect(body).toMatchObject({ threads: [{ id: made.body.id }], total_results: 1, has_more: false });
  expect(body.first_messages).toMatchObject([{ id: made.body.id }]);
  expect((await search({ name: '100_' })).body.total_results).toBe(0);
  const open = await search({ tag: tag('open'), sort_by: 'creation_time', limit: 1 });
  expect(open.body).toMatchObject({ threads: [{ id: made.body.id }], has_more: true });
  expect((await search({ archived: true })).body.total_results).toBe(0);
});

test('a webhook begins posts and writes in them', async () => {
  const hook = (await forum.createWebhook({ name: 'Crier' })) as Webhook;
  const url = `${server.info.api}/v10/webhooks/${hook.id}/${hook.token}`;
  const send = async (query: string, body: object) => {
    const response = await fetch(`${url}?wait=true${query}`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    });
    const answered = (await response.json()) as { code: number; id: string; channel_id: string };
    return { status: response.status, body: answered };
  };
  expect((await send('', { content: 'x' })).body.code).toBe(220_001);
  const begun = await send('', { content: 'news', thread_name: 'News', applied_tags: [tag('open')] });
  expect(begun).toMatchObject({ status: 200, body: { content: 'news' } });
  const threadId = begun.body.channel_id;
  expect(begun.body.id).toBe(threadId);
  const more = await send(`&thread_id=${threadId}`, { content: 'more news' });
  expect(more).toMatchObject({ status: 200, body: { channel_id: threadId } });
  expect((await send(`&thread_id=${threadId}`, { content: 'x', thread_name: 'y' })).body.code).toBe(220_002);
  const other = await post({ name: 'other', message: { content: 'x' } });
  expect((await send(`&thread_id=${other.body.id}`, { content: 'x' })).status).toBe(200);
  expect((await send('&thread_id=1', { content: 'x' })).body.code).toBe(10_003);
});

test('media channels hold posts too', async () => {
  // The published file does not know the type, which the documentation names: answers cannot be compared with it.
  const plain = await startServer({ relayed: false });
  try {
    const made = await plain.bot().ask<{ id: string }>('create_guild_channel', {
      params: { guild_id: plain.info.guild.id },
      body: { name: 'gallery', type: 16, available_tags: [{ name: 'art' }] },
    });
    expect(made).toMatchObject({ status: 201, body: { type: 16 } });
    const shown = await plain.user().ask<Post>('create_thread', {
      params: { channel_id: made.body.id },
      body: { name: 'Sketch', message: { content: 'look' } },
    });
    expect(shown.status).toBe(201);
  } finally {
    await plain.stop();
  }
});
