// Goal: the dispatches of rarer occasions are sent to the sessions that may have them, and to no others: not without the intent, not
// without the permission, and not to people where only applications may have them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OP } from '../../protocol/opcodes.ts';
import { type Caller, callerOf } from '../support/callers.ts';
import { GatewayClient } from '../support/gateway-client.ts';
import { dataUri, pngOf } from '../support/media.ts';
import { startServer, type TestServer } from '../support/server.ts';

type WithId = { readonly id: string };
const DAY_MS = 24 * 3_600_000;

let server: TestServer;
let guild: string;
let bot: Caller;
/** By name: the bot, who may do everything; the same without intents; a bot without permissions; a person. */
let sessions: Record<'bot' | 'deaf' | 'guest' | 'person', GatewayClient>;
let person: Caller;
beforeAll(async () => {
  server = await startServer();
  const { gateway, bot: own } = server.info;
  guild = server.info.guild.id;
  bot = callerOf(server, `Bot ${own.token}`);
  const guest = await server.newBot('Guest');
  const made = await joined('reed.rare');
  person = callerOf(server, made.token);
  sessions = {
    bot: await GatewayClient.ready(gateway, { token: own.token }),
    deaf: await GatewayClient.ready(gateway, { token: own.token, intents: 0 }),
    guest: await GatewayClient.ready(gateway, { token: guest.token }),
    person: await GatewayClient.ready(gateway, { token: made.token }),
  };
});
afterAll(async () => {
  for (const session of Object.values(sessions ?? {})) await session.close();
  await server?.finish();
});

/** A new person who is a member of the guild. */
async function joined(username: string) {
  const { user, token } = await server.admin<{ user: WithId; token: string }>('/users', { username });
  await server.admin(`/guilds/${guild}/members`, { user_id: user.id });
  return { id: user.id, token };
}

/** Dispatches that each session receives during `happen`; only the given names. */
async function heardBy(names: readonly string[], happen: () => Promise<unknown>) {
  const all = Object.entries(sessions);
  for (const [, session] of all) await session.settled(guild);
  const before = all.map(([, session]) => session.names.length);
  await happen();
  for (const [, session] of all) await session.settled(guild);
  const heard = all.map(([name, session], index) => {
    const since = new Set(session.names.slice(before[index]));
    return [name, names.filter((each) => since.has(each))] as const;
  });
  return Object.fromEntries(heard.filter(([, some]) => some.length > 0));
}

test('only members who manage the guild receive AUTO_MODERATION_ACTION_EXECUTION', async () => {
  const rule = await bot<WithId>(`POST /guilds/${guild}/auto-moderation/rules`, {
    ...{ name: 'Words', event_type: 1, trigger_type: 1, enabled: true, actions: [{ type: 1 }] },
    trigger_metadata: { keyword_filter: ['capsize'] },
  });
  const path = `POST /channels/${server.info.guild.text_channel_id}/messages`;
  const heard = await heardBy(['AUTO_MODERATION_ACTION_EXECUTION', 'MESSAGE_CREATE'], () =>
    expect(person(path, { content: 'We capsize' })).rejects.toThrow('200000'),
  );
  expect(heard).toEqual({ bot: ['AUTO_MODERATION_ACTION_EXECUTION'] });
  await bot(`DELETE /guilds/${guild}/auto-moderation/rules/${rule.id}`);
});

test('sessions with the intent receive a poll vote and its removal', async () => {
  const channel = server.info.guild.text_channel_id;
  const poll = { question: { text: 'Row?' }, answers: [{ poll_media: { text: 'Yes' } }], duration: 1 };
  const { id } = await bot<WithId>(`POST /channels/${channel}/messages`, { poll });
  const votes = ['MESSAGE_POLL_VOTE_ADD', 'MESSAGE_POLL_VOTE_REMOVE'];
  const mine = `PUT /channels/${channel}/polls/${id}/answers/@me`;
  const heard = await heardBy(votes, async () => {
    await person(mine, { answer_ids: ['1'] });
    await person(mine, { answer_ids: [] });
  });
  expect(heard).toEqual({ bot: votes, guest: votes, person: votes });
});

