// Goal: each dispatch of a guild reaches the sessions that the platform's pages name, and no other: none without its intent, its
// permission, sight of its channel or membership of its private thread.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import { ALL_INTENTS } from '../../protocol/intents.ts';
import { OP } from '../../protocol/opcodes.ts';
import { ALL_PERMISSIONS, P } from '../../protocol/permissions.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { type Given, PERMISSION_ROWS } from '../support/permissionrows.ts';
import { openScene } from '../support/scene.ts';

/** The recipients of a dispatch among sessions with its intent: all in the guild, those that see the channel, or those with a permission. */
type Rule = 'guild' | 'channel' | keyof typeof P;

/**
 * The number of the intent and the rule, by hand and not from the code.
 *
 * @source https://docs.discord.com/developers/events/gateway#list-of-intents, and the pages of the single events
 */
const RULES: readonly (readonly [name: string, intent: number, rule: Rule])[] = [
  ['GUILD_UPDATE', 0, 'guild'],
  ['GUILD_ROLE_CREATE', 0, 'guild'],
  ['GUILD_ROLE_UPDATE', 0, 'guild'],
  ['GUILD_ROLE_DELETE', 0, 'guild'],
  ['CHANNEL_CREATE', 0, 'channel'],
  ['CHANNEL_UPDATE', 0, 'channel'],
  ['CHANNEL_DELETE', 0, 'channel'],
  ['CHANNEL_PINS_UPDATE', 0, 'channel'],
  ['THREAD_CREATE', 0, 'channel'],
  ['THREAD_UPDATE', 0, 'channel'],
  ['THREAD_DELETE', 0, 'channel'],
  ['STAGE_INSTANCE_CREATE', 0, 'channel'],
  ['STAGE_INSTANCE_UPDATE', 0, 'channel'],
  ['STAGE_INSTANCE_DELETE', 0, 'channel'],
  ['VOICE_CHANNEL_STATUS_UPDATE', 0, 'channel'],
  ['VOICE_CHANNEL_START_TIME_UPDATE', 0, 'channel'],
  ['THREAD_MEMBERS_UPDATE', 1, 'channel'],
  ['GUILD_MEMBER_ADD', 1, 'guild'],
  ['GUILD_MEMBER_UPDATE', 1, 'guild'],
  ['GUILD_MEMBER_REMOVE', 1, 'guild'],
  ['GUILD_AUDIT_LOG_ENTRY_CREATE', 2, 'VIEW_AUDIT_LOG'],
  ['GUILD_BAN_ADD', 2, 'BAN_MEMBERS'],
  ['GUILD_BAN_REMOVE', 2, 'BAN_MEMBERS'],
  ['GUILD_EMOJIS_UPDATE', 3, 'guild'],
  ['GUILD_STICKERS_UPDATE', 3, 'guild'],
  ['GUILD_SOUNDBOARD_SOUND_CREATE', 3, 'guild'],
  ['GUILD_SOUNDBOARD_SOUND_UPDATE', 3, 'guild'],
  ['GUILD_SOUNDBOARD_SOUND_DELETE', 3, 'guild'],
  ['GUILD_INTEGRATIONS_UPDATE', 4, 'guild'],
  ['INTEGRATION_CREATE', 4, 'guild'],
  ['INTEGRATION_DELETE', 4, 'guild'],
  ['WEBHOOKS_UPDATE', 5, 'channel'],
  ['INVITE_CREATE', 6, 'MANAGE_CHANNELS'],
  ['INVITE_DELETE', 6, 'MANAGE_CHANNELS'],
  ['VOICE_STATE_UPDATE', 7, 'channel'],
  ['VOICE_CHANNEL_EFFECT_SEND', 7, 'channel'],
  ['PRESENCE_UPDATE', 8, 'guild'],
  ['MESSAGE_CREATE', 9, 'channel'],
  ['MESSAGE_UPDATE', 9, 'channel'],
  ['MESSAGE_DELETE', 9, 'channel'],
  ['MESSAGE_DELETE_BULK', 9, 'channel'],
  ['MESSAGE_REACTION_ADD', 10, 'channel'],
  ['MESSAGE_REACTION_REMOVE', 10, 'channel'],
  ['MESSAGE_REACTION_REMOVE_ALL', 10, 'channel'],
  ['MESSAGE_REACTION_REMOVE_EMOJI', 10, 'channel'],
  ['TYPING_START', 11, 'channel'],
  ['GUILD_SCHEDULED_EVENT_CREATE', 16, 'guild'],
  ['GUILD_SCHEDULED_EVENT_UPDATE', 16, 'guild'],
  ['GUILD_SCHEDULED_EVENT_DELETE', 16, 'guild'],
  ['GUILD_SCHEDULED_EVENT_USER_ADD', 16, 'channel'],
  ['GUILD_SCHEDULED_EVENT_USER_REMOVE', 16, 'channel'],
  ['GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE', 16, 'guild'],
  ['GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE', 16, 'guild'],
  ['GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE', 16, 'guild'],
  ['AUTO_MODERATION_RULE_CREATE', 20, 'MANAGE_GUILD'],
  ['AUTO_MODERATION_RULE_UPDATE', 20, 'MANAGE_GUILD'],
  ['AUTO_MODERATION_RULE_DELETE', 20, 'MANAGE_GUILD'],
  ['AUTO_MODERATION_ACTION_EXECUTION', 21, 'MANAGE_GUILD'],
  ['MESSAGE_POLL_VOTE_ADD', 24, 'channel'],
  ['MESSAGE_POLL_VOTE_REMOVE', 24, 'channel'],
];
const INTENTS_USED = [...new Set(RULES.map(([, intent]) => intent))];

