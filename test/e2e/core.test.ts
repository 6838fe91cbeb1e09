// Goal: the parts of discord.js by themselves (@discordjs/core, rest and ws) work unmodified, and so does sharding.
import {
  type APIMessage,
  Client,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
  type GatewayGuildCreateDispatchData,
  GatewayIntentBits,
  type GatewayMessageReactionAddDispatchData,
} from '@discordjs/core';
import { REST } from '@discordjs/rest';
import { CompressionMethod, WebSocketManager, WebSocketShardEvents } from '@discordjs/ws';
import { Client as ClassicClient, Events } from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const { Guilds, GuildMessages, GuildMessageReactions, DirectMessages, MessageContent } = GatewayIntentBits;
const INTENTS = Guilds | GuildMessages | GuildMessageReactions | DirectMessages | MessageContent;

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ bots: 2 });
});
afterAll(() => server.finish());

const restOf = (token: string) => new REST({ api: server.info.api, version: '10' }).setToken(token);

/** The data of the next event of that name. */
const heard = <T>(client: Client, event: GatewayDispatchEvents): Promise<T> =>
  new Promise((resolve) =>
    client.once(event as GatewayDispatchEvents.Ready, ({ data }) => resolve(data as unknown as T)),
  );

test.each([
  { name: 'plain', compression: null },
  { name: 'compressed', compression: CompressionMethod.ZlibNative },
])('a bot of @discordjs/core logs in, and a message goes round, $name', async ({ compression }) => {
  const { token } = server.info.bot;
  const rest = restOf(token);
  const gateway = new WebSocketManager({ token, intents: INTENTS, rest, compression });
  const client = new Client({ rest, gateway });
  const arrived = heard<GatewayGuildCreateDispatchData>(client, GatewayDispatchEvents.GuildCreate);
  await gateway.connect();
  expect((await arrived).id).toBe(server.info.guild.id);

  const channelId = server.info.guild.text_channel_id;
  const created = heard<APIMessage>(client, GatewayDispatchEvents.MessageCreate);
  const file = { name: 'notes.txt', data: Buffer.from('notes of the day'), contentType: 'text/plain' };
  const sent = await client.api.channels.createMessage(channelId, {
    content: 'With notes',
    embeds: [{ title: 'Notes' }],
    files: [file],
  });
  const message = await created;
  expect(message).toMatchObject({ id: sent.id, content: 'With notes', embeds: [{ title: 'Notes' }] });
  expect(await (await fetch(message.attachments[0]!.url)).text()).toBe('notes of the day');

  const edited = heard<APIMessage>(client, GatewayDispatchEvents.MessageUpdate);
  await client.api.channels.editMessage(channelId, sent.id, { content: 'Without' });
  expect(await edited).toMatchObject({ id: sent.id, content: 'Without' });
  const reacted = heard<GatewayMessageReactionAddDispatchData>(
    client,
    GatewayDispatchEvents.MessageReactionAdd,
  );
  await client.api.channels.addMessageReaction(channelId, sent.id, '🌊');
  expect(await reacted).toMatchObject({ message_id: sent.id, emoji: { id: null, name: '🌊' } });
  const deleted = heard<{ id: string }>(client, GatewayDispatchEvents.MessageDelete);
  await client.api.channels.deleteMessage(channelId, sent.id);
  expect(await deleted).toMatchObject({ id: sent.id, channel_id: channelId });
  await gateway.destroy();
});

/** Fewer than such a message takes in a stream that shares no history. */
const BYTES_ALONE = 450;

test('a bot of @discordjs/core reads a compressed stream whose history 40 connections share', async () => {
  const { token } = server.info.bot;
  const others = await Promise.all(
    Array.from({ length: 40 }, () =>
      GatewayClient.ready(server.info.gateway, { token, intents: INTENTS }, { compress: 'zlib-stream' }),
    ),
  );
  const rest = restOf(token);
  const compression = CompressionMethod.ZlibNative;
  const gateway = new WebSocketManager({ token, intents: INTENTS, rest, compression });
  const client = new Client({ rest, gateway });
  const read: string[] = [];
  client.on(GatewayDispatchEvents.MessageCreate, ({ data }) => void read.push(data.content));
  const arrived = heard(client, GatewayDispatchEvents.GuildCreate);
  await gateway.connect();
  await arrived;
  const contents = Array.from({ length: 12 }, (_, n) => `The message number ${n} of a busy channel`);
  const bytesOfAll = () => others.reduce((sum, { bytes }) => sum + bytes, 0);
  const before = bytesOfAll();
  for (const [n, content] of contents.entries()) {
    await client.api.channels.createMessage(server.info.guild.text_channel_id, { content });
    // A heartbeat is answered in the stream of one connection alone.
    others[n]?.send(OP.HEARTBEAT, others[n].seq);
  }
  await expect.poll(() => read).toEqual(contents);
  for (const other of others)
    for (const content of contents) await other.dispatch('MESSAGE_CREATE', (d) => d.content === content);
  expect((bytesOfAll() - before) / (others.length * contents.length)).toBeLessThan(BYTES_ALONE / 2);
  for (const other of others) other.close();
  await gateway.destroy();
});

