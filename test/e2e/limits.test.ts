// Goal: rate limits are on, say what they are in every header that clients read, and no stock client runs into trouble with them.
import { Client, Events, GatewayIntentBits, RESTEvents, type TextChannel } from 'discord.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ bots: 4, rateLimits: true, set: { global_requests_per_sec: 20 } });
});
afterAll(() => server.finish());

const create = (rest: RestClient, content: string) =>
  rest.ask<{ retry_after: number; global: boolean; message: string }>('create_message', {
    params: { channel_id: server.info.guild.text_channel_id },
    body: { content },
  });

test('every response names its rate limit bucket; beyond it a 429 carries the headers that clients read', async () => {
  const rest = server.bot(1);
  const sentMs = Date.now();
  const first = await create(rest, 'One');
  const limit = Number(first.headers.get('x-ratelimit-limit'));
  expect(Number(first.headers.get('x-ratelimit-remaining'))).toBe(limit - 1);
  expect(Number(first.headers.get('x-ratelimit-reset-after'))).toBeGreaterThan(0);
  expect(Number(first.headers.get('x-ratelimit-reset')) * 1000).toBeGreaterThan(sentMs);
  expect(first.headers.get('x-ratelimit-bucket')).toMatch(/^\S+$/);
  // At once, so that a busy machine does not let the window pass between them.
  const more = await Promise.all(Array.from({ length: 2 * limit }, () => create(rest, 'More')));
  const last = more.find(({ status }) => status === 429) ?? first;
  expect(last.status).toBe(429);
  expect(last.body).toEqual({
    code: 0,
    message: expect.any(String),
    retry_after: expect.any(Number),
    global: false,
  });
  const { headers } = last;
  expect(headers.get('via')).toBeTruthy();
  expect(headers.get('content-type')).toBe('application/json');
  expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(last.body.retry_after - 1);
  expect(headers.get('x-ratelimit-scope')).toBe('user');
  expect(headers.get('x-ratelimit-remaining')).toBe('0');
  expect(headers.get('x-ratelimit-bucket')).toBe(first.headers.get('x-ratelimit-bucket'));
  expect(headers.get('x-ratelimit-global')).toBeNull();
  // Another bot has a bucket of its own.
  expect((await create(server.bot(2), 'Mine')).status).toBe(200);
});

test('a 429 from the global limit is marked as global and names no bucket', async () => {
  const rest = server.bot(2);
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => rest.ask<{ global?: boolean }>('get_my_user')),
  );
  const global = answers.find(({ status, body }) => status === 429 && body.global === true);
  expect(global?.headers.get('x-ratelimit-global')).toBe('true');
  expect(global?.headers.get('x-ratelimit-scope')).toBe('global');
  for (const name of ['limit', 'remaining', 'reset', 'reset-after', 'bucket'])
    expect(global?.headers.get(`x-ratelimit-${name}`), name).toBeNull();
});

test('discord.js sends thirty messages at once without a 429, and all arrive in order', async () => {
  const { api, cdn, bots, guild } = server.info;
  const client = new Client({
    intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const refused: number[] = [];
  client.rest.on(RESTEvents.Response, (_, { status }) => {
    if (status >= 400) refused.push(status);
  });
  const seen: string[] = [];
  client.on(Events.MessageCreate, ({ content, author }) => {
    if (author.id === bots[3]!.id) seen.push(content);
  });
  await Promise.all([
    new Promise((resolve) => client.once(Events.ClientReady, resolve)),
    client.login(bots[3]!.token),
  ]);
  const channel = client.channels.cache.get(guild.text_channel_id) as TextChannel;
  const contents = Array.from({ length: 30 }, (_, index) => `No. ${index}`);
  await Promise.all(contents.map((content) => channel.send(content)));
  await expect.poll(() => seen.length, { timeout: 10_000 }).toBe(30);
  expect(seen).toEqual(contents);
  expect(refused).toEqual([]);
  await client.destroy();
}, 60_000);
