/** Goal: permissions, implicit denials, time-outs and hierarchy come out as the platform's table says. */
import type { APIOverwrite } from 'discord-api-types/v10';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Guild, GuildChannel } from '../../../engine/guild/guild.ts';
import {
  channelPermissions,
  compareRoles,
  guildPermissions,
  highestRole,
  holds,
  outranks,
  outranksRole,
  visibleChannels,
} from '../../../engine/permissions/permissions.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { ALL_PERMISSIONS, P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, GUILD_ID, id, member, OWNER_ID, overwrite, role } from '../../support/guild.ts';

const NOW_MS = 1_780_000_000_000;
const LATER = new Date(NOW_MS + 1).toISOString();
const ann = id<UserId>(10);
const bob = id<UserId>(11);
const readable = P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY;

/** Permissions of ann in a channel with these overwrites; she has the roles 20 and 21. */
function inChannel(everyone: bigint, overwrites: APIOverwrite[], more: object = {}): bigint {
  const room = channel('30', overwrites, more);
  const guild = buildGuild({
    everyone,
    roles: [role('20', 0n, 1), role('21', 0n, 2), role('22', 0n, 3)],
    members: [member(ann, { roles: ['20', '21'] })],
    channels: [room],
  });
  return channelPermissions(guild, ann, room, NOW_MS);
}

describe('guildPermissions', () => {
  it('joins those of @everyone and of every held role', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      roles: [role('20', P.KICK_MEMBERS), role('21', P.BAN_MEMBERS)],
      members: [member(ann, { roles: ['20', 'gone'] })],
    });
    expect(guildPermissions(guild, ann, NOW_MS)).toBe(P.VIEW_CHANNEL | P.KICK_MEMBERS);
  });

  it('are all for the owner and administrators, none for who is not a resident member', () => {
    const guild = buildGuild({
      everyone: P.VIEW_CHANNEL,
      roles: [role('20', P.ADMINISTRATOR)],
      members: [member(ann, { roles: ['20'] })],
    });
    guild.members.set(bob, null);
    expect(guildPermissions(guild, OWNER_ID, NOW_MS)).toBe(ALL_PERMISSIONS);
    expect(guildPermissions(guild, ann, NOW_MS)).toBe(ALL_PERMISSIONS);
    expect(guildPermissions(guild, bob, NOW_MS)).toBe(0n);
    expect(guildPermissions(guild, id('12'), NOW_MS)).toBe(0n);
  });

  it('shrink in a time-out to reading, until it ends, and not for administrators', () => {
    const until = { communication_disabled_until: LATER };
    const guild = buildGuild({
      everyone: ALL_PERMISSIONS & ~P.ADMINISTRATOR,
      roles: [role('20', P.ADMINISTRATOR)],
      members: [member(ann, until), member(bob, { ...until, roles: ['20'] })],
    });
    expect(guildPermissions(guild, ann, NOW_MS)).toBe(readable);
    expect(guildPermissions(guild, ann, NOW_MS + 1)).toBe(ALL_PERMISSIONS & ~P.ADMINISTRATOR);
    expect(guildPermissions(guild, bob, NOW_MS)).toBe(ALL_PERMISSIONS);
  });

  it.each([1 << 7, 1 << 10])('shrink in quarantine (member flag %i) to reading and renaming', (flags) => {
    const guild = buildGuild({
      everyone: ALL_PERMISSIONS & ~P.ADMINISTRATOR,
      members: [member(ann, { flags })],
    });
    expect(guildPermissions(guild, ann, NOW_MS)).toBe(readable | P.CHANGE_NICKNAME);
  });
});

