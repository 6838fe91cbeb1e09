import { dataUri, oggOf, pngOf } from './media.ts';

/** Input of an operation. */
export interface Given {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly files?: readonly object[];
}

/** A guild, and its owner who makes what an operation is tried on. */
export interface Scene {
  readonly guild: string;
  /** The member whose permissions the rows change. */
  readonly bot: string;
  readonly owner: string;
  /** A member without a role. */
  readonly member: string;
  /** A role below that of the bot. */
  readonly role: string;
  readonly text: string;
  readonly voice: string;
  readonly stage: string;
  readonly forum: string;
  readonly news: string;
  /** Calls an operation, as the owner unless another user is named. @returns the id or the code of what it made. */
  make(operationId: string, given: Given, as?: string): Promise<string>;
  newMember(): Promise<string>;
  /** Adds the bot of another application. @returns the id of its integration. */
  newIntegration(): Promise<string>;
  /** Ids, or codes, of what an operation lists for the owner. */
  listed(operationId: string, given: Given): Promise<readonly string[]>;
}

/**
 * `needs` names the bits that a caller must hold together (`A+B`), or of which one is enough (`A|B`), as the platform's
 * pages say. `given` makes the target; it runs again for each successful call.
 */
export interface Row {
  readonly id: string;
  readonly needs: string;
  readonly given: (scene: Scene) => Given | Promise<Given>;
  /** The code of the answer to callers who may: what is asked for has no target here. */
  readonly yes?: number;
  /** The code of the answer to callers who may not, where it is not 50013. */
  readonly no?: number;
}

const row = (id: string, needs: string, given: Row['given'], codes: Pick<Row, 'yes' | 'no'> = {}): Row => ({
  ...{ id, needs, given },
  ...codes,
});

const IMAGE = dataUri(pngOf(8, 8));
const SOUND = dataUri(oggOf(1), 'audio/ogg');
const START_MS = Date.parse('2026-11-03T00:00:00Z');
const inSeconds = (seconds: number) => new Date(START_MS + seconds * 1_000).toISOString();
let made = 0;
const name = () => `made-${made++}`;

type Params = Readonly<Record<string, string>>;
const guild = ({ guild: guild_id }: Scene, params: Params = {}, body: unknown = {}): Given => ({
  ...{ params: { guild_id, ...params }, body },
});
const channel = (channel_id: string, params: Params = {}, body: unknown = {}): Given => ({
  ...{ params: { channel_id, ...params }, body },
});

/** Deletes what a guild has few places for. */
async function cleared(scene: Scene, kind: 'sticker' | 'soundboard_sound', key: string): Promise<void> {
  for (const id of await scene.listed(`list_guild_${kind}s`, guild(scene)))
    await scene.make(`delete_guild_${kind}`, guild(scene, { [key]: id }));
}

