/** Goal: only permitted users edit, delete, pin and publish messages, and all viewers receive the changes. */
import type { APIAttachment } from 'discord-api-types/v10';
import { beforeEach, describe, expect, it } from 'vitest';
import type { EditInput, Written } from '../../../engine/channel/draft.ts';
import { audit } from '../../../engine/guild/audit.ts';
import type { Guild, StoredMessage } from '../../../engine/guild/guild.ts';
import { messages } from '../../../engine/guild/messages.ts';
import { type ChannelId, type MessageId, snowflakeAt } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role, user } from '../../support/guild.ts';
import { edition, messageEnv, placed, storedMessage } from '../../support/messages.ts';
import { caller, fullMember, NOW_MS, runner } from '../../support/people.ts';

const run = runner(messages, audit);
const TALK = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.READ_MESSAGE_HISTORY | P.EMBED_LINKS | P.ATTACH_FILES;
const author = caller('10');
const bot = caller('10', { bot: true });
const moderator = caller('11', { reason: 'tidy' });
const other = caller('12');
const DAY_MS = 86_400_000;

let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone: TALK,
    roles: [role('100', P.MANAGE_MESSAGES, 1)],
    members: [fullMember('10'), fullMember('11', ['100']), fullMember('12')],
    channels: [channel('50'), channel('55', [], { type: 5 })],
  });
});

const place = (more: Partial<StoredMessage> = {}, authorId = '10') =>
  placed(guild, storedMessage('50', authorId, more));
const at = (messageId: MessageId, more: object = {}) => ({
  channelId: '50' as ChannelId,
  messageId,
  ...more,
});
const now = (messageId: MessageId) => guild.messages.get(messageId);

const edit = (id: MessageId, change: EditInput['edit'], by = author, more: Partial<EditInput> = {}) =>
  run<Written>(guild, 'updateMessage', edition(id, change, more), by, messageEnv());