describe('channelPermissions', () => {
  const base = P.VIEW_CHANNEL | P.SEND_MESSAGES;

  it('let an allow of any held role win over a deny of another', () => {
    const rules = [
      overwrite('20', 0, { deny: P.SEND_MESSAGES }),
      overwrite('21', 0, { allow: P.SEND_MESSAGES }),
      overwrite('22', 0, { deny: P.VIEW_CHANNEL }),
    ];
    expect(inChannel(base, rules)).toBe(base);
  });

  it('let roles win over @everyone, and the member over roles, whatever the order of the list', () => {
    const rules = [
      overwrite(ann, 1, { deny: P.SEND_MESSAGES }),
      overwrite('20', 0, { allow: P.SEND_MESSAGES | P.EMBED_LINKS }),
      overwrite(GUILD_ID, 0, { deny: P.SEND_MESSAGES }),
    ];
    expect(inChannel(base, rules)).toBe(P.VIEW_CHANNEL);
    expect(inChannel(base, rules.slice(1))).toBe(base | P.EMBED_LINKS);
    expect(inChannel(base, rules.slice(2))).toBe(P.VIEW_CHANNEL);
  });

  it('take a missing or null side of an overwrite for nothing', () => {
    const bare = { id: '20', type: 0, allow: null } as unknown as APIOverwrite;
    expect(inChannel(base, [bare])).toBe(base);
  });

  it('do not take a member overwrite for a role, nor the reverse', () => {
    expect(inChannel(base, [overwrite(ann, 0, { deny: base }), overwrite('20', 1, { deny: base })])).toBe(
      base,
    );
  });

  it('are nothing without VIEW_CHANNEL', () => {
    expect(
      inChannel(ALL_PERMISSIONS & ~P.ADMINISTRATOR, [overwrite('20', 0, { deny: P.VIEW_CHANNEL })]),
    ).toBe(0n);
  });

  it('lose what sending needs without SEND_MESSAGES', () => {
    const extras = P.MENTION_EVERYONE | P.SEND_TTS_MESSAGES | P.ATTACH_FILES | P.EMBED_LINKS;
    expect(inChannel(P.VIEW_CHANNEL | P.ADD_REACTIONS | extras, [])).toBe(P.VIEW_CHANNEL | P.ADD_REACTIONS);
    expect(inChannel(base | extras, [])).toBe(base | extras);
  });

  it.each([2, 13])('leave only sight of a voice channel (type %i) without CONNECT', (type) => {
    const held = base | P.MANAGE_CHANNELS;
    expect(inChannel(held, [], { type })).toBe(P.VIEW_CHANNEL);
    expect(inChannel(held | P.CONNECT, [], { type })).toBe(held | P.CONNECT);
    expect(inChannel(held, [], { type: 0 })).toBe(held);
  });

  it('cannot be narrowed for the owner and administrators', () => {
    const room = channel('30', [overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL })]);
    const guild = buildGuild({
      roles: [role('20', P.ADMINISTRATOR)],
      members: [member(ann, { roles: ['20'] })],
      channels: [room],
    });
    expect(channelPermissions(guild, ann, room, NOW_MS)).toBe(ALL_PERMISSIONS);
    expect(channelPermissions(guild, OWNER_ID, room, NOW_MS)).toBe(ALL_PERMISSIONS);
    expect(channelPermissions(guild, bob, room, NOW_MS)).toBe(0n);
  });

  it('come down to reading in a time-out, whatever an overwrite allows', () => {
    const room = channel('30', [overwrite(ann, 1, { allow: P.SEND_MESSAGES })]);
    const guild = buildGuild({
      everyone: base | P.READ_MESSAGE_HISTORY,
      members: [member(ann, { communication_disabled_until: LATER })],
      channels: [room],
    });
    expect(channelPermissions(guild, ann, room, NOW_MS)).toBe(readable);
  });

  it('take those of a thread from its parent, sending from SEND_MESSAGES_IN_THREADS', () => {
    const parent = channel('30', [overwrite(GUILD_ID, 0, { deny: P.SEND_MESSAGES })]);
    const thread = channel('31', [], { type: 11, parent_id: '30' });
    const secret = channel('32', [], { type: 12, parent_id: '30' });
    const orphan = channel('33', [], { type: 11, parent_id: '99' });
    const everyone = base | P.SEND_MESSAGES_IN_THREADS | P.EMBED_LINKS;
    const guild = buildGuild({
      everyone,
      members: [member(ann)],
      channels: [parent, thread, secret, orphan],
    });
    expect(channelPermissions(guild, ann, thread, NOW_MS)).toBe(everyone);
    expect(channelPermissions(guild, ann, secret, NOW_MS)).toBe(0n);
    expect(channelPermissions(guild, ann, orphan, NOW_MS)).toBe(0n);
  });
});

