// Goal: who is new to a guild speaks in it only when its verification level lets them.
import { beforeEach, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { snowflakeAt } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, OWNER_ID, role, user } from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const MINUTE_MS = 60_000;
const ago = (minutes: number) => NOW_MS - minutes * MINUTE_MS;
const iso = (ms: number) => new Date(ms).toISOString();
/** Accounts by their age, and by how long ago they joined, in minutes. */
const NEW = snowflakeAt(ago(4));
const JUST_JOINED = snowflakeAt(ago(60));
const SETTLED = snowflakeAt(ago(61));
const WITH_ROLE = snowflakeAt(ago(3));
const ROBOT = snowflakeAt(ago(2));

let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone:
      P.VIEW_CHANNEL | P.SEND_MESSAGES | P.ADD_REACTIONS | P.READ_MESSAGE_HISTORY | P.CREATE_PUBLIC_THREADS,
    roles: [role('60', 0n, 1)],
    members: [
      fullMember(NEW, [], { joined_at: iso(ago(4)) }),
      fullMember(JUST_JOINED, [], { joined_at: iso(ago(9)) }),
      fullMember(SETTLED, [], { joined_at: iso(ago(10)) }),
      fullMember(WITH_ROLE, ['60'], { joined_at: iso(ago(1)) }),
      fullMember(ROBOT, [], { joined_at: iso(ago(1)), user: user(ROBOT, true) }),
    ],
    channels: [channel('50'), channel('51', [], { type: 15 })],
  });
});

const at = (level: number) => {
  guild.info = { ...guild.info, verification_level: level };
};
const say = (by: string) =>
  ruled(guild, 'createMessage', { ...creation({ content: 'hi' }), channelId: '50' }, by).code;
const everyone = () => [NEW, JUST_JOINED, SETTLED, WITH_ROLE, OWNER_ID].map(say);

test.each([
  [0, [undefined, undefined, undefined, undefined, undefined]],
  [1, [undefined, undefined, undefined, undefined, undefined]],
  [2, [50_009, undefined, undefined, undefined, undefined]],
  [3, [50_009, 50_009, undefined, undefined, undefined]],
  [4, [50_009, 50_009, 50_009, undefined, undefined]],
])('admits at level %i members who are old enough, have a role or own the guild', (level, codes) => {
  at(level);
  expect(everyone()).toEqual(codes);
});

test('exempts webhooks and bots', () => {
  at(4);
  expect(
    ruled(guild, 'createMessage', { ...creation({ content: 'hi' }), channelId: '50' }, '0').code,
  ).not.toBe(50_009);
});

test('applies to reactions, threads and posts too', () => {
  ruled(guild, 'createMessage', { ...creation({ content: 'hi' }), channelId: '50' }, OWNER_ID);
  const [messageId] = [...guild.messages.keys()];
  at(2);
  const emoji = '👍';
  const draft = { name: 'Talk', type: 11 };
  const codes = (by: string) => [
    ruled(guild, 'addReaction', { channelId: '50', messageId, emoji }, by).code,
    ruled(guild, 'createThread', { channelId: '50', draft }, by).code,
    ruled(guild, 'createThreadFromMessage', { channelId: '50', messageId, draft }, by).code,
    ruled(guild, 'createPost', { channelId: '51', id: '901', draft, first: creation({ content: 'hi' }) }, by)
      .code,
  ];
  expect(codes(NEW)).toEqual([50_009, 50_009, 50_009, 50_009]);
  expect(codes(SETTLED)).not.toContain(50_009);
});
