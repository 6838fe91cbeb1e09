// Goal: in a guild that requires a second factor of moderators, no member moderates without one, and everything else
// works.
import { beforeEach, expect, test } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { type GuildCommands, guildRules } from '../../../engine/guild/rules.ts';
import type { By } from '../../../engine/kernel/authority.ts';
import type { ChannelId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, OWNER_ID, role } from '../../support/guild.ts';
import { creation } from '../../support/messages.ts';
import { caller, envAt, fullMember } from '../../support/people.ts';

const MODERATOR = '11';
const PLAIN = '12';
let guild: Guild;
beforeEach(() => {
  guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.SEND_MESSAGES,
    roles: [
      role('60', P.KICK_MEMBERS | P.MANAGE_ROLES | P.MANAGE_MESSAGES | P.MANAGE_CHANNELS, 5),
      role('61', 0n, 1),
    ],
    members: [fullMember(MODERATOR, ['60']), fullMember(PLAIN)],
    channels: [channel('50')],
  });
  guild.info = { ...guild.info, mfa_level: 1 };
});

function code(
  command: keyof GuildCommands,
  input: object,
  userId: string,
  secondFactor?: By['secondFactor'],
  more: { readonly requires?: bigint; readonly channelId?: ChannelId } = {},
) {
  const by = caller(userId, secondFactor && { secondFactor });
  const outcome = guildRules.decide(guild, command, input as never, { by, requires: 0n, ...more }, envAt());
  return outcome.ok ? null : outcome.refusal.code;
}
const kick = (secondFactor?: By['secondFactor'], userId = MODERATOR) =>
  code('kickMember', { userId: PLAIN }, userId, secondFactor, { requires: P.KICK_MEMBERS });
const give = (secondFactor?: By['secondFactor']) =>
  code('updateMember', { userId: PLAIN, roles: ['61'] }, MODERATOR, secondFactor);
const say = (userId: string, secondFactor?: By['secondFactor']) =>
  code('createMessage', { ...creation({ content: 'hi' }), channelId: '50' }, userId, secondFactor, {
    requires: P.SEND_MESSAGES,
    channelId: '50' as ChannelId,
  });

const plainMember = (command: keyof GuildCommands, input: object) => code(command, input, PLAIN, 'none');
const BOTH: readonly (readonly [keyof GuildCommands, object])[] = [
  ['createChannel', { draft: { name: 'crew', type: 0 } }],
  ['updateMember', { userId: PLAIN, roles: ['61'] }],
];

test('a moderator without a second factor is refused with 60003', () => {
  expect([kick('none'), give('none')]).toEqual([60_003, 60_003]);
  expect([kick('set'), give('set')]).toEqual([null, null]);
});

test.each(BOTH)(
  '%s, whose operation declares no permission, requires the factor of moderators',
  (type, input) => {
    expect(code(type, input, MODERATOR, 'none')).toBe(60_003);
    expect(plainMember(type, input)).toBe(50_013);
    guild.info = { ...guild.info, mfa_level: 0 };
    expect(code(type, input, MODERATOR, 'none')).toBeNull();
  },
);

test('the owner and administrators are not exempt', () => {
  expect([kick('none', OWNER_ID), kick('set', OWNER_ID)]).toEqual([60_003, null]);
});

test('a lookup of the factor is requested only where it matters', () => {
  expect([kick('unknown'), give('unknown'), say(MODERATOR, 'unknown')]).toEqual([60_003, 60_003, 60_003]);
  expect([say(PLAIN, 'unknown'), say(MODERATOR, 'none'), say(MODERATOR)]).toEqual([null, null, null]);
  expect(code('myGuild', { withCounts: false }, MODERATOR, 'unknown')).toBeNull();
  guild.info = { ...guild.info, mfa_level: 0 };
  expect([kick('unknown'), give('unknown'), kick('none')]).toEqual([null, null, null]);
});

test('only the owner, with a factor, sets and clears mfa_level', () => {
  guild.info = { ...guild.info, mfa_level: 0 };
  const set = (level: number, userId: string, secondFactor: By['secondFactor']) =>
    code('setMfaLevel', { level }, userId, secondFactor);
  expect(set(1, MODERATOR, 'set')).toBe(50_013);
  expect(set(1, OWNER_ID, 'unknown')).toBe(60_003);
  expect(set(1, OWNER_ID, 'none')).toBe(60_003);
  expect(set(2, OWNER_ID, 'set')).toBe(50_017);
  expect(set(1, OWNER_ID, 'set')).toBeNull();
});
