// Goal: each session receives what its intents, permissions and dialect entitle it to, and nothing else.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALL_INTENTS, INTENTS, type IntentName } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { type Dialect, GatewayClient } from '../support/gateway-client.ts';
import { dataUri, mp3Of, pngOf } from '../support/media.ts';
import { type NewBot, startServer, type TestServer } from '../support/server.ts';

/** Rounds of ten messages of 6 KB each. */
const SLOW_ROUNDS = 120;

type WithId = { readonly id: string };

let server: TestServer;
let guildId: string;
let channelId: string;
beforeAll(async () => {
  server = await startServer({ bots: 2 });
  guildId = server.info.guild.id;
  channelId = server.info.guild.text_channel_id;
});
afterAll(() => server.finish());

const ready = (
  bot: { readonly token: string },
  intents = ALL_INTENTS,
  more: object = {},
  dialect: Dialect = {},
) => GatewayClient.ready(server.info.gateway, { token: bot.token, intents, ...more }, dialect);

/** A person's name is given once. */
let made = 0;

/** Does one of everything that causes a dispatch; a person writes to the second bot as well. */
async function oneOfEverything(): Promise<void> {
  const rest = server.bot(0);
  const guild = { guild_id: guildId };
  await rest.call('update_guild', { params: guild, body: { description: 'By the water' } });
  const role = await rest.call<WithId>('create_guild_role', { params: guild, body: { name: 'Rower' } });
  await rest.call('update_guild_role', { params: { ...guild, role_id: role.id }, body: { name: 'Oar' } });
  const { id: room } = await rest.call<WithId>('create_guild_channel', {
    params: guild,
    body: { name: 'boats' },
  });
  await rest.call('update_channel', { params: { channel_id: room }, body: { topic: 'Boats' } });

  const { user } = await server.admin<{ user: WithId }>('/users', { username: `reed_${++made}` });
  const member = { ...guild, user_id: user.id };
  await server.admin(`/guilds/${guildId}/members`, { user_id: user.id });
  await rest.call('add_guild_member_role', { params: { ...member, role_id: role.id } });
  await rest.call('ban_user_from_guild', { params: member, body: {} });
  await rest.call('unban_user_from_guild', { params: member });

  const { code } = await rest.call<{ code: string }>('create_channel_invite', {
    params: { channel_id: room },
    body: {},
  });
  await rest.call('invite_revoke', { params: { code } });
  await writeIn(room);
  const emoji = { channel_id: room, emoji_name: '🛶' };
  const bulk = [await say(room), await say(room)];
  const params = { ...emoji, message_id: bulk[0]! };
  await rest.call('add_my_message_reaction', { params });
  await rest.call('delete_all_message_reactions_by_emoji', { params });
  await rest.call('add_my_message_reaction', { params });
  await rest.call('delete_all_message_reactions', { params });
  await rest.call('bulk_delete_messages', { params: { channel_id: room }, body: { messages: bulk } });
  await rest.call('delete_channel', { params: { channel_id: room } });
  await rest.call('delete_guild_role', { params: { ...guild, role_id: role.id } });

  const actor = await ready(server.info.bots[0]!, INTENTS.GUILDS);
  actor.send(OP.PRESENCE_UPDATE, { since: null, activities: [], status: 'idle', afk: false });
  const voice = { guild_id: guildId, channel_id: server.info.guild.voice_channel_id };
  actor.send(OP.VOICE_STATE_UPDATE, { ...voice, self_mute: false, self_deaf: false });
  await actor.settled(guildId);
  const hall = { channel_id: voice.channel_id };
  await rest.call('update_voice_channel_status', { params: hall, body: { status: 'Rowing' } });
  await rest.call('send_soundboard_sound', { params: hall, body: { sound_id: '1' } });
  const { id: deck } = await rest.call<WithId>('create_guild_channel', {
    params: guild,
    body: { name: 'deck', type: 13 },
  });
  const stage = { channel_id: deck };
  await rest.call('create_stage_instance', { body: { ...stage, topic: 'Tales' } });
  await rest.call('update_stage_instance', { params: stage, body: { topic: 'Songs' } });
  await rest.call('delete_channel', { params: stage });
  actor.send(OP.VOICE_STATE_UPDATE, { ...voice, channel_id: null, self_mute: false, self_deaf: false });
  await actor.settled(guildId);
  await actor.close();
}