const PATIENT_MS = 600_000;

let stage: Awaited<ReturnType<typeof openScene>>;
/** A bot with every permission and intent, the same without one intent each, and bots with fewer permissions. */
let sessions: Readonly<Record<string, GatewayClient>>;
let privateThread: string;
/** How much each session had been sent when all of them were open. */
let begun: Readonly<Record<string, number>>;

beforeAll(async () => {
  // Virtual time passes while clients read their sockets, by minutes on a busy machine.
  stage = await openScene({
    ...{ heartbeat_interval_ms: PATIENT_MS, heartbeat_grace_ms: PATIENT_MS, identify_timeout_ms: PATIENT_MS },
  });
  const { gateway } = await stage.engine.listen();
  const { admin } = stage.engine;
  const guildId = stage.scene.guild as GuildId;
  const tokenOf = async (name: string, permissions: bigint) => {
    const { bot, botToken } = await admin.createApplication({ name });
    await admin.addMember({ guildId, userId: bot.id as UserId, permissions });
    return botToken;
  };
  // Each is a bot of its own, as one bot identifies once in five seconds.
  const open = async (name: string, permissions: bigint, intents = ALL_INTENTS) =>
    passing(GatewayClient.ready(gateway, { token: await tokenOf(name, permissions), intents }));
  const fewer = ALL_PERMISSIONS & ~P.ADMINISTRATOR & ~P.MANAGE_THREADS;
  sessions = {
    all: await open('all', P.ADMINISTRATOR),
    // Sees every channel, moderates no threads, and is a member of none.
    outside: await open('outside', fewer),
    powerless: await open('powerless', P.VIEW_CHANNEL | P.CONNECT),
    blind: await open('blind', 0n),
  };
  for (const intent of INTENTS_USED)
    sessions = {
      ...sessions,
      [`without ${intent}`]: await open(`without ${intent}`, P.ADMINISTRATOR, ALL_INTENTS & ~(1 << intent)),
    };
  for (const [name, session] of Object.entries(sessions)) await passing(settled(name, session));
  begun = Object.fromEntries(Object.entries(sessions).map(([name, { received }]) => [name, received.length]));
  await act();
  for (const [name, session] of Object.entries(sessions)) await passing(settled(name, session));
}, 120_000);
afterAll(async () => {
  for (const session of Object.values(sessions ?? {})) session.close();
  await stage?.engine.close();
});

/** Lets time pass until something is done: the server paces sessions that identify. */
async function passing<Value>(work: Promise<Value>): Promise<Value> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  done.catch(() => {});
  while (!isDone) {
    stage.clock.advance(1);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return done;
}