describe('updateMessage', () => {
  it('updates the content, sets edited_timestamp, and dispatches it without text-to-speech', () => {
    const id = place({ tts: true });
    const { dispatches } = edit(id, { content: 'better' });
    expect(now(id)).toMatchObject({
      content: 'better',
      edited_timestamp: '2026-03-01T12:00:00.000000+00:00',
    });
    expect(dispatches).toMatchObject([
      { t: 'MESSAGE_UPDATE', d: { id, content: 'better', tts: false, guild_id: '1', channel_type: 0 } },
    ]);
    expect(dispatches[0]?.d).toHaveProperty('member');
  });

  it('keeps fields that the edit does not name', () => {
    const embeds = [{ type: 'rich', title: 't' }] as StoredMessage['embeds'];
    const id = place({ embeds, mentions: [user('12')] });
    edit(id, { content: 'c' });
    expect(now(id)).toMatchObject({ embeds, mentions: [user('12')] });
    edit(id, { embeds: [] });
    expect(now(id)).toMatchObject({ content: 'c', embeds: [], mentions: [user('12')] });
  });

  it('creates no fact when nothing changes', () => {
    expect(edit(place(), {}).facts).toEqual([]);
    expect(edit(place({ flags: 4 }), { flags: 4 }, moderator).facts).toEqual([]);
  });

  it('allows moderators to suppress embeds only, and other members nothing', () => {
    const id = place();
    expect(edit(id, { flags: 4 }, other).code).toBe(50005);
    expect(edit(id, { flags: 4, content: 'mine' }, moderator).code).toBe(50005);
    expect(edit(id, { flags: 4 }, moderator).code).toBeUndefined();
    expect(now(id)).toMatchObject({ flags: 4, edited_timestamp: null });
    edit(id, { flags: 0 }, moderator);
    expect(now(id)).toMatchObject({ flags: 0 });
  });

  it.each([
    ['an empty message', {}, { content: '' }, 50006],
    ['a system message', { type: 6 }, { content: 'a' }, 50021],
    ['a voice message', { flags: 1 << 13 }, { content: 'a' }, 50162],
    ['a poll', { poll: {} as never }, { content: 'a' }, 520003],
    ['a forward', { message_snapshots: [] }, { content: 'a' }, 50068],
    ['2001 characters', {}, { content: 'a'.repeat(2_001) }, 50035],
  ])('refuses %s', (_, before, change, code) => {
    expect(edit(place(before), change)).toMatchObject({ code, facts: [] });
  });

  it('keeps the stickers of the message', () => {
    const id = place({ sticker_items: [{ id: '7', name: 'wave', format_type: 1 }] });
    const codeFor = (change: EditInput['edit'], by = author) => edit(id, change, by).code;
    expect(codeFor({ content: 'a', sticker_ids: ['7'] })).toBeUndefined();
    expect(codeFor({ content: 'a', sticker_ids: null })).toBeUndefined();
    for (const sticker_ids of [[], ['8'], ['7', '8']])
      expect([sticker_ids, codeFor({ content: 'b', sticker_ids })]).toEqual([sticker_ids, 50_080]);
    expect(codeFor({ flags: 4, sticker_ids: [] }, moderator)).toBe(50_005);
    expect(now(id)).toMatchObject({ content: 'a', sticker_items: [{ id: '7' }] });
  });

  it('rejects an unknown message', () => {
    expect(edit('404' as MessageId, { content: 'a' }).code).toBe(10008);
  });

  it('sets IS_COMPONENTS_V2 only without other content, and irreversibly', () => {
    const components = [{ type: 10, content: 'x' }];
    const id = place();
    expect(edit(id, { flags: 1 << 15, components }, bot).code).toBe(50035);
    expect(edit(id, { flags: 1 << 15 }, bot).code).toBe(50035);
    expect(edit(id, { flags: 1 << 15, components, content: null }, author).code).toBe(50035);
    expect(edit(id, { flags: 1 << 15, components, content: null }, bot).code).toBeUndefined();
    edit(id, { flags: 0 }, bot);
    expect(now(id)).toMatchObject({ flags: 1 << 15, content: '' });
  });

  it('refuses IS_COMPONENTS_V2 to users, also with components that a user may send', () => {
    const link = { type: 2, style: 5, label: 'Tide', url: 'https://example.com' };
    const components = [{ type: 1, components: [link] }];
    const id = place();
    expect(edit(id, { flags: 1 << 15, content: null, components }).code).toBe(50035);
    expect(now(id)?.flags).toBe(0);
    expect(edit(id, { content: null, components }).code).toBeUndefined();
  });

  it('keeps the author of the referenced message among the mentions when the text changes', () => {
    const id = place({
      type: 19,
      mentions: [user('12')],
      message_reference: { channel_id: '50', message_id: '3' },
    });
    edit(id, { content: 'new' });
    expect(now(id)?.mentions).toMatchObject([{ id: '12' }]);
    edit(id, { content: 'newer', allowed_mentions: { parse: [] } });
    expect(now(id)?.mentions).toEqual([]);
  });
});

describe('files of an edit', () => {
  const file = (id: string, more = {}): APIAttachment =>
    ({ id, filename: `${id}.txt`, size: 1, url: 'u', proxy_url: 'u', ...more }) as APIAttachment;
  const filesOf = (id: MessageId) => now(id)?.attachments.map((each) => each.id);

  it('keeps all files by default, else the listed ones, and adds the new ones', () => {
    const id = place({ attachments: [file('1'), file('2')] });
    edit(id, { content: 'a' });
    expect(filesOf(id)).toEqual(['1', '2']);
    edit(id, {}, author, { keep: [{ id: '2' }], attachments: [file('3')] });
    expect(filesOf(id)).toEqual(['2', '3']);
    edit(id, {}, author, { keep: [] });
    expect(filesOf(id)).toEqual([]);
  });

  it('sets description and spoiler of a kept file', () => {
    const id = place({ attachments: [file('1', { description: 'old' })] });
    edit(id, {}, author, { keep: [{ id: '1', description: 'new', is_spoiler: true }] });
    expect(now(id)?.attachments).toMatchObject([{ description: 'new', flags: 8 }]);
    edit(id, {}, author, { keep: [{ id: '1', description: '', is_spoiler: false }] });
    expect(now(id)?.attachments[0]).not.toHaveProperty('description');
    expect(now(id)?.attachments[0]?.flags).toBe(0);
  });

  it('removes text direction controls from the description of a kept file', () => {
    const id = place({ attachments: [file('1')] });
    edit(id, {}, author, { keep: [{ id: '1', description: 'a\u202eb\u2066\nc' }] });
    expect(now(id)?.attachments).toMatchObject([{ description: 'ab\nc' }]);
  });

  it('refuses an unknown file, and an eleventh', () => {
    const id = place({ attachments: [file('1')] });
    expect(edit(id, {}, author, { keep: [{ id: '9' }] }).code).toBe(50146);
    const ten = Array.from({ length: 10 }, (_, index) => file(String(20 + index)));
    expect(edit(id, {}, author, { attachments: ten }).code).toBe(30015);
  });
});