/** The table of the documentation, bit by bit and step by step. */
function naive(guild: Guild, userId: UserId, room: GuildChannel): bigint {
  const self = guild.members.get(userId);
  if (userId === guild.info.owner_id) return ALL_PERMISSIONS;
  if (!self) return 0n;
  const roles = [String(guild.id), ...self.roles];
  const has = (text: string, bit: bigint) => (BigInt(text) & bit) !== 0n;
  const inBase = (bit: bigint) =>
    [...guild.roles.values()].some((each) => roles.includes(each.id) && has(each.permissions, bit));
  if (inBase(P.ADMINISTRATOR)) return ALL_PERMISSIONS;
  const rules = room.permission_overwrites ?? [];
  const steps = [
    rules.filter((each) => each.id === guild.id),
    rules.filter((each) => each.type === 0 && each.id !== guild.id && self.roles.includes(each.id)),
    rules.filter((each) => each.type === 1 && each.id === userId),
  ];
  const granted = (bit: bigint): boolean =>
    steps.reduce((held, step) => {
      if (step.some((each) => has(each.allow, bit))) return true;
      return step.some((each) => has(each.deny, bit)) ? false : held;
    }, inBase(bit));
  if (!granted(P.VIEW_CHANNEL)) return 0n;
  if ((room.type === 2 || room.type === 13) && !granted(P.CONNECT)) return P.VIEW_CHANNEL;
  const muted: readonly bigint[] = granted(P.SEND_MESSAGES)
    ? []
    : [P.MENTION_EVERYONE, P.SEND_TTS_MESSAGES, P.ATTACH_FILES, P.EMBED_LINKS];
  return Object.values(P).reduce(
    (all: bigint, bit) => (granted(bit) && !muted.includes(bit) ? all | bit : all),
    0n,
  );
}

const bits = fc
  .bigInt({ min: 0n, max: ALL_PERMISSIONS })
  .map((value) => value & ALL_PERMISSIONS & ~P.ADMINISTRATOR);
const roleIds = ['20', '21', '22', '23'];
const worlds = fc.record({
  everyone: bits,
  roles: fc.tuple(...roleIds.map((roleId) => bits.map((held) => role(roleId, held)))),
  held: fc.subarray(roleIds),
  type: fc.constantFrom(0, 2, 4, 5, 13, 15),
  rules: fc.uniqueArray(
    fc.record({ to: fc.constantFrom<string>(GUILD_ID, ...roleIds, ann, bob), allow: bits, deny: bits }),
    { selector: ({ to }) => to },
  ),
});

describe('against the table', () => {
  it('agrees for random roles and overwrites', () => {
    fc.assert(
      fc.property(worlds, ({ everyone, roles, held, type, rules }) => {
        const overwrites = rules.map(({ to, allow, deny }) =>
          overwrite(to, to === ann || to === bob ? 1 : 0, { allow, deny }),
        );
        const room = channel('30', overwrites, { type });
        const guild = buildGuild({
          everyone,
          roles,
          members: [member(ann, { roles: held })],
          channels: [room],
        });
        const found = channelPermissions(guild, ann, room, NOW_MS);
        expect(found).toBe(naive(guild, ann, room));
        expect(visibleChannels(guild, ann, NOW_MS)).toEqual((found & P.VIEW_CHANNEL) === 0n ? [] : [room]);
      }),
      { numRuns: 500 },
    );
  });
});