const makes = {
  channel: (scene: Scene, type: number) =>
    scene.make('create_guild_channel', guild(scene, {}, { name: name(), type })),
  role: async (scene: Scene) => {
    const id = await scene.make('create_guild_role', guild(scene, {}, { name: name(), permissions: '0' }));
    await scene.make('bulk_update_guild_roles', guild(scene, {}, [{ id, position: 1 }]));
    return id;
  },
  message: (scene: Scene, channelId: string, as?: string) =>
    scene.make('create_message', channel(channelId, {}, { content: 'hello' }), as),
  thread: (scene: Scene, type = 11) =>
    scene.make('create_thread', channel(scene.text, {}, { name: name(), type })),
  emoji: async (scene: Scene, as?: string) => ({
    emoji_id: await scene.make('create_guild_emoji', guild(scene, {}, { name: 'smile', image: IMAGE }), as),
  }),
  sound: async (scene: Scene, as?: string) => {
    await cleared(scene, 'soundboard_sound', 'sound_id');
    const of = guild(scene, {}, { name: 'ping', sound: SOUND });
    return { sound_id: await scene.make('create_guild_soundboard_sound', of, as) };
  },
  sticker: async (scene: Scene, as?: string) => {
    await cleared(scene, 'sticker', 'sticker_id');
    return { sticker_id: await scene.make('create_guild_sticker', aSticker(scene), as) };
  },
  event: async (scene: Scene, more: object = {}, as?: string) => ({
    guild_scheduled_event_id: await scene.make(
      'create_guild_scheduled_event',
      guild(scene, {}, event(more)),
      as,
    ),
  }),
  exception: async (scene: Scene, as?: string) => {
    const of = await makes.event(scene, DAILY, as);
    const id = await scene.make('create_guild_scheduled_event_exception', guild(scene, of, EXCEPTION), as);
    return { ...of, exception_id: id };
  },
  /** A guild has six at most. */
  rule: async (scene: Scene) => {
    const [known] = await scene.listed('list_auto_moderation_rules', guild(scene));
    return {
      rule_id: known ?? (await scene.make('create_auto_moderation_rule', guild(scene, {}, rule()))),
    };
  },
  invite: async (scene: Scene) => ({
    code: await scene.make('create_channel_invite', {
      ...channel(scene.text, {}, { unique: true }),
      files: [users(scene.member)],
    }),
  }),
  webhook: async (scene: Scene) => ({
    webhook_id: await scene.make('create_webhook', channel(scene.text, {}, { name: name() })),
  }),
  template: async (scene: Scene) => {
    const [known] = await scene.listed('list_guild_templates', guild(scene));
    return { code: known ?? (await scene.make('create_guild_template', guild(scene, {}, { name: name() }))) };
  },
  reaction: async (scene: Scene) => {
    const target = { message_id: await makes.message(scene, scene.text), emoji_name: '👍' };
    await scene.make('add_my_message_reaction', channel(scene.text, target));
    return target;
  },
  pin: async (scene: Scene) => {
    const target = { message_id: await makes.message(scene, scene.text) };
    await scene.make('create_pin', channel(scene.text, target));
    return target;
  },
  ban: async (scene: Scene) => {
    const target = { user_id: await scene.newMember() };
    await scene.make('ban_user_from_guild', guild(scene, target));
    return target;
  },
  stage: async (scene: Scene) => {
    const id = await makes.channel(scene, 13);
    await scene.make('create_stage_instance', { body: { channel_id: id, topic: 'Talk' } });
    return id;
  },
};