test('sessions with the intent receive event followers, and exceptions that a new rule deletes', async () => {
  const start = new Date(Date.now() + DAY_MS);
  const day = (start.getUTCDay() + 6) % 7;
  const rule = { start: start.toISOString(), frequency: 2, interval: 1, by_weekday: [day] };
  const event = await bot<WithId>(`POST /guilds/${guild}/scheduled-events`, {
    ...{ name: 'Regatta', privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Lake' } },
    ...{ scheduled_start_time: start, scheduled_end_time: new Date(start.getTime() + 3_600_000) },
    recurrence_rule: rule,
  });
  const path = `/guilds/${guild}/scheduled-events/${event.id}`;
  await bot(`POST ${path}/exceptions`, {
    ...{ original_scheduled_start_time: new Date(start.getTime() + 7 * DAY_MS), is_canceled: true },
  });
  const names = [
    'GUILD_SCHEDULED_EVENT_USER_ADD',
    'GUILD_SCHEDULED_EVENT_USER_REMOVE',
    'GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE',
  ];
  const heard = await heardBy(names, async () => {
    await person(`PUT ${path}/users/@me`, {});
    await person(`DELETE ${path}/users/@me`);
    await bot(`PATCH ${path}`, { recurrence_rule: null });
  });
  expect(heard).toEqual({ bot: names, guest: names, person: names });
});

test('only members who may decide receive a join request and its withdrawal', async () => {
  const path = `/guilds/${guild}`;
  const form = await bot<{ version: string }>(`PATCH ${path}/member-verification`, {
    ...{ enabled: true, description: 'Quiet' },
    form_fields: [{ field_type: 'PARAGRAPH', label: 'Why?', required: true }],
  });
  const made = await joined('sedge.rare');
  const applicant = callerOf(server, made.token);
  const answers = { version: form.version, form_fields: [{ response: 'To row' }] };
  const names = ['GUILD_JOIN_REQUEST_UPDATE', 'GUILD_JOIN_REQUEST_DELETE'];
  const heard = await heardBy(names, async () => {
    await applicant(`PUT ${path}/requests/@me`, answers);
    await applicant(`DELETE /users/@me/guilds/${guild}`);
  });
  expect(heard).toEqual({ bot: names });
  await bot(`PATCH ${path}/member-verification`, { enabled: false });
});

test('sessions with the intents receive changes of stickers and integrations', async () => {
  const form = new FormData();
  for (const [key, value] of Object.entries({ name: 'wave', tags: 'wave', description: '' }))
    form.set(key, value);
  form.set('file', new Blob([new Uint8Array(pngOf(320, 320))], { type: 'image/png' }), 'wave.png');
  const names = ['GUILD_STICKERS_UPDATE', 'INTEGRATION_CREATE', 'GUILD_INTEGRATIONS_UPDATE'];
  const heard = await heardBy(names, async () => {
    const reply = await fetch(`${server.info.api}/v10/guilds/${guild}/stickers`, {
      ...{ method: 'POST', body: form, headers: { authorization: `Bot ${server.info.bot.token}` } },
    });
    expect(reply.status).toBe(201);
    await server.newBot('Newcomer');
    // The answer does not wait for it.
    await sessions.bot.dispatch('INTEGRATION_CREATE', ({ name }) => name === 'Newcomer');
  });
  expect(heard).toEqual({ bot: names, guest: names, person: names });
});

test('a session receives the sounds it requests, whatever its intents', async () => {
  const heard = await heardBy(['SOUNDBOARD_SOUNDS'], async () => {
    sessions.deaf.send(OP.REQUEST_SOUNDBOARD_SOUNDS, { guild_ids: [guild] });
    await sessions.deaf.dispatch('SOUNDBOARD_SOUNDS', (d) => d.guild_id === guild);
  });
  expect(heard).toEqual({ deaf: ['SOUNDBOARD_SOUNDS'] });
});

test('every session of a user receives USER_UPDATE, whatever its intents', async () => {
  const heard = await heardBy(['USER_UPDATE'], () =>
    bot('PATCH /users/@me', { avatar: dataUri(pngOf(32, 32)) }),
  );
  expect(heard).toEqual({ bot: ['USER_UPDATE'], deaf: ['USER_UPDATE'] });
});
