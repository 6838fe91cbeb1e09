// Goal: people's clients complete the commands that can be used in a place, and learn of the overwrites that concern them alone.
import { describe, expect, test } from 'vitest';
import type { AppCommand, CommandPermissions } from '../../../engine/appcommand/appcommand.ts';
import { type Authority, SYSTEM } from '../../../engine/kernel/authority.ts';
import { newApplication } from '../../../engine/user/application.ts';
import type { ApplicationId, ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { type CommandIndex, createCommandIndexes } from '../../../services/applications/commandindex.ts';
import { user } from '../../support/guild.ts';

const GUILD = '50' as GuildId;
const [ANN, BEN, BOT] = ['10', '11', '900'] as [UserId, UserId, UserId];
const APP = '900' as ApplicationId;
const [DM, GROUP] = ['70', '71'] as [ChannelId, ChannelId];
const [GUILD_INSTALL, USER_INSTALL] = [0, 1];
const [IN_GUILD, BOT_DM, PRIVATE] = [0, 1, 2];

const application = newApplication(APP, BOT, { name: 'Lantern', ownerId: ANN, flags: 0, verifyKey: 'a' });

let lastId = 1_000;
const command = (name: string, more: object = {}): AppCommand =>
  ({
    ...{
      id: String(++lastId),
      application_id: APP,
      guild_id: null,
      version: String(++lastId),
      type: 1,
      name,
    },
    ...{ integration_types: [GUILD_INSTALL], contexts: null, default_member_permissions: null },
    ...more,
  }) as unknown as AppCommand;

const commands = [
  command('anywhere'),
  command('guilds', { contexts: [IN_GUILD] }),
  command('dms', { contexts: [BOT_DM] }),
  command('groups', { contexts: [PRIVATE] }),
  command('mine', { integration_types: [USER_INSTALL] }),
  command('both', { integration_types: [GUILD_INSTALL, USER_INSTALL] }),
  command('local', { guild_id: GUILD, integration_types: undefined, contexts: undefined }),
];

function indexes(overwrites: readonly CommandPermissions[] = []) {
  const channel = (of: ChannelId, recipientIds: readonly UserId[], group?: object) =>
    [of, { id: of, recipientIds, ...(group && { group }) }] as const;
  const channels = new Map<string, unknown>([
    channel(DM, [ANN, BOT]),
    channel(GROUP, [ANN, BEN, BOT], { ownerId: ANN }),
  ]);
  return createCommandIndexes({
    storage: {
      applications: {
        inGuild: async () => [application],
        byBot: async (botId: string) => (botId === BOT ? application : null),
        get: async (wanted: string) => (wanted === APP ? application : null),
      },
      appCommands: {
        shown: async (ids: readonly string[], guildId: string | null) =>
          commands.filter(
            ({ application_id: by, guild_id: of }) => ids.includes(by) && (of === null || of === guildId),
          ),
        permissionsIn: async () => overwrites,
      },
      privateChannels: { get: async (wanted: string) => channels.get(wanted) ?? null },
      users: { get: async () => [user(BOT)] },
    } as never,
    guilds: {
      call: async (_: string, __: string, ___: object, { by }: Authority) =>
        by.userId === ANN
          ? { ok: true, value: { userId: ANN, roles: ['60'], permissions: '0' } }
          : { ok: false, refusal: refusal('MISSING_ACCESS') },
    } as never,
    installedBy: async (userId) => (userId === ANN ? [APP] : []),
  });
}

const as = (userId: UserId): Authority => ({ by: { ...SYSTEM.by, userId }, requires: 0n });
const read = async (reply: ReturnType<ReturnType<typeof indexes>['ofUser']>): Promise<CommandIndex> => {
  const found = await reply;
  if (!found.ok) throw new Error(found.refusal.message);
  return found.value;
};
const names = ({ commands: found }: CommandIndex) => found.map(({ command: { name } }) => name);

describe('the commands of an index', () => {
  test('are the commands whose contexts and integration types match the channel', async () => {
    const at = indexes();
    expect(names(await read(at.ofGuild(GUILD, as(ANN))))).toEqual(['anywhere', 'guilds', 'both', 'local']);
    expect(names(await read(at.ofChannel(DM, ANN)))).toEqual(['anywhere', 'dms', 'mine', 'both']);
    expect(names(await read(at.ofChannel(GROUP, ANN)))).toEqual(['anywhere', 'groups', 'mine', 'both']);
    expect(names(await read(at.ofUser(ANN)))).toEqual(['mine', 'both']);
    expect(names(await read(at.ofApplication(APP, ANN)))).toEqual([
      ...['anywhere', 'guilds', 'dms', 'groups', 'mine', 'both'],
    ]);
    const newest = Math.max(...commands.map(({ version }) => Number(version)));
    expect((await read(at.ofGuild(GUILD, as(ANN)))).version).toBe(String(newest));
  });

  test('are refused outside of the guild or the channel, or without the installation', async () => {
    const at = indexes();
    expect(await at.ofGuild(GUILD, as(BEN))).toMatchObject({ refusal: { code: 50_001 } });
    expect(await at.ofChannel(DM, BEN)).toMatchObject({ refusal: { code: 10_003 } });
    expect(await at.ofChannel('79' as ChannelId, ANN)).toMatchObject({ refusal: { code: 10_003 } });
    expect(await at.ofApplication(APP, BEN)).toMatchObject({ refusal: { code: 10_002 } });
    expect(await read(at.ofUser(BEN))).toEqual({ applications: [], commands: [], version: '0' });
  });
});

test('the permissions of an index are those of the reader, of the reader’s roles and @everyone, and of channels', async () => {
  const [first] = commands;
  const overwrite = (of: string, type: number, permission: boolean) => ({ id: of, type, permission });
  const permissions = [
    ...[
      overwrite(ANN, 2, true),
      overwrite(BEN, 2, false),
      overwrite('60', 1, true),
      overwrite('61', 1, false),
    ],
    ...[overwrite(GUILD, 1, false), overwrite('49', 3, false), overwrite(DM, 3, true)],
  ];
  const named = { application_id: APP, guild_id: GUILD };
  const at = indexes([
    { ...named, id: first!.id, permissions },
    { ...named, id: APP, permissions: [overwrite(GUILD, 1, false)] },
  ] as unknown as CommandPermissions[]);
  const index = await read(at.ofGuild(GUILD, as(ANN)));
  expect(index.commands[0]?.permissions).toEqual({
    ...{ user: true, roles: { 60: true, [GUILD]: false }, channels: { 49: false, [DM]: true } },
  });
  expect(index.commands[1]).not.toHaveProperty('permissions');
  expect(index.applications[0]?.permissions).toEqual({ roles: { [GUILD]: false }, channels: {} });
  expect((await read(at.ofChannel(DM, ANN))).commands[0]).not.toHaveProperty('permissions');
});
