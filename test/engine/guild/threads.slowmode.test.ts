// Goal: a channel's slow mode holds for making threads and posts too, and counts them apart from messages.
import { beforeEach, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { guildRules } from '../../../engine/guild/rules.ts';
import type { ChannelId, RoleId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, role, user } from '../../support/guild.ts';
import { creation, messageEnv } from '../../support/messages.ts';
import { caller, fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [PLAIN, EXEMPT, ROBOT] = ['11', '12', '13'] as const;
let guild: Guild;
let ids = 700_000;
beforeEach(() => {
  const sends = P.SEND_MESSAGES | P.SEND_MESSAGES_IN_THREADS;
  guild = buildGuild({
    everyone: P.VIEW_CHANNEL | sends | P.CREATE_PUBLIC_THREADS | P.CREATE_PRIVATE_THREADS,
    roles: [role('60', P.BYPASS_SLOWMODE, 1)],
    members: [
      fullMember(PLAIN),
      fullMember(EXEMPT, ['60']),
      fullMember(ROBOT, [], { user: user(ROBOT, true) }),
    ],
    channels: [
      channel('50', [], { rate_limit_per_user: 60 }),
      channel('51', [], { type: 15, rate_limit_per_user: 60 }),
      channel('52'),
    ],
  });
});

const thread = (by: string, atMs = 0, channelId = '50', type = 11) =>
  ruled(guild, 'createThread', { channelId, draft: { name: 'Talk', type } }, by, NOW_MS + atMs).code;
const post = (by: string, atMs = 0) => {
  ids += 1;
  const input = {
    channelId: '51',
    id: String(ids),
    draft: { name: 'Talk' },
    first: creation({ content: 'hi' }),
  };
  return ruled(guild, 'createPost', input, by, NOW_MS + atMs).code;
};
const say = (by: string) =>
  ruled(guild, 'createMessage', { ...creation({ content: 'hi' }), channelId: '50' }, by).code;

test('a second thread waits, whatever its kind, until the interval is over', () => {
  expect([thread(PLAIN), thread(PLAIN, 59_999), thread(PLAIN, 59_999, '50', 12)]).toEqual([
    undefined,
    20_016,
    20_016,
  ]);
  expect(thread(PLAIN, 60_000)).toBeUndefined();
});

test('a second post is refused within the interval', () => {
  expect([post(PLAIN), post(PLAIN, 1_000), post(PLAIN, 60_000)]).toEqual([undefined, 20_016, undefined]);
});

test('messages and other channels are limited separately', () => {
  expect([thread(PLAIN), say(PLAIN), thread(PLAIN, 0, '52'), thread(PLAIN, 0, '52')]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('needs the last message or thread of a person only in channels with a slow mode, and not of bots', () => {
  const needs = (command: string, channelId: string, userId: string, more: object = {}) => {
    const input = { ...creation({ content: 'hi' }), channelId, messageId: '1', ...more };
    const by = caller(userId, { bot: userId === ROBOT });
    return guildRules.needs(guild, command as never, input as never, { by, requires: 0n }).slowmode;
  };
  const of = (channelId: string, counts: string) => [{ channelId, userId: PLAIN, counts }];
  const post = { first: creation({ content: 'hi' }) };
  expect(needs('createMessage', '50', PLAIN)).toEqual(of('50', 'messages'));
  expect(needs('createThread', '50', PLAIN)).toEqual(of('50', 'threads'));
  expect(needs('createThreadFromMessage', '50', PLAIN)).toEqual(of('50', 'threads'));
  expect(needs('createPost', '51', PLAIN, post)).toEqual(of('51', 'threads'));
  for (const command of ['createMessage', 'createThread', 'createThreadFromMessage', 'createPost']) {
    expect(needs(command, '52', PLAIN, post), command).toBeUndefined();
    expect(needs(command, '50', ROBOT, post), command).toBeUndefined();
  }
});

test('bots and those who bypass the slow mode do not wait', () => {
  for (const by of [EXEMPT, ROBOT]) expect([thread(by), thread(by)]).toEqual([undefined, undefined]);
});

test.each([
  ['MANAGE_MESSAGES', '2026-02-22', undefined],
  ['MANAGE_CHANNELS', '2026-02-22', undefined],
  ['MANAGE_THREADS', '2026-02-22', undefined],
  ['KICK_MEMBERS', '2026-02-22', 20_016],
  ['MANAGE_MESSAGES', '2026-02-23', 20_016],
  ['MANAGE_CHANNELS', '2026-02-23', 20_016],
  ['MANAGE_THREADS', '2026-02-23', 20_016],
] as const)('%s on %s exempts its holder: %s', (bit, day, expected) => {
  guild.roles.set('60' as RoleId, role('60', P[bit], 1));
  const env = { ...messageEnv(), rulesMs: Date.parse(day) };
  const draft = { channelId: '50', draft: { name: 'Talk', type: 11 } };
  const again = (command: string, input: object) => {
    const once = () => ruled(guild, command, input, EXEMPT, NOW_MS, env).code;
    expect(once()).toBeUndefined();
    return once();
  };
  expect(again('createMessage', { ...creation({ content: 'hi' }), channelId: '50' })).toBe(expected);
  expect(again('createThread', draft)).toBe(expected);
});

test('a post that is archived is no longer pinned, so that another may be', () => {
  expect([post(PLAIN), post(ROBOT)]).toEqual([undefined, undefined]);
  const [first, second] = [String(ids - 1), String(ids)];
  const change = (channelId: string, threadChange: object) =>
    ruled(guild, 'updateChannel', { channelId, draft: {}, threadChange }, '2').code;
  expect([change(first, { flags: 2 }), change(second, { flags: 2 })]).toEqual([undefined, 30_047]);
  expect([change(first, { archived: true }), change(second, { flags: 2 })]).toEqual([undefined, undefined]);
  expect(change(first, { archived: false })).toBeUndefined();
  const flags = [first, second].map((id) => guild.threads.get(id as ChannelId)?.thread.flags);
  expect(flags).toEqual([0, 2]);
});