const aSticker = (scene: Scene): Given => ({
  ...guild(scene, {}, { name: 'wave', tags: 'wave', description: '' }),
  files: [{ field: 'file', filename: 'wave.png', contentType: 'image/png', bytes: pngOf(320, 320) }],
});
const users = (userId: string) => ({
  ...{ field: 'target_users_file', filename: 'users.csv', contentType: 'text/csv' },
  bytes: Buffer.from(`user_id\n${userId}\n`),
});
const event = (more: object = {}) => ({
  ...{ name: name(), privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Harbour' } },
  ...{ scheduled_start_time: inSeconds(3_600), scheduled_end_time: inSeconds(7_200), ...more },
});
const DAILY = {
  recurrence_rule: { start: inSeconds(3_600), frequency: 3, interval: 1, by_weekday: [0, 1, 2, 3, 4] },
};
const EXCEPTION = { original_scheduled_start_time: inSeconds(3_600), is_canceled: true };
const rule = (actions: readonly object[] = [{ type: 1 }]) => ({
  ...{ name: name(), event_type: 1, trigger_type: 1, actions, enabled: false },
  trigger_metadata: { keyword_filter: [name()] },
});

const onMessage = async (scene: Scene, body: unknown = {}, as?: string) =>
  channel(scene.text, { message_id: await makes.message(scene, scene.text, as) }, body);
const onMember = async (scene: Scene, body: unknown = {}) =>
  guild(scene, { user_id: await scene.newMember() }, body);

const conversations: readonly Row[] = [
  row('update_channel', 'MANAGE_CHANNELS', ({ text }) => channel(text, {}, { topic: name() })),
  row('delete_channel', 'MANAGE_CHANNELS', async (scene) => channel(await makes.channel(scene, 0))),
  row('create_guild_channel', 'MANAGE_CHANNELS', (scene) => guild(scene, {}, { name: name(), type: 0 })),
  row('bulk_update_guild_channels', 'MANAGE_CHANNELS', (scene) =>
    guild(scene, {}, [{ id: scene.text, position: 3 }]),
  ),
  row('set_channel_permission_overwrite', 'MANAGE_ROLES', ({ text, role }) =>
    channel(text, { overwrite_id: role }, { type: 0, allow: '0', deny: '0' }),
  ),
  row('delete_channel_permission_overwrite', 'MANAGE_ROLES', async (scene) => {
    const params = { overwrite_id: await makes.role(scene) };
    const body = { type: 0, allow: '0', deny: '0' };
    await scene.make('set_channel_permission_overwrite', channel(scene.text, params, body));
    return channel(scene.text, params);
  }),
  row('update_voice_channel_status', 'SET_VOICE_CHANNEL_STATUS+MANAGE_CHANNELS', ({ voice }) =>
    channel(voice, {}, { status: name() }),
  ),
  row('send_soundboard_sound', 'SPEAK+USE_SOUNDBOARD', ({ voice }) => channel(voice, {}, { sound_id: '1' }), {
    yes: 10_065,
  }),
  row('trigger_typing_indicator', 'SEND_MESSAGES', ({ text }) => channel(text)),
  row('create_message', 'SEND_MESSAGES', ({ text }) => channel(text, {}, { content: 'hello' })),
  row('create_message', 'SEND_MESSAGES_IN_THREADS', async (scene) =>
    channel(await makes.thread(scene), {}, { content: 'hello' }),
  ),
  row('create_message', 'SEND_MESSAGES+SEND_POLLS', ({ text }) =>
    channel(text, {}, { poll: { question: { text: '?' }, answers: [{ poll_media: { text: 'yes' } }] } }),
  ),
  row('create_message', 'SEND_MESSAGES+ATTACH_FILES', ({ text }) => ({
    ...channel(text, {}, { content: '' }),
    files: [{ field: 'files[0]', filename: 'a.txt', contentType: 'text/plain', bytes: Buffer.from('a') }],
  })),
  row('get_message', 'READ_MESSAGE_HISTORY', (scene) => onMessage(scene)),
  row('update_message', 'MANAGE_MESSAGES', (scene) => onMessage(scene, { flags: 4 }), { no: 50_005 }),
  row('delete_message', 'MANAGE_MESSAGES', (scene) => onMessage(scene)),
  row('bulk_delete_messages', 'MANAGE_MESSAGES', async (scene) => {
    const messages = [await makes.message(scene, scene.text), await makes.message(scene, scene.text)];
    return channel(scene.text, {}, { messages });
  }),
  row('crosspost_message', 'SEND_MESSAGES', async (scene) =>
    channel(scene.news, { message_id: await makes.message(scene, scene.news, scene.bot) }),
  ),
  row('crosspost_message', 'SEND_MESSAGES+MANAGE_MESSAGES', async (scene) =>
    channel(scene.news, { message_id: await makes.message(scene, scene.news) }),
  ),
  row('follow_channel', 'MANAGE_WEBHOOKS', ({ news, text }) =>
    channel(news, {}, { webhook_channel_id: text }),
  ),
  row('create_pin', 'PIN_MESSAGES', (scene) => onMessage(scene)),
  row('delete_pin', 'PIN_MESSAGES', async (scene) => channel(scene.text, await makes.pin(scene))),
  row('deprecated_create_pin', 'PIN_MESSAGES', (scene) => onMessage(scene)),
  row('deprecated_delete_pin', 'PIN_MESSAGES', async (scene) => channel(scene.text, await makes.pin(scene))),
  row('add_my_message_reaction', 'READ_MESSAGE_HISTORY+ADD_REACTIONS', async (scene) =>
    channel(scene.text, { message_id: await makes.message(scene, scene.text), emoji_name: '👍' }),
  ),
  row('add_my_message_reaction', 'READ_MESSAGE_HISTORY', async (scene) =>
    channel(scene.text, await makes.reaction(scene)),
  ),
  row('list_message_reactions_by_emoji', 'READ_MESSAGE_HISTORY', async (scene) =>
    channel(scene.text, await makes.reaction(scene)),
  ),
  row('delete_all_message_reactions', 'MANAGE_MESSAGES', (scene) => onMessage(scene)),
  row('delete_all_message_reactions_by_emoji', 'MANAGE_MESSAGES', async (scene) =>
    channel(scene.text, await makes.reaction(scene)),
  ),
  row('delete_user_message_reaction', 'MANAGE_MESSAGES', async (scene) =>
    channel(scene.text, { ...(await makes.reaction(scene)), user_id: scene.owner }),
  ),
];

const threads: readonly Row[] = [
  row('create_thread', 'CREATE_PUBLIC_THREADS', ({ text }) => channel(text, {}, { name: 'Talk', type: 11 })),
  row('create_thread', 'CREATE_PRIVATE_THREADS', ({ text }) => channel(text, {}, { name: 'Talk', type: 12 })),
  row('create_thread', 'CREATE_PUBLIC_THREADS', ({ news }) => channel(news, {}, { name: 'Talk', type: 10 })),
  row('create_thread', 'SEND_MESSAGES', ({ forum }) =>
    channel(forum, {}, { name: 'Why?', message: { content: 'hello' } }),
  ),
  row('create_thread_from_message', 'CREATE_PUBLIC_THREADS', (scene) => onMessage(scene, { name: 'Talk' })),
  row('add_thread_member', 'SEND_MESSAGES_IN_THREADS', async (scene) =>
    channel(await makes.thread(scene), { user_id: scene.bot }),
  ),
  row('delete_thread_member', 'MANAGE_THREADS', async (scene) =>
    channel(await makes.thread(scene), { user_id: scene.owner }),
  ),
  row('list_private_archived_threads', 'READ_MESSAGE_HISTORY+MANAGE_THREADS', ({ text }) => channel(text)),
  row('list_public_archived_threads', 'READ_MESSAGE_HISTORY', ({ text }) => channel(text)),
  row('list_my_private_archived_threads', 'READ_MESSAGE_HISTORY', ({ text }) => channel(text)),
  row('thread_search', 'READ_MESSAGE_HISTORY', ({ forum }) => channel(forum)),
  row('update_channel', 'MANAGE_THREADS', async (scene) =>
    channel(await makes.thread(scene), {}, { name: name() }),
  ),
  row('update_channel', 'SEND_MESSAGES_IN_THREADS|MANAGE_THREADS', async (scene) => {
    const id = await makes.thread(scene);
    await scene.make('update_channel', channel(id, {}, { archived: true }));
    return channel(id, {}, { archived: false });
  }),
  row('delete_channel', 'MANAGE_THREADS', async (scene) => channel(await makes.thread(scene))),
  row('get_answer_voters', 'READ_MESSAGE_HISTORY', async (scene) => {
    const poll = { question: { text: '?' }, answers: [{ poll_media: { text: 'yes' } }] };
    const message_id = await scene.make('create_message', channel(scene.text, {}, { poll }));
    return channel(scene.text, { message_id, answer_id: '1' });
  }),
];

const order: readonly Row[] = [
  row('list_guild_audit_log_entries', 'VIEW_AUDIT_LOG', (scene) => guild(scene)),
  row('list_auto_moderation_rules', 'MANAGE_GUILD', (scene) => guild(scene)),
  row('create_auto_moderation_rule', 'MANAGE_GUILD', (scene) => guild(scene, {}, rule())),
  row('create_auto_moderation_rule', 'MANAGE_GUILD+MODERATE_MEMBERS', (scene) =>
    guild(scene, {}, rule([{ type: 3, metadata: { duration_seconds: 60 } }])),
  ),
  row('get_auto_moderation_rule', 'MANAGE_GUILD', async (scene) => guild(scene, await makes.rule(scene))),
  row('update_auto_moderation_rule', 'MANAGE_GUILD', async (scene) =>
    guild(scene, await makes.rule(scene), { name: name() }),
  ),
  row('delete_auto_moderation_rule', 'MANAGE_GUILD', async (scene) => guild(scene, await makes.rule(scene))),
  row('list_guild_bans', 'BAN_MEMBERS', (scene) => guild(scene)),
  row('get_guild_ban', 'BAN_MEMBERS', async (scene) => guild(scene, await makes.ban(scene))),
  row('ban_user_from_guild', 'BAN_MEMBERS', (scene) => onMember(scene)),
  row('unban_user_from_guild', 'BAN_MEMBERS', async (scene) => guild(scene, await makes.ban(scene))),
  row('bulk_ban_users_from_guild', 'BAN_MEMBERS+MANAGE_GUILD', async (scene) =>
    guild(scene, {}, { user_ids: [await scene.newMember()] }),
  ),
  row('delete_guild_member', 'KICK_MEMBERS', (scene) => onMember(scene)),
  row('preview_prune_guild', 'MANAGE_GUILD+KICK_MEMBERS', (scene) => guild(scene)),
  row('prune_guild', 'MANAGE_GUILD+KICK_MEMBERS', (scene) => guild(scene, {}, { days: 30 })),
  row('update_guild_incident_actions', 'MANAGE_GUILD', (scene) =>
    guild(scene, {}, { dms_disabled_until: null }),
  ),
  row('get_guild_join_requests', 'KICK_MEMBERS', (scene) => guild(scene)),
  row(
    'action_guild_join_request',
    'KICK_MEMBERS',
    (scene) => guild(scene, { request_id: scene.text }, { action: 'APPROVED' }),
    { yes: 404 },
  ),
  row('update_guild_member_verification', 'MANAGE_GUILD', (scene) => guild(scene, {}, { enabled: false })),
  row('update_guild_member', 'MANAGE_NICKNAMES', (scene) => onMember(scene, { nick: 'Nick' })),
  row('update_guild_member', 'MANAGE_ROLES', (scene) => onMember(scene, { roles: [scene.role] })),
  row('update_guild_member', 'MODERATE_MEMBERS', (scene) =>
    onMember(scene, { communication_disabled_until: inSeconds(60) }),
  ),
  row('update_guild_member', 'MUTE_MEMBERS', (scene) => onMember(scene, { mute: true }), { yes: 40_032 }),
  row('update_guild_member', 'DEAFEN_MEMBERS', (scene) => onMember(scene, { deaf: true }), { yes: 40_032 }),
  row('update_guild_member', 'MOVE_MEMBERS', (scene) => onMember(scene, { channel_id: scene.voice }), {
    yes: 40_032,
  }),
  row('update_my_guild_member', 'CHANGE_NICKNAME|MANAGE_NICKNAMES', (scene) =>
    guild(scene, {}, { nick: name() }),
  ),
  row('update_my_guild_nick', 'CHANGE_NICKNAME|MANAGE_NICKNAMES', (scene) =>
    guild(scene, {}, { nick: name() }),
  ),
  row('add_guild_member_role', 'MANAGE_ROLES', async (scene) =>
    guild(scene, { user_id: await scene.newMember(), role_id: scene.role }),
  ),
  row('delete_guild_member_role', 'MANAGE_ROLES', async (scene) =>
    guild(scene, { user_id: await scene.newMember(), role_id: scene.role }),
  ),
  row('create_guild_role', 'MANAGE_ROLES', (scene) => guild(scene, {}, { name: name(), permissions: '0' })),
  row('update_guild_role', 'MANAGE_ROLES', (scene) =>
    guild(scene, { role_id: scene.role }, { name: name() }),
  ),
  row('bulk_update_guild_roles', 'MANAGE_ROLES', (scene) =>
    guild(scene, {}, [{ id: scene.role, position: 1 }]),
  ),
  row('delete_guild_role', 'MANAGE_ROLES', async (scene) =>
    guild(scene, { role_id: await makes.role(scene) }),
  ),
];

const expression = 'CREATE_GUILD_EXPRESSIONS|MANAGE_GUILD_EXPRESSIONS';
const things: readonly Row[] = [
  row('create_guild_emoji', 'CREATE_GUILD_EXPRESSIONS', (scene) =>
    guild(scene, {}, { name: 'smile', image: IMAGE }),
  ),
  row('create_guild_soundboard_sound', 'CREATE_GUILD_EXPRESSIONS', (scene) =>
    guild(scene, {}, { name: 'ping', sound: SOUND }),
  ),
  row('create_guild_sticker', 'CREATE_GUILD_EXPRESSIONS', aSticker),
  ...(['emoji', 'sound', 'sticker'] as const).flatMap((kind) => {
    const end = kind === 'sound' ? 'guild_soundboard_sound' : `guild_${kind}`;
    return (['update', 'delete'] as const).flatMap((verb) => [
      row(`${verb}_${end}`, 'MANAGE_GUILD_EXPRESSIONS', async (scene) =>
        guild(scene, await makes[kind](scene), { name: 'other' }),
      ),
      row(`${verb}_${end}`, expression, async (scene) =>
        guild(scene, await makes[kind](scene, scene.bot), { name: 'other' }),
      ),
    ]);
  }),
  row('create_guild_scheduled_event', 'CREATE_EVENTS', (scene) => guild(scene, {}, event())),
  row('create_guild_scheduled_event', `CREATE_EVENTS+MANAGE_CHANNELS+MUTE_MEMBERS+MOVE_MEMBERS`, (scene) =>
    guild(scene, {}, event({ entity_type: 1, channel_id: scene.stage, entity_metadata: null })),
  ),
  ...(['update', 'delete'] as const).flatMap((verb) => [
    row(`${verb}_guild_scheduled_event`, 'MANAGE_EVENTS', async (scene) =>
      guild(scene, await makes.event(scene), { name: name() }),
    ),
    row(`${verb}_guild_scheduled_event`, 'CREATE_EVENTS|MANAGE_EVENTS', async (scene) =>
      guild(scene, await makes.event(scene, {}, scene.bot), { name: name() }),
    ),
    row(`${verb}_guild_scheduled_event_exception`, 'MANAGE_EVENTS', async (scene) =>
      guild(scene, await makes.exception(scene), { is_canceled: false }),
    ),
  ]),
  row('create_guild_scheduled_event_exception', 'MANAGE_EVENTS', async (scene) =>
    guild(scene, await makes.event(scene, DAILY), EXCEPTION),
  ),
  row('create_stage_instance', 'MANAGE_CHANNELS+MUTE_MEMBERS+MOVE_MEMBERS', async (scene) => ({
    body: { channel_id: await makes.channel(scene, 13), topic: 'Talk' },
  })),
  row('update_stage_instance', 'MANAGE_CHANNELS+MUTE_MEMBERS+MOVE_MEMBERS', async (scene) =>
    channel(await makes.stage(scene), {}, { topic: name() }),
  ),
  row('delete_stage_instance', 'MANAGE_CHANNELS+MUTE_MEMBERS+MOVE_MEMBERS', async (scene) =>
    channel(await makes.stage(scene)),
  ),
];

const community: readonly Row[] = [
  row('update_guild', 'MANAGE_GUILD', (scene) => guild(scene, {}, { name: name() })),
  row('update_guild_profile', 'MANAGE_GUILD', (scene) => guild(scene, {}, { tag: 'TAG' })),
  row('create_guild_template', 'MANAGE_GUILD', (scene) => guild(scene, {}, { name: name() })),
  row('list_guild_templates', 'MANAGE_GUILD', (scene) => guild(scene)),
  row('sync_guild_template', 'MANAGE_GUILD', async (scene) => guild(scene, await makes.template(scene))),
  row('update_guild_template', 'MANAGE_GUILD', async (scene) =>
    guild(scene, await makes.template(scene), { name: name() }),
  ),
  row('delete_guild_template', 'MANAGE_GUILD', async (scene) => guild(scene, await makes.template(scene))),
  row('get_guild_welcome_screen', 'MANAGE_GUILD', (scene) => guild(scene), { yes: 10_069 }),
  row('update_guild_welcome_screen', 'MANAGE_GUILD', (scene) => guild(scene, {}, { description: name() })),
  row('put_guilds_onboarding', 'MANAGE_GUILD+MANAGE_ROLES', (scene) => guild(scene, {}, { enabled: false })),
  row('update_guild_new_member_welcome', 'MANAGE_GUILD', (scene) => guild(scene, {}, { enabled: false })),
  row('get_guild_widget_settings', 'MANAGE_GUILD', (scene) => guild(scene)),
  row('update_guild_widget_settings', 'MANAGE_GUILD', (scene) => guild(scene, {}, { enabled: false })),
  row('get_guild_vanity_url', 'MANAGE_GUILD', (scene) => guild(scene)),
  row('set_guild_vanity_url', 'MANAGE_GUILD', (scene) => guild(scene, {}, { code: 'harbour-town' })),
  row('list_guild_integrations', 'MANAGE_GUILD', (scene) => guild(scene)),
  row('delete_guild_integration', 'MANAGE_GUILD', async (scene) =>
    guild(scene, { integration_id: await scene.newIntegration() }),
  ),
  row('create_channel_invite', 'CREATE_INSTANT_INVITE', ({ text }) => channel(text)),
  row('create_channel_invite', 'CREATE_INSTANT_INVITE+MANAGE_ROLES', ({ text, role }) =>
    channel(text, {}, { role_ids: [role] }),
  ),
  row('list_channel_invites', 'MANAGE_CHANNELS', ({ text }) => channel(text)),
  row('list_guild_invites', 'MANAGE_GUILD|VIEW_AUDIT_LOG', (scene) => guild(scene)),
  row('invite_revoke', 'MANAGE_CHANNELS|MANAGE_GUILD', async (scene) => ({
    params: await makes.invite(scene),
  })),
  row('get_invite_target_users', 'MANAGE_GUILD|VIEW_AUDIT_LOG', async (scene) => ({
    params: await makes.invite(scene),
  })),
  row('get_invite_target_users_job_status', 'MANAGE_GUILD|VIEW_AUDIT_LOG', async (scene) => ({
    params: await makes.invite(scene),
  })),
  row('update_invite_target_users', 'MANAGE_GUILD', async (scene) => ({
    ...{ params: await makes.invite(scene), files: [users(scene.member)], body: {} },
  })),
  row('create_webhook', 'MANAGE_WEBHOOKS', ({ text }) => channel(text, {}, { name: name() })),
  row('list_channel_webhooks', 'MANAGE_WEBHOOKS', ({ text }) => channel(text)),
  row('get_guild_webhooks', 'MANAGE_WEBHOOKS', (scene) => guild(scene)),
  row('get_webhook', 'MANAGE_WEBHOOKS', async (scene) => ({ params: await makes.webhook(scene) })),
  row('update_webhook', 'MANAGE_WEBHOOKS', async (scene) => ({
    ...{ params: await makes.webhook(scene), body: { name: name() } },
  })),
  row('delete_webhook', 'MANAGE_WEBHOOKS', async (scene) => ({ params: await makes.webhook(scene) })),
];

/** Operations on a guild that need a permission beyond seeing their channel. */
export const PERMISSION_ROWS = { conversations, threads, order, things, community };

/** Operations for everyone who sees the guild and the channel; some answer only for the caller's own things. */
export const OPEN_TO_MEMBERS: readonly string[] = [
  ...['get_guild', 'get_guild_preview', 'get_guild_profile', 'get_guilds_onboarding', 'leave_guild'],
  ...[
    'get_guild_new_member_welcome',
    'get_guild_member_verification',
    'list_my_guilds',
    'get_my_guild_member',
  ],
  ...['get_my_guild_join_request', 'submit_guild_join_request', 'list_guild_voice_regions'],
  ...['submit_guild_onboarding_responses', 'update_guild_onboarding_responses'],
  // For owners alone.
  ...['delete_guild', 'set_guild_mfa_level'],
  // For anyone.
  ...['get_guild_widget', 'get_guild_widget_png', 'invite_resolve', 'accept_invite'],
  // The whole list asks for an intent instead.
  ...['list_guild_members', 'search_guild_members', 'get_guild_member'],
  ...['list_guild_roles', 'get_guild_role', 'guild_role_member_counts'],
  ...['list_guild_channels', 'get_channel', 'get_active_guild_threads', 'get_stage_instance'],
  ...['list_guild_emojis', 'get_guild_emoji', 'list_guild_stickers', 'get_guild_sticker'],
  ...['list_guild_soundboard_sounds', 'get_guild_soundboard_sound'],
  // Without the history they are empty.
  ...['list_messages', 'list_pins', 'deprecated_list_pins', 'guild_search'],
  ...['join_thread', 'post_join_thread', 'leave_thread', 'get_thread_member', 'list_thread_members'],
  ...['delete_my_message_reaction', 'poll_expire'],
  ...['list_guild_scheduled_events', 'get_guild_scheduled_event', 'list_guild_scheduled_event_users'],
  ...['list_guild_scheduled_event_exception_users', 'count_guild_scheduled_event_users'],
  ...['subscribe_guild_scheduled_event', 'unsubscribe_guild_scheduled_event'],
  ...['subscribe_guild_scheduled_event_exception', 'unsubscribe_guild_scheduled_event_exception'],
  // It asks for an access token first: test/e2e/oauth2.test.ts.
  'add_guild_member',
  // Operations of groups and lobbies.
  ...['add_group_dm_user', 'delete_group_dm_user', 'ring_call', 'stop_ringing_call'],
  ...['unlink_channel_from_lobby', 'get_channel_activities', 'join_activity', 'leave_activity'],
  // For people alone, as test/engine/guild/polls.test.ts says.
  ...['vote_poll', 'unvote_poll'],
  ...['get_guild_application_command_index', 'get_channel_application_command_index'],
  // They depend on who is in voice: test/engine/guild/voice.test.ts and voice.stage.test.ts.
  ...['get_voice_state', 'get_self_voice_state', 'update_voice_state', 'update_self_voice_state'],
];
