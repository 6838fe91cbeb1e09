// Goal: an unmodified discord.js bot and a person's client make, read, join, archive and delete threads, and receive
// what they may see.
import {
  ChannelType,
  Client,
  Events,
  GatewayIntentBits,
  type PublicThreadChannel,
  type TextChannel,
  ThreadAutoArchiveDuration,
} from 'discord.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INTENTS } from '../../protocol/intents.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { heard } from '../support/interactionbot.ts';
import { startServer, type TestServer } from '../support/server.ts';

interface Thread {
  readonly id: string;
  readonly type: number;
  readonly parent_id: string;
  readonly message_count: number;
  readonly member_count: number;
  readonly total_message_sent: number;
  readonly thread_metadata: { readonly archived: boolean; readonly locked: boolean };
  readonly member?: { readonly user_id: string };
}

let server: TestServer;
let client: Client;
let text: TextChannel;
let ann: GatewayClient;
let bob: GatewayClient;
let quiet: GatewayClient;
const [ANN, BOB] = [0, 1];

beforeAll(async () => {
  server = await startServer({ bots: 2 });
  const { api, cdn, bot, guild, gateway } = server.info;
  const { Guilds, GuildMessages, MessageContent, GuildMembers } = GatewayIntentBits;
  client = new Client({
    intents: [Guilds, GuildMessages, MessageContent, GuildMembers],
    rest: { api, cdn, mediaProxy: cdn, version: '10' },
  });
  const ready = heard<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
  await client.login(bot.token);
  await ready;
  text = (await client.channels.fetch(guild.text_channel_id)) as TextChannel;
  [ann, bob] = [
    await GatewayClient.ready(gateway, { token: server.info.users[ANN]!.token }),
    await GatewayClient.ready(gateway, { token: server.info.users[BOB]!.token }),
  ];
  quiet = await GatewayClient.ready(gateway, {
    ...{ token: server.info.bots[1]!.token, intents: INTENTS.GUILDS | INTENTS.GUILD_MESSAGES },
  });
});

afterAll(async () => {
  for (const each of [ann, bob, quiet]) each?.close();
  await client?.destroy();
  await server?.finish();
});

const ask = <T = { code: number }>(
  person: number,
  operation: string,
  params: Readonly<Record<string, string>>,
  more: object = {},
) => server.user(person).ask<T>(operation, { params, ...more });
const make = async (body: object, person = ANN): Promise<Thread> => {
  const made = await ask<Thread>(person, 'create_thread', { channel_id: text.id }, { body });
  if (made.status !== 201) expect.fail(JSON.stringify(made.body));
  return made.body;
};
const say = (person: number, channelId: string, content: string) =>
  ask<{ id: string; code: number }>(
    person,
    'create_message',
    { channel_id: channelId },
    { body: { content } },
  );
const read = async (id: string): Promise<Thread> =>
  (await server.bot().ask<Thread>('get_channel', { params: { channel_id: id } })).body;