const settled = (name: string, session: GatewayClient) =>
  session.settled(stage.scene.guild).catch((error) => {
    throw new Error(`${name}: ${error}`);
  });

const asOwner = (id: string, given: Given) => stage.scene.make(id, given);
const quietly = (call: Promise<unknown>) => call.catch(() => null);

/** Makes the owner do everything that some row of permissions asks for, and then what no row does. */
async function act(): Promise<void> {
  const { scene } = stage;
  await stage.hold(P.ADMINISTRATOR);
  for (const { id, given } of Object.values(PERMISSION_ROWS).flat())
    await quietly(Promise.resolve(given(scene)).then((target) => asOwner(id, target)));
  await passing(inVoice());
  await talk(scene.text);
  await inEvents();
  await moderated();
  sessions.all?.send(OP.PRESENCE_UPDATE, { since: null, activities: [], status: 'idle', afk: false });
  privateThread = await asOwner('create_thread', {
    ...{ params: { channel_id: scene.text }, body: { name: 'Secret', type: 12 } },
  });
  await talk(privateThread);
  for (const method of ['add', 'delete'])
    await asOwner(`${method}_thread_member`, { params: { channel_id: privateThread, user_id: scene.bot } });
  await asOwner('update_channel', { params: { channel_id: privateThread }, body: { name: 'Secrets' } });
  await asOwner('delete_channel', { params: { channel_id: privateThread } });
}

/** Everything that is done to a message, in a channel or thread. */
async function talk(channel_id: string): Promise<void> {
  const send = (body: object) => asOwner('create_message', { params: { channel_id }, body });
  const message_id = await send({ content: 'hello' });
  const here = { channel_id, message_id };
  const emoji = { ...here, emoji_name: '👍' };
  await asOwner('trigger_typing_indicator', { params: { channel_id } });
  await asOwner('update_message', { params: here, body: { content: 'hello again' } });
  await asOwner('add_my_message_reaction', { params: emoji });
  await asOwner('delete_my_message_reaction', { params: emoji });
  await asOwner('add_my_message_reaction', { params: emoji });
  await asOwner('delete_all_message_reactions_by_emoji', { params: emoji });
  await asOwner('add_my_message_reaction', { params: emoji });
  await asOwner('delete_all_message_reactions', { params: here });
  await asOwner('create_pin', { params: here });
  const answers = [{ poll_media: { text: 'yes' } }];
  const poll = { ...here, message_id: await send({ poll: { question: { text: '?' }, answers } }) };
  await asOwner('vote_poll', { params: poll, body: { answer_ids: ['1'] } });
  await asOwner('unvote_poll', { params: poll });
  await asOwner('delete_message', { params: here });
}

async function inVoice(): Promise<void> {
  const { scene } = stage;
  const join = (channel_id: string | null) =>
    sessions.all?.send(OP.VOICE_STATE_UPDATE, {
      ...{ guild_id: scene.guild, channel_id, self_mute: false, self_deaf: false },
    });
  join(scene.voice);
  await sessions.all?.dispatch('VOICE_STATE_UPDATE', (d) => d.channel_id === scene.voice);
  const params = { channel_id: scene.voice };
  const all = sessions.all?.userId ?? '';
  await stage.call('send_soundboard_sound', { params, body: { sound_id: '1' } }, all);
  join(null);
  await sessions.all?.dispatch('VOICE_STATE_UPDATE', (d) => d.channel_id === null);
}

/** Scheduled events in a channel are sent to members who see the channel. */
async function inEvents(): Promise<void> {
  const { guild: guild_id, voice: channel_id } = stage.scene;
  const time = { scheduled_start_time: '2026-11-03T00:00:00Z' };
  const body = { ...{ name: 'Talk', privacy_level: 2, entity_type: 2, channel_id }, ...time };
  const guild_scheduled_event_id = await asOwner('create_guild_scheduled_event', {
    params: { guild_id },
    body,
  });
  const of = { params: { guild_id, guild_scheduled_event_id } };
  await asOwner('subscribe_guild_scheduled_event', of);
  await asOwner('unsubscribe_guild_scheduled_event', of);
  await asOwner('update_guild_scheduled_event', { ...of, body: { name: 'Talks' } });
  await asOwner('delete_guild_scheduled_event', of);
}

