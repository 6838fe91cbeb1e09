// Goal: an application is used only where it is installed, where its command is shown, and as quietly as it has to be.
import { describe, expect, test } from 'vitest';
import type { AppCommand } from '../../../engine/appcommand/appcommand.ts';
import { INSTALLATION, INTERACTION_CONTEXT } from '../../../protocol/appcommands.ts';
import { P } from '../../../protocol/permissions.ts';
import { installations, mayInvokeHere } from '../../../services/interactions/installed.ts';

const { GUILD, USER } = INSTALLATION;
const IN = INTERACTION_CONTEXT;
const invocation = (guildId: string | null) => ({ guildId, userId: '9' }) as never;
const application = (...types: readonly number[]) => ({ id: '5', installations: types }) as never;
const place = (isBotHere: boolean, permissions = 0n, type = 1) => ({
  ...{ isBotHere, type, permissions: String(permissions) },
});
const asked = (
  guildId: string | null,
  isBotHere: boolean,
  types: number[],
  hasInstalled: boolean,
  held = 0n,
) =>
  installations(invocation(guildId), application(...types), place(isBotHere, held), async () => hasInstalled);

describe('the installations of an application', () => {
  test('are those of the guild and of the user who asks', async () => {
    expect(await asked('1', true, [GUILD], false)).toMatchObject({
      ...{ context: IN.GUILD, isHere: true, isByUser: false, owners: { 0: '1' }, forcesEphemeral: false },
    });
    expect(await asked('1', true, [GUILD, USER], true)).toMatchObject({ owners: { 0: '1', 1: '9' } });
    expect(await asked('1', false, [USER], true)).toMatchObject({ isHere: false, owners: { 1: '9' } });
    expect(await asked(null, true, [USER], true)).toMatchObject({
      ...{ context: IN.BOT_DM, owners: { 0: '0', 1: '9' } },
    });
    expect((await asked(null, false, [USER], true)).context).toBe(IN.PRIVATE_CHANNEL);
    const inGroup = installations(
      invocation(null),
      application(GUILD),
      place(true, 0n, 3),
      async () => false,
    );
    expect(await inGroup).toMatchObject({ context: IN.PRIVATE_CHANNEL, isHere: true, owners: {} });
  });

  test('do not count for users when the application takes none', async () => {
    expect(await asked('1', false, [GUILD], true)).toMatchObject({ isByUser: false, owners: {} });
  });

  test.each([
    ['hides its answers from others', '1', false, 0n, true],
    ['shows them to whom the member may show external apps', '1', false, P.USE_EXTERNAL_APPS, false],
    ['shows them where it is installed', '1', true, 0n, false],
    ['shows them in a private channel', null, false, 0n, false],
  ] as const)('%s when only its user has it', async (_how, guildId, isHere, held, forces) => {
    expect((await asked(guildId, isHere, [USER], true, held)).forcesEphemeral).toBe(forces);
  });
});

describe('a command', () => {
  const everywhere = { context: IN.GUILD, isHere: true, isByUser: false, owners: {}, forcesEphemeral: false };
  const refusalOf = (
    command: object,
    { installed = {}, isNsfw = false, isLocked = false, guildId = '1' as string | null } = {},
  ) =>
    mayInvokeHere(
      { integration_types: [GUILD], contexts: null, nsfw: false, ...command } as unknown as AppCommand,
      invocation(guildId),
      { isNsfw, isLocked },
      { ...everywhere, ...installed },
    )?.code ?? null;

  test.each<[string, object, Parameters<typeof refusalOf>[1], number | null]>([
    ['is used where it is installed', {}, {}, null],
    ['is not shown outside its contexts', { contexts: [IN.BOT_DM] }, {}, 10_063],
    ['is shown in its contexts', { contexts: [IN.GUILD, IN.BOT_DM] }, {}, null],
    ['of guilds is not there without the guild', {}, { installed: { isHere: false } }, 10_063],
    [
      'of guilds is not there for its user alone',
      {},
      { installed: { isHere: false, isByUser: true } },
      10_063,
    ],
    [
      'of users is there for its user',
      { integration_types: [USER] },
      { installed: { isHere: false, isByUser: true } },
      null,
    ],
    ['of users is not there for others', { integration_types: [USER] }, {}, 10_063],
    [
      'is there in the private channel with its bot',
      { integration_types: [USER] },
      { installed: { context: IN.BOT_DM }, guildId: null },
      null,
    ],
    ['is refused in a locked thread', {}, { isLocked: true }, 160_005],
    [
      'that is not there is unknown in a locked thread too',
      {},
      { isLocked: true, installed: { isHere: false } },
      10_063,
    ],
    ['of age-gated channels is refused elsewhere', { nsfw: true }, {}, 50_013],
    ['of age-gated channels is used there', { nsfw: true }, { isNsfw: true }, null],
    ['of age-gated channels is used in private', { nsfw: true }, { guildId: null }, null],
  ])('%s', (_how, command, where, code) => {
    expect(refusalOf(command, where)).toBe(code);
  });
});