describe('a public thread', () => {
  test('is made, announced, written in, left and joined by discord.js', async () => {
    const thread = (await text.threads.create({
      name: 'Plans',
      autoArchiveDuration: ThreadAutoArchiveDuration.OneHour,
      type: ChannelType.PublicThread,
    })) as PublicThreadChannel;
    expect(thread).toMatchObject({ name: 'Plans', parentId: text.id, memberCount: 1, archived: false });
    const created = await ann.dispatch('THREAD_CREATE', (d) => d.id === thread.id);
    expect(created).toMatchObject({ newly_created: true, guild_id: server.info.guild.id });
    const note = await ann.dispatch('MESSAGE_CREATE', (d) => d.type === 18 && d.content === 'Plans');
    expect(note).toMatchObject({ channel_id: text.id, message_reference: { channel_id: thread.id } });
    const sent = await thread.send('first');
    expect(await ann.dispatch('MESSAGE_CREATE', (d) => d.id === sent.id)).toMatchObject({
      ...{ channel_id: thread.id, content: 'first' },
    });
    await thread.leave();
    expect((await thread.members.fetch()).size).toBe(0);
    await thread.join();
    expect([...(await thread.members.fetch({ withMember: true, limit: 10 })).keys()]).toEqual([
      client.user!.id,
    ]);
    expect(await read(thread.id)).toMatchObject({ message_count: 1, total_message_sent: 1, member_count: 1 });
    const { threads } = await text.threads.fetchActive();
    expect(threads.has(thread.id)).toBe(true);
  });

  test('is made from a message once, with the id of the message', async () => {
    const { body: message } = await say(ANN, text.id, 'let us talk');
    const thread = await (await text.messages.fetch(message.id)).startThread({ name: 'Talk' });
    expect(thread.id).toBe(message.id);
    const flagged = await bob.dispatch('MESSAGE_UPDATE', (d) => d.id === message.id);
    expect(Number(flagged.flags) & 32).toBe(32);
    const starter = (await thread.messages.fetch()).find(({ type }) => type === 21);
    expect(starter?.reference?.messageId).toBe(message.id);
    const shown = await ask<{ thread?: Thread }>(BOB, 'get_message', {
      ...{ channel_id: text.id, message_id: message.id },
    });
    expect(shown.body.thread).toMatchObject({ id: message.id, name: 'Talk', parent_id: text.id });
    const again = await ask(
      BOB,
      'create_thread_from_message',
      { channel_id: text.id, message_id: message.id },
      { body: { name: 'x' } },
    );
    expect(again).toMatchObject({ status: 400, body: { code: 160_004 } });
    expect((await read(thread.id)).message_count).toBe(0);
  });

  test('counts messages, adds authors and mentioned users; bots without the intent see only themselves', async () => {
    const thread = await make({ name: 'Counting', type: 11 });
    const { id: bobId } = server.info.users[BOB]!;
    const { body: message } = await say(ANN, thread.id, `hello <@${bobId}>`);
    const added = await ann.dispatch(
      'THREAD_MEMBERS_UPDATE',
      (d) => d.id === thread.id && JSON.stringify(d.added_members).includes(bobId),
    );
    expect(added).toMatchObject({ member_count: 2, guild_id: server.info.guild.id });
    await ask(BOB, 'add_thread_member', { channel_id: thread.id, user_id: server.info.bots[1]!.id });
    const own = await quiet.dispatch('THREAD_MEMBERS_UPDATE', (d) => d.id === thread.id);
    expect(JSON.stringify(own.added_members)).toContain(server.info.bots[1]!.id);
    await server.bot().ask('delete_message', { params: { channel_id: thread.id, message_id: message.id } });
    expect(await read(thread.id)).toMatchObject({
      ...{ message_count: 0, total_message_sent: 1, member_count: 3 },
    });
    const { body: members } = await ask<{ user_id: string; member?: object }[]>(
      ANN,
      'list_thread_members',
      { channel_id: thread.id },
      { query: { with_member: true, limit: 2 } },
    );
    expect(members).toHaveLength(2);
    expect(members[0]?.member).toBeDefined();
    expect(await ask(ANN, 'get_thread_member', { channel_id: thread.id, user_id: bobId })).toMatchObject({
      status: 200,
      body: { id: thread.id, user_id: bobId },
    });
  });
});

