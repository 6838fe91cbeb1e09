/** Goal: a bot without the message content intent reads over HTTP only what was written by it, to it, or in private. */

import type { APIEmbed } from 'discord-api-types/v10';
import { expect, it } from 'vitest';
import { sharedMessage } from '../../../engine/channel/messages.ts';
import { blank } from '../../../engine/fanout/content.ts';
import type { StoredMessage } from '../../../engine/guild/guild.ts';
import type { ChannelId, GuildId, MessageId } from '../../../protocol/ids.ts';
import { createMessageViews, type Viewing } from '../../../services/channels/messageviews.ts';
import { user } from '../../support/guild.ts';
import { storedMessage } from '../../support/messages.ts';
import { BOT, HUMAN } from '../../support/rest.ts';

const view = (more: Partial<Viewing> = {}): Viewing => ({
  caller: BOT,
  ownerId: '1',
  guildId: '1' as GuildId,
  channelId: '50' as ChannelId,
  ...more,
});
const unread = () => Promise.reject(new Error('Nothing was to be read.'));
const NO_STORE = {
  messages: { get: unread, reactionsOf: unread, votesOf: unread },
  threads: { listed: unread },
};
const presentOver = (storage: Parameters<typeof createMessageViews>[0]['storage']) =>
  createMessageViews({ storage });
const embeds: APIEmbed[] = [{ title: 't' }];
const written = (more: Partial<StoredMessage> = {}) => storedMessage('50', '7', { embeds, ...more });

async function contentOf(viewing: Viewing, message: StoredMessage) {
  const [shown] = await presentOver(NO_STORE)(viewing, [message]);
  const { content, embeds: seen } = shown as StoredMessage;
  return { content, embeds: seen };
}

const ALL = { content: 'hello', embeds };
const NOTHING = { content: '', embeds: [] };

it.each([
  ['a bot without the intent', view(), written(), NOTHING],
  ['a bot with it', view({ caller: { ...BOT, applicationFlags: 1 << 18 } }), written(), ALL],
  ['a user', view({ caller: HUMAN }), written(), ALL],
  ['its author', view(), written({ author: user(BOT.userId) }), ALL],
  ['the bot it mentions', view(), written({ mentions: [user(BOT.userId)] }), ALL],
  ['the other side of a private channel', view({ guildId: null }), written(), ALL],
])('shows %s what it may read', async (_, viewing, message, expected) => {
  expect(await contentOf(viewing, message)).toEqual(expected);
});

it('blanks the content of a forwarded message, as the gateway does, and keeps its frame', async () => {
  const snapshot = { content: 'hello', embeds, attachments: [], components: [], flags: 0 };
  const message = written({ message_snapshots: [{ message: snapshot }] as never });
  const expected = [{ message: { ...snapshot, ...NOTHING } }];
  const [shown] = await presentOver(NO_STORE)(view(), [message]);
  expect(shown).toMatchObject({ ...NOTHING, message_snapshots: expected });
  expect(blank(sharedMessage(message))).toMatchObject({ message_snapshots: expected });
});

it('hides the message a reply answers for the same reasons', async () => {
  const answered = written();
  const reference = { channel_id: '50', message_id: answered.id };
  const reply = written({
    id: '9' as MessageId,
    type: 19,
    message_reference: reference,
    author: user(BOT.userId),
  });
  const [shown] = await presentOver(NO_STORE)(view(), [reply], [answered]);
  expect(shown).toMatchObject({ content: 'hello', referenced_message: { id: answered.id, ...NOTHING } });
});

it('shows the thread that was made from a message, with the membership of the caller who is in it', async () => {
  const HAS_THREAD = 1 << 5;
  const flagged = (id: string) => written({ id: id as MessageId, flags: HAS_THREAD });
  const threadOf = (id: string) => ({ id, name: `About ${id}`, type: 11 });
  const own = { join_timestamp: '2030-01-01T00:00:00.000Z', flags: 0 };
  const asked: unknown[] = [];
  const listed = async (...given: unknown[]) => {
    asked.push(given);
    return [{ thread: threadOf('101'), own }, { thread: threadOf('102') }];
  };
  const store = { ...NO_STORE, threads: { listed: listed as never } };
  const messages = [flagged('101'), flagged('102'), flagged('103'), written({ id: '104' as MessageId })];
  const shown = await presentOver(store)(view(), messages);
  // The thread of the third was deleted, or is hidden.
  expect(shown.map((message) => (message as { readonly thread?: object }).thread)).toEqual([
    { ...threadOf('101'), member: { id: '101', ...own } },
    threadOf('102'),
    ...[undefined, undefined],
  ]);
  expect(asked).toEqual([['1', BOT.userId, ['101', '102', '103']]]);
});

it('shows all callers who may read a message one object, which nobody can change', async () => {
  const present = presentOver(NO_STORE);
  const message = written();
  const [toUser] = await present(view({ caller: HUMAN }), [message]);
  const [inPrivate] = await present(view({ guildId: null }), [message]);
  expect(inPrivate).toBe(toUser);
  expect(Object.isFrozen(toUser)).toBe(true);
});