describe('hierarchy', () => {
  const guild = buildGuild({
    roles: [role('20', 0n, 1), role('21', 0n, 2), role('22', 0n, 2)],
    members: [
      member(ann, { roles: ['20', '21'] }),
      member(bob, { roles: ['20'] }),
      member('12', { roles: ['22'] }),
      member('13'),
    ],
  });

  it('ranks by position, and the older of two roles in one position higher', () => {
    const [low, high, younger] = [role('9', 0n, 1), role('21', 0n, 2), role('100', 0n, 2)];
    expect([high, low, younger].sort(compareRoles)).toEqual([low, younger, high]);
  });

  it("finds the highest role, or @everyone's", () => {
    expect(highestRole(guild, guild.members.get(ann)!).id).toBe('21');
    expect(highestRole(guild, guild.members.get(id('13'))!).id).toBe(GUILD_ID);
    expect(highestRole(guild, member('14', { roles: ['gone'] })).id).toBe(GUILD_ID);
  });

  it.each([
    ['the owner over anyone', OWNER_ID, ann, true],
    ['nobody over the owner', ann, OWNER_ID, false],
    ['nor the owner over themself', OWNER_ID, OWNER_ID, false],
    ['a higher role over a lower', ann, bob, true],
    ['not the reverse', bob, ann, false],
    ['the older role of a position over the younger', ann, '12', true],
    ['not equals', ann, ann, false],
    ['any member over who is not one', '13', '99', true],
    ['no stranger over a member', '99', '13', false],
  ] as const)('outranks: %s', (_, actor, target, verdict) => {
    expect(outranks(guild, id(actor), id(target))).toBe(verdict);
  });

  it('outranksRole covers only roles below the highest, but every role for the owner', () => {
    const top = guild.roles.get(id('21'))!;
    expect(outranksRole(guild, ann, top)).toBe(false);
    expect(outranksRole(guild, ann, guild.roles.get(id('20'))!)).toBe(true);
    expect(outranksRole(guild, OWNER_ID, top)).toBe(true);
    expect(outranksRole(guild, id('99'), guild.roles.get(GUILD_ID as never)!)).toBe(false);
  });
});

describe('holds', () => {
  it('wants every bit', () => {
    expect(holds(P.PIN_MESSAGES | P.VIEW_CHANNEL, P.PIN_MESSAGES | P.VIEW_CHANNEL)).toBe(true);
    expect(holds(P.VIEW_CHANNEL, P.PIN_MESSAGES | P.VIEW_CHANNEL)).toBe(false);
    expect(holds(0n, 0n)).toBe(true);
  });

  it('takes an older bit for the newer one only until the day of the split', () => {
    const inForceMs = Date.parse('2026-02-23T00:00:00.000Z');
    const beforeMs = inForceMs - 1;
    expect(holds(P.MANAGE_MESSAGES, P.PIN_MESSAGES, beforeMs)).toBe(true);
    expect(holds(P.MANAGE_MESSAGES, P.PIN_MESSAGES, inForceMs)).toBe(false);
    expect(holds(P.MANAGE_MESSAGES, P.PIN_MESSAGES)).toBe(false);
    expect(holds(P.MANAGE_MESSAGES, P.PIN_MESSAGES | P.KICK_MEMBERS, beforeMs)).toBe(false);
    for (const older of [P.MANAGE_MESSAGES, P.MANAGE_CHANNELS, P.MANAGE_THREADS]) {
      expect(holds(older, P.BYPASS_SLOWMODE, beforeMs)).toBe(true);
    }
    expect(holds(P.MANAGE_EVENTS, P.CREATE_GUILD_EXPRESSIONS, beforeMs)).toBe(false);
  });
});