describe('a private thread', () => {
  test('is seen by its members and moderators alone', async () => {
    const thread = await make({ name: 'Secret', type: 12, invitable: false });
    expect((await ask(BOB, 'get_channel', { channel_id: thread.id })).body.code).toBe(50_001);
    expect((await say(BOB, thread.id, 'let me in')).body.code).toBe(50_001);
    expect((await ask(BOB, 'join_thread', { channel_id: thread.id })).body.code).toBe(50_001);
    const { id: bobId } = server.info.users[BOB]!;
    await say(ANN, thread.id, 'between us');
    expect((await ask(ANN, 'add_thread_member', { channel_id: thread.id, user_id: bobId })).status).toBe(204);
    const shown = await bob.dispatch('THREAD_CREATE', (d) => d.id === thread.id);
    expect(shown).toMatchObject({ member: { user_id: bobId }, thread_metadata: { invitable: false } });
    await say(ANN, thread.id, 'welcome');
    await bob.dispatch('MESSAGE_CREATE', ({ content }) => content === 'welcome');
    expect((await say(BOB, thread.id, 'thank you')).status).toBe(200);
    const stranger = await server.newBot('Stranger');
    const outside = server.restOf(`Bot ${stranger.token}`);
    const refused = await ask(BOB, 'add_thread_member', { channel_id: thread.id, user_id: stranger.id });
    expect(refused).toMatchObject({ status: 403, body: { code: 50_013 } });
    expect((await outside.ask('get_channel', { params: { channel_id: thread.id } })).body.code).toBe(50_001);
    const { body: active } = await outside.ask<{ threads: Thread[] }>('get_active_guild_threads', {
      params: { guild_id: server.info.guild.id },
    });
    expect(active.threads.map(({ id }) => id)).not.toContain(thread.id);
    await ask(ANN, 'delete_thread_member', { channel_id: thread.id, user_id: bobId });
    const gone = await bob.dispatch(
      'THREAD_MEMBERS_UPDATE',
      (d) => d.id === thread.id && Array.isArray(d.removed_member_ids),
    );
    expect(gone.removed_member_ids).toEqual([bobId]);
    expect((await ask(BOB, 'get_channel', { channel_id: thread.id })).body.code).toBe(50_001);
  });
});

describe('an archived thread', () => {
  test('refuses everything but a message, which brings it back', async () => {
    const thread = await make({ name: 'Quiet', type: 11 });
    const { body: message } = await say(ANN, thread.id, 'before');
    const place = { channel_id: thread.id };
    expect((await ask(BOB, 'update_channel', place, { body: { archived: true } })).body.code).toBe(50_013);
    expect((await ask(ANN, 'update_channel', place, { body: { archived: true } })).status).toBe(200);
    expect((await ask(ANN, 'join_thread', place)).body.code).toBe(50_083);
    const params = { channel_id: thread.id, message_id: message.id };
    expect((await ask(ANN, 'update_message', params, { body: { content: 'x' } })).body.code).toBe(50_083);
    expect((await ask(ANN, 'update_channel', place, { body: { name: 'x' } })).body.code).toBe(50_083);
    const { body: list } = await ask<{ threads: Thread[]; has_more: boolean }>(
      BOB,
      'list_public_archived_threads',
      { channel_id: text.id },
      { query: { limit: 2 } },
    );
    expect(list.threads.map(({ id }) => id)).toContain(thread.id);
    const { body: said } = await say(BOB, thread.id, 'back again');
    const told = await ann.dispatch(
      'THREAD_UPDATE',
      (d) =>
        d.id === thread.id &&
        (d as { thread_metadata?: object; archived?: boolean }) !== null &&
        !Object(d.thread_metadata).archived,
    );
    expect(told.id).toBe(thread.id);
    const own = await ann.dispatch('THREAD_MEMBER_UPDATE', (d) => d.id === thread.id);
    expect(own).toMatchObject({ user_id: server.info.users[ANN]!.id, guild_id: server.info.guild.id });
    await ann.dispatch('MESSAGE_CREATE', (d) => d.id === said.id);
    expect(await read(thread.id)).toMatchObject({ thread_metadata: { archived: false }, message_count: 2 });
  });

  test('is changed by moderators alone while locked', async () => {
    const thread = await make({ name: 'Locked', type: 11 });
    const place = { channel_id: thread.id };
    expect((await ask(BOB, 'update_channel', place, { body: { locked: true } })).body.code).toBe(50_013);
    const changed = await server
      .bot()
      .ask('update_channel', { params: place, body: { locked: true, archived: true } });
    expect(changed.status).toBe(200);
    expect((await say(BOB, thread.id, 'hello')).body.code).toBe(160_005);
    expect((await ask(BOB, 'update_channel', place, { body: { archived: false } })).body.code).toBe(160_005);
    const moderated = await server.bot().ask('update_channel', { params: place, body: { archived: false } });
    expect(moderated.status).toBe(200);
  });

  test('is listed page by page to users who may see it', async () => {
    const made: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      const { id } = await make({ name, type: 12 });
      await ask(ANN, 'update_channel', { channel_id: id }, { body: { archived: true } });
      made.push(id);
    }
    const place = { channel_id: text.id };
    expect((await ask(BOB, 'list_private_archived_threads', place)).body.code).toBe(50_013);
    const first = await server
      .bot()
      .ask<{ threads: (Thread & { thread_metadata: { archive_timestamp: string } })[]; has_more: boolean }>(
        'list_private_archived_threads',
        { params: place, query: { limit: 2 } },
      );
    expect(first.body).toMatchObject({ threads: [{ id: made[2] }, { id: made[1] }], has_more: true });
    const before = first.body.threads[1]!.thread_metadata.archive_timestamp;
    const rest = await server.bot().ask('list_private_archived_threads', {
      ...{ params: place, query: { before } },
    });
    expect(rest.body).toMatchObject({ threads: [{ id: made[0] }], has_more: false });
    const mine = await ask(ANN, 'list_my_private_archived_threads', place, { query: { limit: 2 } });
    expect(mine.body).toMatchObject({
      ...{ threads: [{ id: made[2] }, { id: made[1] }], has_more: true },
      members: [{ id: made[2] }, { id: made[1] }],
    });
    expect((await ask(BOB, 'list_my_private_archived_threads', place)).body).toMatchObject({ threads: [] });
  });
});