describe('deleteMessage', () => {
  const remove = (id: MessageId, by = author) => run(guild, 'deleteMessage', at(id), by);

  it('deletes the own message without an audit log entry', () => {
    const id = place();
    const { types, dispatches } = remove(id);
    expect(types).toEqual(['messageDeleted']);
    expect(dispatches).toMatchObject([{ t: 'MESSAGE_DELETE', d: { id, channel_id: '50', guild_id: '1' } }]);
    expect(now(id)).toBeNull();
    expect(remove(id).code).toBe(10008);
  });

  it('logs a deletion by a moderator', () => {
    const { facts } = remove(place(), moderator);
    expect(facts[1]).toMatchObject({
      entry: { action_type: 72, target_id: '10', reason: 'tidy', options: { channel_id: '50', count: '1' } },
    });
  });

  it('refuses other members, and system messages that cannot be deleted', () => {
    expect(remove(place(), other).code).toBe(50013);
    expect(remove(place({ type: 3 })).code).toBe(50021);
    expect(remove(place({ type: 24 })).code).toBe(50013);
  });
});

describe('bulkDeleteMessages', () => {
  const removeAll = (ids: string[]) =>
    run(guild, 'bulkDeleteMessages', { channelId: '50', messageIds: ids }, moderator);
  const unknown = (ageMs: number) => snowflakeAt(NOW_MS - ageMs);

  it('deletes the existing messages, in one dispatch and one audit log entry', () => {
    const ids = [place(), place()];
    const { types, dispatches, facts } = removeAll([...ids, unknown(5)]);
    expect(types).toEqual(['messagesBulkDeleted', 'auditLogged']);
    expect(dispatches[0]).toMatchObject({
      t: 'MESSAGE_DELETE_BULK',
      d: { ids, channel_id: '50', guild_id: '1' },
    });
    expect(facts[1]).toMatchObject({ entry: { action_type: 73, target_id: '50', options: { count: '2' } } });
    expect(ids.map(now)).toEqual([null, null]);
  });

  it('does nothing when no message exists', () => {
    expect(removeAll([unknown(5), unknown(6)])).toMatchObject({ code: undefined, facts: [] });
  });

  it('counts distinct ids, and refuses old messages', () => {
    expect(removeAll([unknown(5)]).code).toBe(50016);
    expect(removeAll([unknown(5), unknown(5)]).code).toBe(50016);
    expect(removeAll(Array.from({ length: 101 }, (_, index) => unknown(index * 1_000))).code).toBe(50016);
    expect(removeAll([unknown(0), unknown(14 * DAY_MS + 1)]).code).toBe(50034);
    expect(removeAll([unknown(0), unknown(14 * DAY_MS)]).code).toBeUndefined();
  });

  it('ignores messages of other channels', () => {
    const elsewhere = placed(guild, storedMessage('55', '10'));
    const here = place();
    removeAll([elsewhere, here]);
    expect(now(elsewhere)).not.toBeNull();
    expect(now(here)).toBeNull();
  });
});

