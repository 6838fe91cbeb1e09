import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { createEngine } from '../../main.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Onboarding } from '../../protocol/schemas/guildpages.ts';
import { openMemoryBlobs } from '../../storage/blob/blobs.memory.ts';
import type { Driver } from '../../storage/database/driver.ts';
import { storageOver } from '../../storage/open.ts';

/** An engine over an open database, and its HTTP API as users call it. */
export async function serve(driver: Driver) {
  const config = { log_level: 'silent', listen_port: 0, voice: false, rate_limits: false } as const;
  const engine = await createEngine({ config, storage: storageOver(driver), blobs: openMemoryBlobs() });
  const { api, gateway } = await engine.listen();
  const ask = async (token: string, request: string, body?: object) => {
    const [method = '', path = ''] = request.split(' ');
    const isForm = body instanceof FormData;
    const response = await fetch(`${api}/v10${path}`, {
      method,
      headers: { authorization: token, ...(body && !isForm && { 'content-type': 'application/json' }) },
      ...(body && { body: isForm ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const call = async <T = { readonly id: string }>(
    token: string,
    request: string,
    body?: object,
  ): Promise<T> => {
    const { status, text } = await ask(token, request, body);
    if (status >= 300) expect.fail(`${request} was answered ${status} ${text}`);
    return JSON.parse(text || 'null');
  };
  return { engine, gateway, ask, call };
}
type Served = Awaited<ReturnType<typeof serve>>;

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const IMAGE = `data:image/png;base64,${PIXEL}`;
const CHIME = readFileSync(new URL('tone.vorbis.ogg', import.meta.url)).toString('base64');
const WAVE = encodeURIComponent('👋');
const MONDAY = '2030-01-07T12:00:00Z';
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();

/** Users and a guild of the first. */
async function founded({ engine, call }: Served) {
  const { admin } = engine;
  const owner = await admin.createUser({ username: 'keeper', globalName: 'The Keeper' });
  const ann = await admin.createUser({ username: 'ann' });
  const ben = await admin.createUser({ username: 'ben' });
  const token = `Bearer ${owner.token}`;
  const guild = await admin.createGuild({ name: 'Harbour', ownerId: owner.user.id as UserId });
  const guildId = guild.id as GuildId;
  const ownerId = owner.user.id as UserId;
  const { bot, botToken } = await admin.createApplication({ name: 'Lantern', ownerId });
  for (const { id } of [ann.user, ben.user, bot]) await admin.addMember({ guildId, userId: id as UserId });
  const path = `/guilds/${guild.id}`;
  const make = <T = { readonly id: string }>(request: string, body?: object) => call<T>(token, request, body);
  return { path, guildId: String(guild.id), ann, ben, bot, botToken, make };
}
type Founded = Awaited<ReturnType<typeof founded>>;

/** Roles, channels of every type and threads. */
async function furnished({ path, make, ann, guildId }: Founded) {
  const role = await make(`POST ${path}/roles`, { name: 'Crew', permissions: '8', hoist: true, color: 255 });
  await make(`PATCH ${path}/members/${ann.user.id}`, { nick: 'Annie', roles: [role.id] });
  const overwrites = [{ id: guildId, type: 0, allow: '1024', deny: '8192' }];
  const category = await make(`POST ${path}/channels`, { name: 'Docks', type: 4 });
  const text = await make(`POST ${path}/channels`, {
    ...{ name: 'quay', type: 0, topic: 'ships', parent_id: category.id, permission_overwrites: overwrites },
  });
  await make(`PATCH ${path}`, {
    description: 'A quiet place',
    features: ['COMMUNITY'],
    rules_channel_id: text.id,
    public_updates_channel_id: text.id,
  });
  for (const type of [2, 5, 16]) await make(`POST ${path}/channels`, { name: `room-${type}`, type });
  const shown = [text.id];
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
    shown.push((await make(`POST ${path}/channels`, { name, type: 0 })).id);
  const stage = await make(`POST ${path}/channels`, { name: 'Stage', type: 13 });
  await make('POST /stage-instances', { channel_id: stage.id, topic: 'Opening' });
  const forum = await make<{ id: string; available_tags: { id: string }[] }>(`POST ${path}/channels`, {
    ...{ name: 'forum', type: 15, available_tags: [{ name: 'Repairs', emoji_name: '🔧' }] },
    default_reaction_emoji: { emoji_name: '👋' },
  });
  await make(`POST /channels/${forum.id}/threads`, {
    ...{ name: 'A leak', message: { content: 'help' }, applied_tags: [forum.available_tags[0]!.id] },
  });
  const secret = await make(`POST /channels/${text.id}/threads`, { name: 'Secret', type: 12 });
  await make(`PATCH /channels/${secret.id}`, { archived: true, locked: true });
  return { role, text: text.id, shown, stage };
}
type Furnished = Awaited<ReturnType<typeof furnished>>;

/** Messages with everything that a message has. */
async function written(
  { make, ann, bot, botToken, guildId }: Founded,
  { text, role }: Furnished,
  { call }: Served,
) {
  const annToken = `Bearer ${ann.token}`;
  const send = (body: object, token = annToken) => call(token, `POST /channels/${text}/messages`, body);
  const form = new FormData();
  form.set(
    'payload_json',
    JSON.stringify({ content: `<@${bot.id}> <@&${role.id}> @everyone https://a.example` }),
  );
  form.set('files[0]', new File([Buffer.from(PIXEL, 'base64')], 'A map.png', { type: 'image/png' }));
  const first = await send(form);
  await call(annToken, `PUT /channels/${text}/messages/${first.id}/reactions/${WAVE}/@me`);
  await make(`PUT /channels/${text}/pins/${first.id}`);
  await make(`POST /channels/${text}/messages/${first.id}/threads`, { name: 'About the map' });
  await send({ message_reference: { type: 1, channel_id: text, message_id: first.id } });
  const story = await send({ content: 'a story' });
  await send({ content: 'a reply', message_reference: { message_id: story.id } });
  const answers = ['tea', 'rum'].map((each) => ({ poll_media: { text: each, emoji: { name: '🍵' } } }));
  const poll = await send({ poll: { question: { text: 'Drink?' }, answers, duration: 24 } });
  await call(annToken, `PUT /channels/${text}/polls/${poll.id}/answers/@me`, { answer_ids: ['1'] });
  await send(
    {
      embeds: [
        {
          ...{
            title: 'Tide',
            description: 'high',
            url: 'https://tide.example',
            color: 5,
            timestamp: inDays(0),
          },
          ...{ author: { name: 'Moon' }, footer: { text: 'low' }, fields: [{ name: 'At', value: 'noon' }] },
          image: { url: 'https://tide.example/a.png' },
        },
      ],
      components: [{ type: 1, components: [{ type: 2, style: 1, label: 'Row', custom_id: 'row' }] }],
    },
    `Bot ${botToken}`,
  );
  const hook = await make<{ id: string; token: string }>(`POST /channels/${text}/webhooks`, {
    ...{ name: 'Gull', avatar: IMAGE },
  });
  await call('', `POST /webhooks/${hook.id}/${hook.token}?wait=true`, {
    content: 'kree',
    username: 'Big gull',
    avatar_url: 'https://gull.example/a.png',
  });
  await make(`POST /channels/${text}/invites`, { max_age: 0, unique: true, role_ids: [role.id] });
  return guildId;
}

/** Expressions, events and rules. */
async function equipped({ path, make, ann }: Founded, { text, stage, role }: Furnished, { call }: Served) {
  const emoji = await make(`POST ${path}/emojis`, { name: 'lamp', image: IMAGE, roles: [role.id] });
  await make(`POST ${path}/soundboard-sounds`, {
    ...{ name: 'gong', sound: `data:audio/ogg;base64,${CHIME}`, emoji_name: '🔔' },
  });
  const weekly = { start: MONDAY, frequency: 2, interval: 1, by_weekday: [0] };
  const event = await make(`POST ${path}/scheduled-events`, {
    ...{ name: 'Watch', privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Quay' } },
    ...{ scheduled_start_time: inDays(1), scheduled_end_time: inDays(1.1) },
  });
  const market = await make(`POST ${path}/scheduled-events`, {
    ...{ name: 'Market', privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Quay' } },
    ...{ scheduled_start_time: MONDAY, scheduled_end_time: '2030-01-07T13:00:00Z', recurrence_rule: weekly },
  });
  await make(`POST ${path}/scheduled-events/${market.id}/exceptions`, {
    ...{ original_scheduled_start_time: '2030-01-14T12:00:00Z', is_canceled: true },
  });
  await make(`POST ${path}/scheduled-events`, {
    ...{
      name: 'Talk',
      privacy_level: 2,
      entity_type: 1,
      channel_id: stage.id,
      scheduled_start_time: inDays(2),
    },
  });
  await call(`Bearer ${ann.token}`, `PUT ${path}/scheduled-events/${event.id}/users/@me`, {});
  const rules = `POST ${path}/auto-moderation/rules`;
  await make(rules, {
    ...{
      name: 'words',
      event_type: 1,
      trigger_type: 1,
      actions: [{ type: 1, metadata: { custom_message: 'No.' } }],
    },
    trigger_metadata: { keyword_filter: ['*cat*'], regex_patterns: ['d.g'] },
  });
  await make(rules, {
    ...{ name: 'mentions', event_type: 1, trigger_type: 5, trigger_metadata: { mention_total_limit: 9 } },
    actions: [
      { type: 2, metadata: { channel_id: text } },
      { type: 3, metadata: { duration_seconds: 60 } },
    ],
  });
  return emoji.id;
}

/** Pages, a ban and a join request. */
async function paged(
  { path, make, ben, ann, guildId }: Founded,
  { text, shown, role }: Furnished,
  { call, engine }: Served,
  emojiId: string,
) {
  await make(`PATCH ${path}/welcome-screen`, {
    ...{
      enabled: true,
      description: 'Come in',
      welcome_channels: [{ channel_id: text, description: 'x', emoji_id: emojiId }],
    },
  });
  await make(`PATCH ${path}/profile`, { tag: 'HALL', badge: IMAGE });
  await make(`PUT ${path}/incident-actions`, { invites_disabled_until: inDays(0.5) });
  await make(`POST ${path}/templates`, { name: 'Harbours' });
  await make(`PATCH ${path}/widget`, { enabled: true, channel_id: text });
  await make(`PATCH ${path}/member-verification`, {
    ...{ enabled: true, description: 'Quiet' },
    form_fields: [{ field_type: 'TERMS', label: 'Rules', required: true, values: ['Be kind'] }],
  });
  const options = [{ title: 'Books', role_ids: [role.id], channel_ids: [], emoji: { name: '📖' } }];
  const onboarding = await make<Onboarding>(`PUT ${path}/onboarding`, {
    ...{ default_channel_ids: shown, enabled: true, mode: 0 },
    prompts: [
      { id: '0', type: 0, title: 'Why?', options, single_select: true, required: false, in_onboarding: true },
    ],
  });
  await make(`PUT ${path}/new-member-welcome`, {
    ...{ enabled: true, welcome_message: { author_ids: [ann.user.id], message: 'Ahoy' } },
    new_member_actions: [{ channel_id: text, action_type: 1, title: 'Say hello', emoji: { name: '👋' } }],
    resource_channels: [{ channel_id: text, title: 'Rules', description: 'Read' }],
  });
  await make(`PUT ${path}/bans/${ben.user.id}`, {});
  const option = onboarding.prompts[0]!.options[0]!.id;
  const answered = { onboarding_responses: [option], onboarding_responses_seen: { [option]: 1 } };
  await call(`Bearer ${ann.token}`, `POST ${path}/onboarding-responses`, answered);
  await make(`PUT ${path}/incident-actions`, { invites_disabled_until: null });
  const carl = await engine.admin.createUser({ username: 'carl' });
  const invite = await make<{ readonly code: string }>(`POST /channels/${text}/invites`, { unique: true });
  await call(`Bearer ${carl.token}`, `POST /invites/${invite.code}`, {});
  const form = await make<{ readonly version: string }>(`GET ${path}/member-verification`);
  const filled = { version: form.version, form_fields: [{ response: true }] };
  await call(`Bearer ${carl.token}`, `PUT ${path}/requests/@me`, filled);
  return guildId;
}

/** A guild with rows in most tables, made by its members. */
export async function richGuild(served: Served) {
  const made = await founded(served);
  const rooms = await furnished(made);
  await written(made, rooms, served);
  const emojiId = await equipped(made, rooms, served);
  await paged(made, rooms, served, emojiId);
  return { guildId: made.guildId, annId: String(made.ann.user.id) };
}
