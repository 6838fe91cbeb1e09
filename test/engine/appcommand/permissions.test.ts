/** Goal: whether a member may use a command follows from one table of user, role, channel, default and administrator. */
import { describe, expect, it } from 'vitest';
import type { CommandOverwrite } from '../../../engine/appcommand/appcommand.ts';
import {
  type CommandRules,
  type CommandUse,
  mayUseCommand,
  setCommandPermissions,
} from '../../../engine/appcommand/permissions.ts';
import type { ApplicationId, CommandId, GuildId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { leavesOf } from '../../support/errortree.ts';
import { id } from '../../support/guild.ts';

const USER = '30';
const [ROLE, OTHER_ROLE, STRANGE_ROLE] = ['40', '41', '42'];
const GUILD = '10';
const ALL_CHANNELS = '9';
const CHANNEL = '50';

const use = (more: Partial<CommandUse> = {}): CommandUse => ({
  guildId: id<GuildId>(GUILD),
  ...{ userId: USER, roles: [ROLE, OTHER_ROLE], channelId: CHANNEL },
  permissions: P.USE_APPLICATION_COMMANDS | P.KICK_MEMBERS,
  ...more,
});
const to =
  (type: CommandOverwrite['type']) =>
  (whom: string, permission: boolean): CommandOverwrite => ({ id: whom, type, permission });
const [role, user, channel] = [to(1), to(2), to(3)];
const rules = (own: CommandOverwrite[] | null, more: Partial<CommandRules> = {}): CommandRules => ({
  ...{ own, application: [], defaultMemberPermissions: null },
  ...more,
});
const needing = (bits: bigint, own: CommandOverwrite[] | null = null) =>
  rules(own, { defaultMemberPermissions: String(bits) });

describe('a member', () => {
  it.each<[string, boolean, CommandRules, Partial<CommandUse>?]>([
    ['may use a command without any rule', true, rules(null)],
    [
      'may use nothing without USE_APPLICATION_COMMANDS',
      false,
      rules([user(USER, true)]),
      { permissions: 0n },
    ],
    [
      'ignores all overwrites with ADMINISTRATOR',
      true,
      needing(0n, [user(USER, false), channel(CHANNEL, false)]),
      { permissions: P.ADMINISTRATOR },
    ],
    ['needs the default permissions', false, needing(P.BAN_MEMBERS)],
    ['may use a command with its default permissions', true, needing(P.KICK_MEMBERS)],
    ['needs all of the default permissions', false, needing(P.KICK_MEMBERS | P.BAN_MEMBERS)],
    ['needs ADMINISTRATOR when the default permissions are 0', false, needing(0n)],
    ['may be allowed in spite of the default', true, needing(0n, [user(USER, true)])],
    ['may be allowed by a role in spite of the default', true, needing(0n, [role(ROLE, true)])],
    ['may be allowed through everyone in spite of the default', true, needing(0n, [role(GUILD, true)])],
    ['may be denied in spite of the default', false, needing(P.KICK_MEMBERS, [user(USER, false)])],
    ['may be denied by a role', false, rules([role(ROLE, false)])],
    ['may be denied through everyone', false, rules([role(GUILD, false)])],
    [
      'is allowed by one role though another denies',
      true,
      rules([role(ROLE, false), role(OTHER_ROLE, true)]),
    ],
    ['is allowed by a role though everyone is denied', true, rules([role(GUILD, false), role(ROLE, true)])],
    ['is denied by a role though everyone is allowed', false, rules([role(GUILD, true), role(ROLE, false)])],
    ['is allowed as a user though a role denies', true, rules([role(ROLE, false), user(USER, true)])],
    ['is denied as a user though a role allows', false, rules([role(ROLE, true), user(USER, false)])],
    ['is not affected by overwrites of others', true, rules([role(STRANGE_ROLE, false), user('31', false)])],
    ['is not affected by a role overwrite with the id of a user', true, rules([role(USER, false)])],
    ['may not use a command in a denied channel', false, rules([channel(CHANNEL, false), user(USER, true)])],
    [
      'may not use a command anywhere when all channels are denied',
      false,
      rules([channel(ALL_CHANNELS, false)]),
    ],
    [
      'may use a command in the one allowed channel',
      true,
      rules([channel(ALL_CHANNELS, false), channel(CHANNEL, true)]),
    ],
    [
      'may not use a command in the one denied channel',
      false,
      rules([channel(ALL_CHANNELS, true), channel(CHANNEL, false)]),
    ],
    [
      'may use a command in the guild as a whole though channels are denied',
      true,
      rules([channel(ALL_CHANNELS, false)]),
      { channelId: null },
    ],
    ['is not affected by other channels', true, rules([channel('51', false)])],
    [
      'needs the default permissions in an allowed channel too',
      false,
      needing(P.BAN_MEMBERS, [channel(CHANNEL, true)]),
    ],
    [
      'follows the overwrites of the application when the command has none',
      false,
      rules(null, { application: [user(USER, false)] }),
    ],
    [
      'follows the overwrites of the command when it has its own',
      true,
      rules([role(ROLE, true)], { application: [user(USER, false)] }),
    ],
    ['follows empty overwrites of the command', true, rules([], { application: [user(USER, false)] })],
  ])('%s (may use the command: %s)', (_, may, given, more) => {
    expect(mayUseCommand(use(more), given)).toBe(may);
  });
});

describe('the overwrites of a request', () => {
  const target = {
    applicationId: id<ApplicationId>(900),
    guildId: id<GuildId>(GUILD),
    id: id<CommandId>('77'),
  };
  const read = (raw: unknown) => setCommandPermissions(target, raw);
  const overwritesIn = (raw: unknown) => {
    const outcome = read(raw);
    return outcome.ok ? outcome.value.permissions : outcome.refusal;
  };
  const overwrites = (length: number) =>
    Array.from({ length }, (_, at) => ({ id: String(at), type: 1, permission: true }));
  const one = { id: '5', type: 2, permission: false };

  it('are read with their ids as strings', () => {
    expect(overwritesIn([{ ...one, id: 5, extra: 1 }])).toEqual([one]);
    expect(overwritesIn(null)).toEqual([]);
    expect(read(overwrites(100)).ok).toBe(true);
  });

  it.each([
    ['more than 100', overwrites(101), 'permissions: BASE_TYPE_MAX_LENGTH'],
    ['an unknown type', [{ ...one, type: 4 }], 'permissions.0.type: BASE_TYPE_CHOICES'],
    ['no type', [{ ...one, type: null }], 'permissions.0.type: BASE_TYPE_REQUIRED'],
    ['no id', [{ type: 1, permission: true }], 'permissions.0.id: BASE_TYPE_REQUIRED'],
    ['an invalid id', [{ ...one, id: 'x' }], 'permissions.0.id: NUMBER_TYPE_COERCE'],
    ['no permission', [{ id: '5', type: 1 }], 'permissions.0.permission: BASE_TYPE_REQUIRED'],
    [
      'a permission that is not a boolean',
      [{ ...one, permission: 'no' }],
      'permissions.0.permission: BOOLEAN_TYPE_CONVERT',
    ],
    ['the same overwrite twice', [one, one], 'permissions.1: APPLICATION_COMMAND_PERMISSIONS_DUPLICATE'],
    ['an entry that is not an object', [5], 'permissions.0: MODEL_TYPE_CONVERT'],
  ])('are rejected with %s', (_, raw, problem) => {
    const outcome = read(raw);
    expect(outcome.ok ? [] : leavesOf(outcome.refusal.errors ?? {})).toEqual([problem]);
  });
});
