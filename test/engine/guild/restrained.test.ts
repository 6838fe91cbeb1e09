// Goal: members under a time-out, in quarantine or before the screening only read, also where a command requires no permission.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Guild, Member } from '../../../engine/guild/guild.ts';
import type { ChannelId, MessageId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role } from '../../support/guild.ts';
import { creation, edition, openPoll, placed, storedMessage } from '../../support/messages.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [HOUR_MS, MISSING_PERMISSIONS, THREAD_LOCKED] = [3_600_000, 50_013, 160_005];
const [SELF, OTHER, CHIEF] = ['11' as UserId, '12', '13' as UserId];
const iso = (ms: number) => new Date(ms).toISOString();
let guild: Guild;
let own: MessageId;
let poll: MessageId;
let thread: ChannelId;
beforeEach(() => {
  const talks = P.VIEW_CHANNEL | P.SEND_MESSAGES | P.SEND_MESSAGES_IN_THREADS | P.READ_MESSAGE_HISTORY;
  guild = buildGuild({
    everyone: talks | P.CREATE_PUBLIC_THREADS | P.CREATE_EVENTS | P.CHANGE_NICKNAME,
    roles: [role('60', P.MANAGE_THREADS, 1), role('61', P.ADMINISTRATOR, 2)],
    members: [fullMember(SELF), fullMember(OTHER, ['60']), fullMember(CHIEF, ['61'])],
    channels: [channel('50')],
  });
  const reactions = [{ key: '👍', emoji: { id: null, name: '👍' }, count: 1 }];
  own = placed(guild, storedMessage('50', SELF, { reactions }));
  poll = placed(guild, storedMessage('50', SELF, { poll: openPoll(), content: '' }));
  thread = threadBy(SELF);
  const place = { entityType: 3, location: 'park', endTime: iso(NOW_MS + 2 * HOUR_MS) };
  const event = { id: '500', name: 'Run', startTime: iso(NOW_MS + HOUR_MS), ...place };
  expect(ruled(guild, 'createScheduledEvent', event, OTHER).code).toBeUndefined();
});

function threadBy(userId: string): ChannelId {
  const draft = { name: 'Talk', type: 11 };
  expect(ruled(guild, 'createThread', { channelId: '50', draft }, userId).code).toBeUndefined();
  return [...guild.threads.keys()].at(-1)!;
}

const change = (userId: UserId, fields: Partial<Member>) =>
  guild.members.set(userId, { ...guild.members.get(userId)!, ...fields });
const edit = (messageId: MessageId, channelId = '50', by: string = SELF) =>
  ruled(guild, 'updateMessage', { ...edition(messageId, { content: 'new' }), channelId }, by).code;

const about = () => ({ channelId: '50', messageId: own });
const ACTS: Readonly<Record<string, (by: string) => number | undefined>> = {
  'vote in a poll': (by) =>
    ruled(guild, 'votePoll', { channelId: '50', messageId: poll, answerIds: [1] }, by).code,
  'end a poll of their own': (by) =>
    ruled(guild, 'endPoll', { channelId: '50', messageId: poll }, by === CHIEF ? SELF : by).code,
  'join a reaction': (by) => ruled(guild, 'addReaction', { ...about(), emoji: '👍' }, by).code,
  'join a thread': (by) => ruled(guild, 'joinThread', { channelId: threadBy(OTHER) }, by).code,
  'be interested in an event': (by) =>
    ruled(guild, 'setEventRsvp', { eventId: '500', exceptionId: null, response: 1 }, by).code,
  'rename a thread of their own': (by) =>
    ruled(guild, 'updateChannel', { channelId: thread, draft: {}, threadChange: { name: 'Our' } }, by).code,
  'edit a message of their own': (by) =>
    edit(by === SELF ? own : placed(guild, storedMessage('50', by)), '50', by),
};

describe.each<[string, Partial<Member>]>([
  ['under a time-out', { communication_disabled_until: iso(NOW_MS + HOUR_MS) }],
  ['with a quarantined name', { flags: 1 << 7 }],
  ['with a quarantined tag', { flags: 1 << 10 }],
  ['before the screening', { pending: true }],
])('a member %s', (_, state) => {
  test.each(Object.keys(ACTS))('cannot %s', (name) => {
    change(SELF, state);
    expect(ACTS[name]?.(SELF)).toBe(MISSING_PERMISSIONS);
  });

  test.each(Object.keys(ACTS))('can %s as an administrator', (name) => {
    change(CHIEF, state);
    expect(ACTS[name]?.(CHIEF)).toBeUndefined();
  });

  test('can leave a thread and withdraw an RSVP', () => {
    ruled(guild, 'setEventRsvp', { eventId: '500', exceptionId: null, response: 1 }, SELF);
    change(SELF, state);
    expect(ruled(guild, 'leaveThread', { channelId: thread }, SELF).code).toBeUndefined();
    expect(ruled(guild, 'removeEventRsvp', { eventId: '500', exceptionId: null }, SELF).code).toBeUndefined();
  });
});

test.each(Object.keys(ACTS))('a member whose time-out has ended can %s', (name) => {
  change(SELF, { communication_disabled_until: iso(NOW_MS - 1) });
  expect(ACTS[name]?.(SELF)).toBeUndefined();
});

test('only moderators edit messages in a locked thread', () => {
  const written = (by: string) => {
    ruled(guild, 'createMessage', { ...creation({ content: 'hi' }), channelId: thread }, by);
    return [...guild.messages.keys()].at(-1)!;
  };
  const [mine, theirs] = [written(SELF), written(OTHER)];
  const locked = { channelId: thread, draft: {}, threadChange: { locked: true } };
  expect(ruled(guild, 'updateChannel', locked, OTHER).code).toBeUndefined();
  expect([edit(mine, thread), edit(theirs, thread, OTHER)]).toEqual([THREAD_LOCKED, undefined]);
});