test('threads are in GUILD_CREATE, and appear and disappear with their channel', async () => {
  const guildId = server.info.guild.id;
  const deny = String(1 << 10);
  const hidden = await server.bot().ask<{ id: string }>('create_guild_channel', {
    params: { guild_id: guildId },
    body: { name: 'hidden', type: 0, permission_overwrites: [{ id: guildId, type: 0, deny }] },
  });
  const place = { channel_id: hidden.body.id };
  const made = await server
    .bot()
    .ask<Thread>('create_thread', { params: place, body: { name: 'In it', type: 11 } });
  const late = await GatewayClient.connect(server.info.gateway);
  late.identify({ token: server.info.users[BOB]!.token });
  const created = await late.dispatch<{ threads: Thread[] } & Record<string, unknown>>('GUILD_CREATE');
  expect(created.threads.length).toBeGreaterThan(0);
  expect(created.threads.map(({ id }) => id)).not.toContain(made.body.id);
  late.close();
  await server.bot().ask('delete_channel_permission_overwrite', {
    params: { ...place, overwrite_id: guildId },
  });
  const synced = await bob.dispatch<{ threads: Thread[]; channel_ids: string[] } & Record<string, unknown>>(
    'THREAD_LIST_SYNC',
  );
  expect(synced).toMatchObject({ channel_ids: [hidden.body.id], threads: [{ id: made.body.id }] });
  await server.bot().ask('delete_channel', { params: place });
  const gone = await server.bot().ask('get_channel', { params: { channel_id: made.body.id } });
  expect(gone).toMatchObject({ status: 404, body: { code: 10_003 } });
});

test('a thread is deleted by moderators, with an entry in the audit log', async () => {
  const thread = await make({ name: 'Short', type: 11 });
  const place = { channel_id: thread.id };
  expect((await ask(ANN, 'delete_channel', place)).body.code).toBe(50_013);
  expect((await server.bot().ask('delete_channel', { params: place })).status).toBe(200);
  const told = await ann.dispatch('THREAD_DELETE', (d) => d.id === thread.id);
  expect(told).toEqual({ id: thread.id, guild_id: server.info.guild.id, parent_id: text.id, type: 11 });
  const log = await server
    .bot()
    .ask<{ audit_log_entries: { target_id: string }[] }>('list_guild_audit_log_entries', {
      params: { guild_id: server.info.guild.id },
      query: { action_type: 112 },
    });
  expect(log.body.audit_log_entries.map(({ target_id }) => target_id)).toContain(thread.id);
});