async function moderated(): Promise<void> {
  const { guild: guild_id, role: role_id, member: user_id, text: channel_id } = stage.scene;
  const permissions = `${P.VIEW_CHANNEL | P.SEND_MESSAGES}`;
  await asOwner('update_guild_role', { params: { guild_id, role_id }, body: { permissions } });
  await asOwner('add_guild_member_role', { params: { guild_id, role_id, user_id } });
  const metadata = { trigger_metadata: { keyword_filter: ['harbour'] } };
  const body = {
    ...{ name: 'Words', event_type: 1, trigger_type: 1, actions: [{ type: 1 }], enabled: true },
  };
  const [old] = await stage.scene.listed('list_auto_moderation_rules', { params: { guild_id } });
  if (old) await asOwner('delete_auto_moderation_rule', { params: { guild_id, rule_id: old } });
  await asOwner('create_auto_moderation_rule', { params: { guild_id }, body: { ...body, ...metadata } });
  await quietly(
    stage.call('create_message', { params: { channel_id }, body: { content: 'harbour' } }, user_id),
  );
}

/** Payloads of the dispatches of that name that a session received. */
const heard = (session: string, name: string) =>
  sessions[session]!.received.slice(begun[session]).flatMap(({ t, d }) => (t === name ? [d] : []));
const about = (d: Record<string, unknown>): unknown[] => [
  ...[d.id, d.channel_id, d.thread_id],
  (d.user as { id?: string } | undefined)?.id,
];

describe.each(RULES)('%s', (name, intent, rule) => {
  test('is sent to every session with the intent, and to none without', () => {
    expect(heard('all', name)).not.toEqual([]);
    const { userId } = sessions[`without ${intent}`]!;
    const foreign = heard(`without ${intent}`, name).filter(
      // Their own changes reach members without the intent.
      (d) =>
        !['GUILD_MEMBER_UPDATE', 'VOICE_STATE_UPDATE'].includes(name) || !JSON.stringify(d).includes(userId),
    );
    expect(foreign).toEqual([]);
    for (const other of INTENTS_USED.filter((each) => each !== intent))
      expect([other, heard(`without ${other}`, name).length]).toEqual([other, heard('all', name).length]);
  });

  test(`needs ${rule === 'guild' ? 'no permission' : rule === 'channel' ? 'sight of the channel' : rule}`, () => {
    expect(heard('blind', name).length > 0).toBe(rule === 'guild');
    expect(heard('powerless', name).length > 0).toBe(rule === 'guild' || rule === 'channel');
    expect(heard('outside', name)).not.toEqual([]);
  });
});

test('dispatches of an event in a channel reach no member who cannot see the channel', () => {
  for (const change of ['CREATE', 'UPDATE', 'DELETE']) {
    const inChannel = (session: string) =>
      heard(session, `GUILD_SCHEDULED_EVENT_${change}`).filter((d) => d.channel_id === stage.scene.voice);
    expect([change, inChannel('powerless').length > 0, inChannel('blind')]).toEqual([change, true, []]);
  }
});

test('dispatches of a private thread reach no member who is not in it', () => {
  const ofThread = (session: string) =>
    sessions[session]!.received.filter(
      ({ d }) => d !== null && typeof d === 'object' && about(d).includes(privateThread),
    );
  expect(new Set(ofThread('all').map(({ t }) => t))).toEqual(
    new Set([
      ...['THREAD_CREATE', 'THREAD_UPDATE', 'THREAD_DELETE', 'THREAD_MEMBERS_UPDATE', 'TYPING_START'],
      ...['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE', 'CHANNEL_PINS_UPDATE'],
      ...['MESSAGE_REACTION_ADD', 'MESSAGE_REACTION_REMOVE', 'MESSAGE_REACTION_REMOVE_ALL'],
      ...['MESSAGE_REACTION_REMOVE_EMOJI', 'MESSAGE_POLL_VOTE_ADD', 'MESSAGE_POLL_VOTE_REMOVE'],
    ]),
  );
  for (const session of ['outside', 'powerless', 'blind'])
    expect([session, ofThread(session).map(({ t }) => t)]).toEqual([session, []]);
});