describe('two shards', () => {
  const SHARDS = 2;
  const shardOf = (guildId: string) => Number((BigInt(guildId) >> 22n) % BigInt(SHARDS));
  /** A guild for each shard, by shard. */
  const guildIds: string[] = [];
  const ownerId = () => server.info.users[0]!.id;

  beforeAll(async () => {
    guildIds[shardOf(server.info.guild.id)] = server.info.guild.id;
    const user_id = server.info.bot.id;
    while (guildIds[0] === undefined || guildIds[1] === undefined) {
      const made = await server.admin<{ guild: { id: string } }>('/guilds', {
        name: 'Annex',
        owner_id: ownerId(),
      });
      const { id } = made.guild;
      if (guildIds[shardOf(id)] !== undefined) continue;
      await server.admin(`/guilds/${id}/members`, { user_id, permissions: '8' });
      guildIds[shardOf(id)] = id;
    }
  });

  test('receive only their guilds in @discordjs/ws, and the first one direct messages', async () => {
    const { token } = server.info.bot;
    const rest = restOf(token);
    const gateway = new WebSocketManager({ token, intents: INTENTS, rest, shardCount: SHARDS });
    const seen: (readonly [shard: number, t: string, id: string])[] = [];
    gateway.on(WebSocketShardEvents.Dispatch, (payload: GatewayDispatchPayload, shard: number) => {
      seen.push([shard, payload.t, (payload.d as { id?: string }).id ?? '']);
    });
    await gateway.connect();
    await expect.poll(() => seen.filter(([, t]) => t === 'GUILD_CREATE').length).toBe(SHARDS);
    const owner = server.user(0);
    const expected = guildIds.map((id, shard) => [shard, 'GUILD_CREATE' as string, id] as const);
    for (const [shard, guild_id] of guildIds.entries()) {
      const channels = await owner.call<{ id: string; type: number }[]>('list_guild_channels', {
        params: { guild_id },
      });
      const channel_id = channels.find(({ type }) => type === 0)!.id;
      const { id } = await owner.call<{ id: string }>('create_message', {
        params: { channel_id },
        body: { content: `To shard ${shard}` },
      });
      expected.push([shard, 'MESSAGE_CREATE', id]);
    }
    const dm = await owner.call<{ id: string }>('create_dm', { body: { recipient_id: server.info.bot.id } });
    const { id } = await owner.call<{ id: string }>('create_message', {
      params: { channel_id: dm.id },
      body: { content: 'To the first shard' },
    });
    expected.push([0, 'MESSAGE_CREATE', id]);
    await expect.poll(() => seen.filter(([, t]) => t === 'MESSAGE_CREATE').length).toBe(SHARDS + 1);
    const told = seen.filter(([, t]) => t === 'GUILD_CREATE' || t === 'MESSAGE_CREATE');
    expect(told.toSorted()).toEqual(expected.toSorted());
    await gateway.destroy();
  });

  test('make one client of discord.js that knows every guild', async () => {
    const { api, cdn, bot } = server.info;
    const client = new ClassicClient({
      intents: [Guilds],
      shards: [0, 1],
      shardCount: SHARDS,
      rest: { api, cdn, mediaProxy: cdn, version: '10' },
    });
    const ready = new Promise((resolve) => client.once(Events.ClientReady, resolve));
    await client.login(bot.token);
    await ready;
    expect(client.guilds.cache.map(({ id, shardId }) => [shardId, id]).toSorted()).toEqual(
      guildIds.map((id, shard) => [shard, id]),
    );
    await client.destroy();
  });
});