/** And one of everything that a guild has besides: expressions, events, rules, threads and webhooks. */
async function oneOfEveryThing(): Promise<void> {
  const rest = server.bot(0);
  const params = { guild_id: guildId };
  const image = dataUri(pngOf(32, 32));
  const emoji = await rest.call<WithId>('create_guild_emoji', { params, body: { name: 'canoe', image } });
  await rest.call('delete_guild_emoji', { params: { ...params, emoji_id: emoji.id } });
  const sound = dataUri(mp3Of(20), 'audio/mpeg');
  const { sound_id } = await rest.call<{ sound_id: string }>('create_guild_soundboard_sound', {
    params,
    body: { name: 'splash', sound },
  });
  const ofSound = { ...params, sound_id };
  await rest.call('update_guild_soundboard_sound', { params: ofSound, body: { name: 'plunge' } });
  await rest.call('delete_guild_soundboard_sound', { params: ofSound });

  const [start, end] = [3_600_000, 7_200_000].map((ms) => new Date(Date.now() + ms).toISOString());
  const event = await rest.call<WithId>('create_guild_scheduled_event', {
    params,
    body: {
      ...{ name: 'Regatta', privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Lake' } },
      ...{ scheduled_start_time: start, scheduled_end_time: end },
    },
  });
  const ofEvent = { ...params, guild_scheduled_event_id: event.id };
  await rest.call('update_guild_scheduled_event', { params: ofEvent, body: { name: 'Race' } });
  await rest.call('delete_guild_scheduled_event', { params: ofEvent });

  const words = { trigger_metadata: { keyword_filter: ['capsize'] }, actions: [{ type: 1 }] };
  const rule = await rest.call<WithId>('create_auto_moderation_rule', {
    params,
    body: { name: 'Words', event_type: 1, trigger_type: 1, enabled: true, ...words },
  });
  const ofRule = { ...params, rule_id: rule.id };
  await rest.call('update_auto_moderation_rule', { params: ofRule, body: { name: 'Rude words' } });
  await rest.call('delete_auto_moderation_rule', { params: ofRule });

  const ofChannel = { channel_id: channelId };
  const hook = await rest.call<WithId>('create_webhook', { params: ofChannel, body: { name: 'Gull' } });
  await rest.call('delete_webhook', { params: { webhook_id: hook.id } });
  const thread = await rest.call<WithId>('create_thread', {
    params: ofChannel,
    body: { name: 'Oars', type: 11 },
  });
  const ofThread = { channel_id: thread.id };
  await rest.call('update_channel', { params: ofThread, body: { name: 'Paddles' } });
  await rest.call('delete_channel', { params: ofThread });
}

const say = async (channel_id: string, by = server.bot(0)) =>
  (await by.call<WithId>('create_message', { params: { channel_id }, body: { content: 'A line' } })).id;

/** A message from first to last. */
async function writeIn(channel_id: string, by = server.bot(0)): Promise<void> {
  await by.call('trigger_typing_indicator', { params: { channel_id } });
  const message_id = await say(channel_id, by);
  const params = { channel_id, message_id };
  await by.call('update_message', { params, body: { content: 'Another line' } });
  await by.call('add_my_message_reaction', { params: { ...params, emoji_name: '🛶' } });
  await by.call('delete_my_message_reaction', { params: { ...params, emoji_name: '🛶' } });
  await by.call('create_pin', { params });
  await by.call('delete_message', { params });
}

/** Dispatches of each intent that this server sends, as the platform's "Gateway" page lists them. */
const BROUGHT: Partial<Record<IntentName, readonly string[]>> = {
  GUILDS: [
    'CHANNEL_CREATE',
    'CHANNEL_DELETE',
    'CHANNEL_PINS_UPDATE',
    'CHANNEL_UPDATE',
    'GUILD_CREATE',
    'GUILD_ROLE_CREATE',
    'GUILD_ROLE_DELETE',
    'GUILD_ROLE_UPDATE',
    'GUILD_UPDATE',
    'STAGE_INSTANCE_CREATE',
    'STAGE_INSTANCE_DELETE',
    'STAGE_INSTANCE_UPDATE',
    'THREAD_CREATE',
    'THREAD_DELETE',
    'THREAD_UPDATE',
    'VOICE_CHANNEL_START_TIME_UPDATE',
    'VOICE_CHANNEL_STATUS_UPDATE',
  ],
  GUILD_MEMBERS: ['GUILD_MEMBER_ADD', 'GUILD_MEMBER_REMOVE', 'GUILD_MEMBER_UPDATE', 'THREAD_MEMBERS_UPDATE'],
  GUILD_MODERATION: ['GUILD_AUDIT_LOG_ENTRY_CREATE', 'GUILD_BAN_ADD', 'GUILD_BAN_REMOVE'],
  GUILD_EXPRESSIONS: [
    'GUILD_EMOJIS_UPDATE',
    'GUILD_SOUNDBOARD_SOUND_CREATE',
    'GUILD_SOUNDBOARD_SOUND_DELETE',
    'GUILD_SOUNDBOARD_SOUND_UPDATE',
  ],
  GUILD_WEBHOOKS: ['WEBHOOKS_UPDATE'],
  GUILD_SCHEDULED_EVENTS: [
    'GUILD_SCHEDULED_EVENT_CREATE',
    'GUILD_SCHEDULED_EVENT_DELETE',
    'GUILD_SCHEDULED_EVENT_UPDATE',
  ],
  AUTO_MODERATION_CONFIGURATION: [
    'AUTO_MODERATION_RULE_CREATE',
    'AUTO_MODERATION_RULE_DELETE',
    'AUTO_MODERATION_RULE_UPDATE',
  ],
  GUILD_INVITES: ['INVITE_CREATE', 'INVITE_DELETE'],
  GUILD_VOICE_STATES: ['VOICE_CHANNEL_EFFECT_SEND', 'VOICE_STATE_UPDATE'],
  GUILD_PRESENCES: ['PRESENCE_UPDATE'],
  GUILD_MESSAGES: ['MESSAGE_CREATE', 'MESSAGE_DELETE', 'MESSAGE_DELETE_BULK', 'MESSAGE_UPDATE'],
  GUILD_MESSAGE_REACTIONS: [
    'MESSAGE_REACTION_ADD',
    'MESSAGE_REACTION_REMOVE',
    'MESSAGE_REACTION_REMOVE_ALL',
    'MESSAGE_REACTION_REMOVE_EMOJI',
  ],
  GUILD_MESSAGE_TYPING: ['TYPING_START'],
  DIRECT_MESSAGES: ['CHANNEL_PINS_UPDATE', 'MESSAGE_CREATE', 'MESSAGE_DELETE', 'MESSAGE_UPDATE'],
  DIRECT_MESSAGE_REACTIONS: ['MESSAGE_REACTION_ADD', 'MESSAGE_REACTION_REMOVE'],
  DIRECT_MESSAGE_TYPING: ['TYPING_START'],
};

test('every intent delivers its dispatches and no others; a session without intents receives none', async () => {
  const names = Object.keys(INTENTS) as IntentName[];
  const bot = server.info.bots[1]!;
  const sessions = await Promise.all(names.map((name) => ready(bot, INTENTS[name])));
  const none = await ready(bot, 0);
  await oneOfEverything();
  await oneOfEveryThing();
  const dm = await server.user(0).call<WithId>('create_dm', { body: { recipient_id: bot.id } });
  await writeIn(dm.id, server.user(0));
  const seen: Record<string, string[]> = {};
  for (const [index, session] of [...sessions, none].entries()) {
    await session.settled(guildId);
    const told = session.names.filter((name) => name !== 'READY' && name !== 'GUILD_MEMBERS_CHUNK');
    if (told.length > 0) seen[names[index] ?? 'none'] = [...new Set(told)].sort();
    await session.close();
  }
  expect(seen).toEqual(BROUGHT);
});

describe('without MESSAGE_CONTENT', () => {
  const { GUILD_MESSAGES, DIRECT_MESSAGES } = INTENTS;
  const file = { name: 'a.txt', bytes: Buffer.from('a'), type: 'text/plain' };
  const post = (by: ReturnType<TestServer['bot']>, content: string, channel = channelId) =>
    by.call<WithId>('create_message', {
      params: { channel_id: channel },
      body: { content, embeds: [{ title: 'Heading' }] },
      files: [file],
    });

  test('a bot receives messages of others blank, and those that concern it in full', async () => {
    const bot = server.info.bots[1]!;
    const blind = await ready(bot, GUILD_MESSAGES | DIRECT_MESSAGES);
    const dm = await server.user(0).call<WithId>('create_dm', { body: { recipient_id: bot.id } });
    const others = await post(server.bot(0), 'Not for bots');
    const own = await post(server.bot(1), 'My own');
    const mention = await post(server.bot(0), `For <@${bot.id}>`);
    const reply = await server.bot(0).call<WithId>('create_message', {
      params: { channel_id: channelId },
      body: { content: 'An answer', message_reference: { message_id: own.id } },
    });
    await server
      .user(0)
      .call('create_message', { params: { channel_id: dm.id }, body: { content: 'In private' } });
    const blank = { content: '', embeds: [], attachments: [], components: [] };
    expect(await blind.dispatch('MESSAGE_CREATE')).toMatchObject({ id: others.id, ...blank });
    const full = { embeds: [{ title: 'Heading' }], attachments: [{ filename: 'a.txt' }] };
    expect(await blind.dispatch('MESSAGE_CREATE')).toMatchObject({ id: own.id, content: 'My own', ...full });
    expect(await blind.dispatch('MESSAGE_CREATE')).toMatchObject({ id: mention.id, ...full });
    expect(await blind.dispatch('MESSAGE_CREATE')).toMatchObject({ id: reply.id, content: 'An answer' });
    expect(await blind.dispatch('MESSAGE_CREATE')).toMatchObject({ content: 'In private' });
    await server.bot(0).call('update_message', {
      params: { channel_id: channelId, message_id: others.id },
      body: { content: 'Still not' },
    });
    expect(await blind.dispatch('MESSAGE_UPDATE')).toMatchObject({ id: others.id, ...blank });
    await blind.close();
  });
});

describe('permissions', () => {
  const guild = () => ({ guild_id: guildId });
  let bot: NewBot;
  beforeAll(async () => {
    bot = await server.newBot('Taper');
  });

  test('a channel that a bot may not view does not exist for it, from the very GUILD_CREATE', async () => {
    const hidden = await server.bot().call<WithId>('create_guild_channel', {
      params: guild(),
      body: { name: 'vault', permission_overwrites: [{ id: guildId, type: 0, deny: '1024', allow: '0' }] },
    });
    const session = await ready(bot);
    const created = session.received.find(({ t }) => t === 'GUILD_CREATE')!.d as { channels: WithId[] };
    expect(created.channels.map(({ id }) => id)).not.toContain(hidden.id);
    await writeIn(hidden.id);
    const params = { channel_id: hidden.id };
    await server.bot().call('update_channel', { params, body: { topic: 'Gold' } });
    const before = session.names.length;
    await session.settled(guildId);
    expect(session.names.slice(before)).toEqual(['GUILD_MEMBERS_CHUNK']);

    const overwrite = { channel_id: hidden.id, overwrite_id: bot.id };
    await server.bot().call('set_channel_permission_overwrite', {
      params: overwrite,
      body: { type: 1, allow: '1024', deny: '0' },
    });
    await say(hidden.id);
    await session.dispatch('MESSAGE_CREATE', (d) => d.channel_id === hidden.id);
    await server.bot().call('delete_channel_permission_overwrite', { params: overwrite });
    const seen = session.names.length;
    await say(hidden.id);
    await server.bot().call('delete_channel', { params });
    await session.settled(guildId);
    expect(session.names.slice(seen).filter((name) => name.startsWith('MESSAGE'))).toEqual([]);
    await session.close();
  });

  test('audit log entries, bans and invites are sent only to members who may see them', async () => {
    const session = await ready(bot);
    const keeper = await server.newBot('Keeper of records', { permissions: 1n << 7n });
    const allowed = await ready(keeper);
    const { user } = await server.admin<{ user: WithId }>('/users', { username: 'sedge' });
    const params = { guild_id: guildId, user_id: user.id };
    await server.bot().call('ban_user_from_guild', { params, body: {}, reason: 'Unknown here' });
    const { code } = await server.bot().call<{ code: string }>('create_channel_invite', {
      params: { channel_id: channelId },
      body: { unique: true },
    });
    await server.bot().call('invite_revoke', { params: { code } });
    await allowed.dispatch('GUILD_AUDIT_LOG_ENTRY_CREATE', (d) => d.reason === 'Unknown here');
    await allowed.dispatch('GUILD_BAN_ADD');
    await Promise.all([session.settled(guildId), allowed.settled(guildId)]);
    for (const name of ['GUILD_AUDIT_LOG_ENTRY_CREATE', 'GUILD_BAN_ADD', 'INVITE_CREATE', 'INVITE_DELETE'])
      expect(session.names).not.toContain(name);
    expect(allowed.names).not.toContain('INVITE_CREATE');
    await Promise.all([session.close(), allowed.close()]);
  });
});

test('large guilds list only members that are present, or have a role or a nickname', async () => {
  const owner = server.info.users[0]!;
  const made = await server.admin<{ guild: WithId }>('/guilds', { name: 'Crowd', owner_id: owner.id });
  const at = `/guilds/${made.guild.id}/members`;
  const bot = server.info.bots[1]!;
  await server.admin(at, { user_id: bot.id, permissions: '8' });
  const ids: string[] = [];
  for (let index = 0; index < 58; index += 1) {
    const { user } = await server.admin<{ user: WithId }>('/users', { username: `guest${index}` });
    await server.admin(at, { user_id: user.id });
    ids.push(user.id);
  }
  await server.user(0).call('update_guild_member', {
    params: { guild_id: made.guild.id, user_id: ids[7]! },
    body: { nick: 'Seven' },
  });
  const guildOf = async (threshold: number, intents = ALL_INTENTS) => {
    const session = await ready(bot, intents, { large_threshold: threshold });
    const isIt = ({ t, d }: { t: string | null; d: { id?: unknown } }) =>
      t === 'GUILD_CREATE' && d.id === made.guild.id;
    await session.close();
    return session.received.find(isIt)!.d as {
      members: { user: WithId }[];
      large: boolean;
      member_count: number;
    };
  };
  const idsOf = ({ members }: { members: { user: WithId }[] }) => members.map(({ user }) => user.id).sort();
  const large = await guildOf(50);
  expect(large).toMatchObject({ large: true, member_count: 60 });
  expect(idsOf(large)).toEqual([bot.id, ids[7]!].sort());
  const whole = await guildOf(250);
  expect(whole).toMatchObject({ large: false, member_count: 60 });
  expect(whole.members).toHaveLength(60);
  const unaware = await guildOf(250, ALL_INTENTS & ~INTENTS.GUILD_PRESENCES);
  expect(idsOf(unaware)).toEqual([bot.id]);
});

describe('the dialects', () => {
  const DIALECTS: (Dialect & { compressed?: boolean })[] = [
    { encoding: 'json' },
    { encoding: 'json', compress: 'zlib-stream' },
    { encoding: 'json', compressed: true },
    { encoding: 'json', compress: 'zlib-stream', compressed: true },
    { encoding: 'etf' },
    { encoding: 'etf', compress: 'zlib-stream' },
    { v: 9, encoding: 'json' },
  ];

  test('deliver the same events in the same order', async () => {
    const bot = server.info.bots[1]!;
    const sessions: GatewayClient[] = [];
    for (const { compressed = false, ...dialect } of DIALECTS)
      sessions.push(
        await ready(bot, ALL_INTENTS & ~INTENTS.GUILD_PRESENCES, { compress: compressed }, dialect),
      );
    const marks = sessions.map(({ received }) => received.length);
    await oneOfEverything();
    await server.bot(0).call('create_message', {
      params: { channel_id: channelId },
      body: {
        content: 'Grüße · 挨拶 · 👋🏽 · \u200b\u202e',
        embeds: [{ title: 'x'.repeat(256), color: 0xffffff }],
      },
    });
    const [first, ...others] = await Promise.all(
      sessions.map(async (session, index) => {
        await session.settled(guildId);
        return session.received
          .slice(marks[index])
          .filter(({ op, t }) => op === OP.DISPATCH && t !== 'GUILD_MEMBERS_CHUNK')
          .map(({ t, d }) => ({ t, d }));
      }),
    );
    expect(first!.length).toBeGreaterThan(30);
    for (const other of others) expect(other).toEqual(first);
    for (const [index, session] of sessions.entries()) {
      const seqs = session.received.flatMap(({ s }) => (s === null ? [] : [s]));
      expect(seqs).toEqual(seqs.map((_, at) => at + 1));
      const { d } = session.received.find(({ t }) => t === 'READY')!;
      expect(d).toMatchObject({ v: DIALECTS[index]!.v ?? 10, user: { id: bot.id } });
      await session.close();
    }
  });
});

describe('Request Guild Members', () => {
  test('answers by ids, by prefix and with all members; the full list is limited to once in 30 s', async () => {
    const session = await ready(server.info.bots[1]!);
    const [juniper] = server.info.users;
    const ask = async (d: object) => {
      session.send(OP.REQUEST_GUILD_MEMBERS, { guild_id: guildId, ...d });
      return session.next(({ t }) => t === 'GUILD_MEMBERS_CHUNK' || t === 'RATE_LIMITED');
    };
    const byId = await ask({ user_ids: [juniper!.id, '1'], presences: true, nonce: 'a' });
    expect(byId.d).toMatchObject({
      guild_id: guildId,
      members: [{ user: { id: juniper!.id } }],
      not_found: ['1'],
      chunk_index: 0,
      chunk_count: 1,
      nonce: 'a',
    });
    expect((await ask({ query: 'ROW', limit: 10 })).d).toMatchObject({
      members: [{ user: { username: 'rowan' } }],
    });
    const all = await ask({ query: '', limit: 0, presences: true });
    expect((all.d.members as unknown[]).length).toBeGreaterThanOrEqual(4);
    expect((all.d.presences as { user: WithId }[]).map(({ user }) => user.id)).toContain(session.userId);
    const again = await ask({ query: '', limit: 0, nonce: 'b' });
    expect(again).toMatchObject({
      t: 'RATE_LIMITED',
      d: { opcode: 8, meta: { guild_id: guildId, nonce: 'b' } },
    });
    expect(again.d.retry_after).toBeGreaterThan(20);
    const oversized = await ask({ user_ids: [juniper!.id], nonce: 'x'.repeat(33) });
    expect(oversized.d).not.toHaveProperty('nonce');
    await session.close();
  });
});

test('presences of several sessions of one user are merged', async () => {
  const watcher = await ready(server.info.bots[0]!);
  const bot = server.info.bots[1]!;
  const next = () =>
    watcher.dispatch<{ status: string }>('PRESENCE_UPDATE', (d) => (d.user as WithId).id === bot.id);
  const as = (status: string) => ({ presence: { since: null, activities: [], status, afk: false } });
  const idle = await ready(bot, INTENTS.GUILDS, as('idle'));
  expect((await next()).status).toBe('idle');
  const online = await ready(bot, INTENTS.GUILDS, as('online'));
  expect((await next()).status).toBe('online');
  await online.close();
  expect((await next()).status).toBe('idle');
  await idle.close();
  expect((await next()).status).toBe('offline');
  await watcher.close();
});

test('a client that does not read is cut off resumably, and the others notice nothing', async () => {
  const slow = await startServer({ bots: 2, set: { socket_buffer_bytes_max: 262_144 }, relayed: false });
  const { token } = slow.info.bot;
  const asleep = await GatewayClient.ready(slow.info.gateway, { token });
  const awake = await GatewayClient.ready(slow.info.gateway, { token });
  const countOf = ({ names }: GatewayClient) => names.filter((name) => name === 'MESSAGE_CREATE').length;
  asleep.pause();
  const body = { content: 'x'.repeat(2000), embeds: [{ description: 'y'.repeat(4096) }] };
  const params = { channel_id: slow.info.guild.text_channel_id };
  // The kernel's buffers take some megabytes before the server sees that the client does not read.
  for (let round = 0; round < SLOW_ROUNDS; round += 1)
    await Promise.all(Array.from({ length: 10 }, () => slow.bot(1).call('create_message', { params, body })));
  const sent = SLOW_ROUNDS * 10;
  await expect.poll(() => countOf(awake), { timeout: 10_000 }).toBe(sent);
  const metrics = await (await fetch(`${slow.info.admin.url}/metrics`)).text();
  expect(metrics).toMatch(/^guildhall_gateway_overflows\S* 1$/m);
  asleep.wake();
  expect([4000, 1006]).toContain((await asleep.closed).code);
  const seen = countOf(asleep);
  expect(seen).toBeLessThan(sent);
  const back = await GatewayClient.connect(slow.info.gateway);
  back.resume(token, asleep.sessionId, asleep.seq!);
  await back.dispatch('RESUMED');
  expect(seen + countOf(back)).toBe(sent);
  await Promise.all([awake.close(), back.close()]);
  await slow.finish();
});