describe('pins', () => {
  /** The channel's pins are in the window, as `needs` asks for. */
  const pinned = (count: number) => {
    const pins = Array.from({ length: count }, (_, n) => [`${n}` as MessageId, n] as const);
    guild.pins.set('50' as ChannelId, new Map(pins));
  };
  beforeEach(() => pinned(0));
  const pin = (id: MessageId, ms = NOW_MS) => run(guild, 'pinMessage', at(id), moderator, messageEnv(ms));
  const unpin = (id: MessageId) => run(guild, 'unpinMessage', at(id), moderator);
  const lastPin = () =>
    (guild.channels.get('50' as ChannelId) as { last_pin_timestamp?: string }).last_pin_timestamp;

  it('pins, posts a system message, dispatches to clients, and logs it', () => {
    const id = place();
    const { types, dispatches, facts } = pin(id);
    expect(types).toEqual(['messagePinned', 'messageCreated', 'auditLogged']);
    expect(dispatches.map(({ t }) => t)).toEqual([
      'CHANNEL_PINS_UPDATE',
      'MESSAGE_UPDATE',
      'MESSAGE_CREATE',
      'GUILD_AUDIT_LOG_ENTRY_CREATE',
    ]);
    expect(dispatches[0]?.d).toMatchObject({ last_pin_timestamp: '2026-03-01T12:00:00.000000+00:00' });
    expect(dispatches[1]?.d).toMatchObject({ id, pinned: true });
    expect(dispatches[2]?.d).toMatchObject({
      type: 6,
      author: { id: '11' },
      message_reference: { message_id: id },
    });
    expect(facts[2]).toMatchObject({
      entry: { action_type: 74, target_id: '10', options: { channel_id: '50', message_id: id } },
    });
    expect(now(id)).toMatchObject({ pinned: true, pinned_ms: NOW_MS });
    expect(pin(id).facts).toEqual([]);
  });

  it('refuses more than 250 pins, and system messages', () => {
    pinned(249);
    expect(pin(place()).code).toBeUndefined();
    expect(pin(place()).code).toBe(30003);
    expect(pin(place({ type: 7 })).code).toBe(50021);
  });

  it('unpins, and sets last_pin_timestamp to the newest remaining pin', () => {
    const [old, young] = [place(), place()];
    pin(old, NOW_MS);
    pin(young, NOW_MS + 5_000);
    const { types, dispatches } = unpin(young);
    expect(types).toEqual(['messageUnpinned', 'auditLogged']);
    expect(dispatches[0]).toMatchObject({
      t: 'CHANNEL_PINS_UPDATE',
      d: { last_pin_timestamp: '2026-03-01T12:00:00.000000+00:00' },
    });
    unpin(old);
    expect(lastPin()).toBeNull();
    expect(unpin(old).facts).toEqual([]);
  });

  it('requires the pins of the channel only when a pin changes', () => {
    const [plain, elsewhere] = [place(), placed(guild, storedMessage('55', '10'))];
    const needs = (type: 'pinMessage' | 'unpinMessage', messageId: MessageId) =>
      messages.commands[type].needs?.(at(messageId), guild, moderator).pins;
    expect(needs('pinMessage', plain)).toEqual(['50']);
    expect(needs('unpinMessage', plain)).toBeUndefined();
    expect(needs('pinMessage', elsewhere)).toBeUndefined();
    expect(needs('pinMessage', '404' as MessageId)).toBeUndefined();
    pin(plain);
    expect(needs('pinMessage', plain)).toBeUndefined();
    expect(needs('unpinMessage', plain)).toEqual(['50']);
  });

  it('stops counting a pinned message when it is deleted', () => {
    pinned(249);
    const [pinnedOne, other] = [place(), place()];
    pin(pinnedOne);
    expect(pin(other).code).toBe(30003);
    run(guild, 'deleteMessage', at(pinnedOne), author);
    expect(pin(other).code).toBeUndefined();
  });

  it('keeps last_pin_timestamp when an older pin is removed', () => {
    const [old, young] = [place(), place()];
    pin(old, NOW_MS);
    pin(young, NOW_MS + 5_000);
    unpin(old);
    expect(lastPin()).toBe('2026-03-01T12:00:05.000000+00:00');
  });
});

describe('crosspostMessage', () => {
  const publish = (id: MessageId, by = author, channelId = '55') =>
    run<Written>(guild, 'crosspostMessage', { channelId, messageId: id }, by);
  const news = (more = {}) => placed(guild, storedMessage('55', '10', more));

  it('sets the flag once', () => {
    const id = news();
    expect(publish(id).dispatches).toMatchObject([{ t: 'MESSAGE_UPDATE', d: { flags: 1 } }]);
    expect(publish(id).code).toBe(40033);
  });

  it('requires an announcement channel, a user message, and permission', () => {
    expect(publish(place(), author, '50').code).toBe(50024);
    expect(publish(news({ type: 6 })).code).toBe(50021);
    expect(publish(news(), other).code).toBe(50013);
    expect(publish(news(), moderator).code).toBeUndefined();
  });
});

describe('authorizeHistory', () => {
  it('returns the owner of the channel and whether its history may be read', () => {
    const value = () => run(guild, 'authorizeHistory', { channelId: '50' }, author).outcome;
    expect(value()).toMatchObject({ value: { ownerId: '1', guildId: '1', canReadHistory: true } });
    guild.roles.set('1' as never, role('1', P.VIEW_CHANNEL));
    expect(value()).toMatchObject({ value: { canReadHistory: false } });
  });
});
