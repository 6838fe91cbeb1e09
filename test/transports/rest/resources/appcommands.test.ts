/** Goal: an application manages its own commands and no others; clients read them in their language. */
import { describe, expect, it } from 'vitest';
import { HERE } from '../../../../actors/placement/routing.ts';
import type {
  AppCommand,
  AppCommandFact,
  CommandPermissions,
} from '../../../../engine/appcommand/appcommand.ts';
import type { Authority } from '../../../../engine/kernel/authority.ts';
import type { ApplicationId, FreshId, UserId } from '../../../../protocol/ids.ts';
import { P } from '../../../../protocol/permissions.ts';
import { refusal } from '../../../../protocol/refusal.ts';
import { createAppCommands } from '../../../../services/applications/appcommands.ts';
import type { Caller } from '../../../../transports/rest/operation.ts';
import { appCommands } from '../../../../transports/rest/resources/appcommands.ts';
import { id } from '../../../support/guild.ts';
import { validateResponse } from '../../../support/openapi.ts';
import { pipelineOf } from '../../../support/rest.ts';
import { botOf, callerOf, codeOf, GAME } from './social.ts';

const GUILD = '5';
const bot = botOf(GAME);

/** The operations over a store in memory, and a guild of which everybody but user 666 is a member. */
function open(held = P.MANAGE_GUILD | P.MANAGE_ROLES | P.USE_APPLICATION_COMMANDS) {
  const commands = new Map<string, AppCommand>();
  const permissions = new Map<string, CommandPermissions>();
  const apply = (fact: AppCommandFact): void => {
    if (fact.type === 'appCommandWritten') commands.set(fact.command.id, fact.command);
    if (fact.type === 'appCommandDeleted') commands.delete(fact.commandId);
    if (fact.type === 'appCommandPermissionsWritten') permissions.set(fact.permissions.id, fact.permissions);
  };
  let lastId = 100;
  const store = {
    list: async (application: ApplicationId, guildId: string | null) =>
      [...commands.values()].filter(
        (each) => each.application_id === application && each.guild_id === guildId,
      ),
    get: async (_: string, commandId: string) => commands.get(commandId) ?? null,
    creates: async () => null,
    permissions: async () => [...permissions.values()],
  };
  const application = { id: GAME, integration_types_config: null };
  const storage = {
    applications: { get: async () => application },
    appCommands: store,
  } as never;
  const services = {
    appCommands: createAppCommands({
      ...{
        storage,
        routing: HERE,
        notices: { changed: () => undefined, permitted: () => undefined },
        nowMs: () => 1,
        nextId: () => id<FreshId>(++lastId),
      },
      commitAsOwner: async (_, facts) => {
        for (const fact of facts) apply(fact as AppCommandFact);
      },
    }),
    read: { appCommands: store },
    guilds: {
      call: async (_: string, __: string, ___: object, { by, requires }: Authority) => {
        if (by.userId === '666') return { ok: false, refusal: refusal('MISSING_ACCESS') };
        if ((held & requires) !== requires) return { ok: false, refusal: refusal('MISSING_PERMISSIONS') };
        return { ok: true, value: { userId: by.userId, roles: [], permissions: String(held) } };
      },
    },
  };
  const { pipeline } = pipelineOf(appCommands, { services, limited: false });
  /** Calls an operation; every answer must be valid against the published schema. */
  const call = async (operationId: string, parts: object = {}, caller: Caller = bot) => {
    const answer = await pipeline.invoke(operationId, {
      ...{ caller, publicUrl: '', address: null },
      ...parts,
      params: { application_id: GAME, ...('params' in parts ? (parts.params as object) : {}) },
    } as never);
    expect(validateResponse(operationId, answer.status, answer.body)).toEqual([]);
    return answer;
  };
  return { call };
}

type Body = { readonly id: string } & Record<string, unknown>;
const slash = (name: string, more: object = {}) => ({ name, description: 'What it does', ...more });
const inGuild = { params: { guild_id: GUILD } };

describe('global commands', () => {
  it('answers 201 to a new command and 200 to its replacement', async () => {
    const { call } = open();
    const first = await call('create_application_command', { body: slash('tide') });
    const second = await call('create_application_command', { body: slash('tide', { nsfw: true }) });
    expect(first).toMatchObject({
      status: 201,
      body: {
        ...{
          id: '101',
          application_id: GAME,
          version: '102',
          type: 1,
          name: 'tide',
          name_localizations: null,
        },
        ...{ description: 'What it does', description_localizations: null, nsfw: false, contexts: null },
        ...{ default_member_permissions: null, dm_permission: true, integration_types: [0] },
      },
    });
    expect(Object.keys(first.body as object)).not.toContain('guild_id');
    expect(second).toMatchObject({ status: 200, body: { id: '101', nsfw: true } });
  });

  it('reads, changes and deletes one command', async () => {
    const { call } = open();
    const { body } = await call('create_application_command', { body: slash('tide') });
    const params = { command_id: (body as Body).id };
    expect(await call('get_application_command', { params })).toMatchObject({
      status: 200,
      body: { name: 'tide' },
    });
    const changed = await call('update_application_command', { params, body: { name: 'wind' } });
    expect(changed).toMatchObject({ status: 200, body: { name: 'wind', description: 'What it does' } });
    expect((await call('delete_application_command', { params })).status).toBe(204);
    for (const operation of ['get', 'update', 'delete'])
      expect(codeOf(await call(`${operation}_application_command`, { params, body: {} }))).toBe(10063);
  });

  it('overwrites all commands, and reports invalid ones by their index', async () => {
    const { call } = open();
    await call('create_application_command', { body: slash('old') });
    const put = 'bulk_set_application_commands';
    const set = await call(put, { body: [slash('tide'), { type: 2, name: 'Report' }] });
    expect(set).toMatchObject({ status: 200, body: [{ name: 'tide' }, { name: 'Report', description: '' }] });
    const wrong = await call(put, { body: [slash('tide'), slash('')] });
    expect(wrong).toMatchObject({
      status: 400,
      body: { code: 50035, errors: { 1: { name: { _errors: [{ code: 'BASE_TYPE_BAD_LENGTH' }] } } } },
    });
    const listed = await call('list_application_commands');
    expect((listed.body as Body[]).map(({ name }) => name)).toEqual(['tide', 'Report']);
  });

  it('accepts permissions and bounds beyond 2^53 with all their digits', async () => {
    const { call } = open();
    const body = slash('tide', { default_member_permissions: 18014398509481983n });
    const made = await call('create_application_command', { body });
    expect(made.body).toMatchObject({ default_member_permissions: '18014398509481983' });
  });

  it("lists texts in the client's language, or all translations on request", async () => {
    const { call } = open();
    const choices = [{ name: 'High', value: 'h', name_localizations: { de: 'Hoch' } }];
    const option = {
      type: 3,
      name: 'port',
      description: 'Where',
      name_localizations: { 'es-ES': 'puerto' },
      choices,
    };
    const body = slash('tide', {
      options: [option],
      name_localizations: { de: 'flut', 'en-GB': 'tides' },
      description_localizations: { de: 'Was sie tut' },
    });
    await call('create_application_command', { body });
    const listed = async (parts: object) =>
      ((await call('list_application_commands', parts)).body as Body[])[0] as Body;
    const german = await listed({ locales: ['de'] });
    expect(german).toMatchObject({
      ...{ name: 'tide', name_localized: 'flut', description_localized: 'Was sie tut' },
      options: [{ name_localized: 'port', choices: [{ name: 'High', name_localized: 'Hoch', value: 'h' }] }],
    });
    expect(JSON.stringify(german)).not.toContain('_localizations');
    expect((await listed({ locales: ['en-US'] })).name_localized).toBe('tides');
    expect(await listed({ locales: ['es-419'] })).toMatchObject({ options: [{ name_localized: 'puerto' }] });
    expect((await listed({ locales: ['xx'] })).name_localized).toBe('tide');
    const all = await listed({ query: { with_localizations: 'true' }, locales: ['de'] });
    expect(all.name_localizations).toEqual({ de: 'flut', 'en-GB': 'tides' });
    expect(JSON.stringify(all)).not.toContain('_localized"');
  });

  it('accept a token of the application with the right scope', async () => {
    const { call } = open();
    const caller = callerOf('applications.commands.update');
    expect((await call('list_application_commands', {}, caller)).status).toBe(200);
  });
});

describe('every operation', () => {
  const bearer = callerOf('applications.commands.update');
  const permit = callerOf('applications.commands.permissions.update');
  const other = '99' as ApplicationId;
  const ofOther = (caller: Caller): Caller => ({ ...caller, applicationId: other });

  it.each(Object.keys(appCommands))(
    '%s is refused to callers other than the application',
    async (operationId) => {
      const { call } = open();
      const isSet = operationId === 'set_guild_application_command_permissions';
      const params = { guild_id: GUILD, command_id: GAME };
      const body = operationId.startsWith('bulk') ? [slash('rain')] : { ...slash('rain'), permissions: [] };
      const asked = { params, ...(!/^(list|get|delete)/.test(operationId) && { body }) };
      const code = async (caller: Caller) => codeOf(await call(operationId, asked, caller));
      const [right, wrong] = operationId.includes('permissions') ? [permit, bearer] : [bearer, permit];
      expect({
        'the bot of another application': await code(botOf(other)),
        'a person': await code(callerOf()),
        'a token of another application': await code(ofOther(right)),
        'no token': (await call(operationId, asked, null as never)).status,
        'a token of another scope': (await call(operationId, asked, callerOf('identify'))).status,
        'a token of the other scope of commands': (await call(operationId, asked, wrong)).status,
        'a bot that is not in the guild': operationId.includes('guild')
          ? await code({ ...bot, userId: '666' as UserId })
          : 50001,
      }).toEqual({
        'the bot of another application': isSet ? 20001 : 20012,
        'a person': 20012,
        'a token of another application': 20012,
        'no token': 401,
        'a token of another scope': 403,
        'a token of the other scope of commands': 403,
        'a bot that is not in the guild': isSet ? 20001 : 50001,
      });
    },
  );
});

describe('commands of a guild', () => {
  it('are separate from global ones, and have a guild_id and no contexts', async () => {
    const { call } = open();
    const made = await call('create_guild_application_command', {
      ...inGuild,
      body: slash('tide', { contexts: [0] }),
    });
    expect(made).toMatchObject({ status: 201, body: { guild_id: GUILD } });
    expect(Object.keys(made.body as object)).not.toContain('contexts');
    const params = { command_id: (made.body as Body).id };
    expect((await call('list_application_commands')).body).toEqual([]);
    expect(codeOf(await call('get_application_command', { params }))).toBe(10063);
    const there = { ...params, guild_id: GUILD };
    expect((await call('get_guild_application_command', { params: there })).status).toBe(200);
    const elsewhere = { ...params, guild_id: '6' };
    expect(codeOf(await call('get_guild_application_command', { params: elsewhere }))).toBe(10063);
    const edited = await call('update_guild_application_command', { params: there, body: { name: 'wind' } });
    expect(edited).toMatchObject({ status: 200, body: { name: 'wind' } });
    expect((await call('delete_guild_application_command', { params: there })).status).toBe(204);
    const set = await call('bulk_set_guild_application_commands', { ...inGuild, body: [slash('rain')] });
    expect(set).toMatchObject({ status: 200, body: [{ name: 'rain' }] });
    expect((await call('list_guild_application_commands', inGuild)).body).toHaveLength(1);
  });

  it('are refused to a bot outside of the guild', async () => {
    const { call } = open();
    const stranger = { ...bot, userId: '666' as UserId };
    expect(codeOf(await call('list_guild_application_commands', inGuild, stranger))).toBe(50001);
  });
});

describe('permissions of commands', () => {
  const set = 'set_guild_application_command_permissions';
  const person = callerOf('applications.commands.permissions.update');
  const overwrite = { id: '7', type: 2, permission: false };
  const params = { guild_id: GUILD, command_id: GAME };

  it('are set by a member with the right scope, and read by the application', async () => {
    const { call } = open();
    const stored = { id: GAME, application_id: GAME, guild_id: GUILD, permissions: [overwrite] };
    const get = 'get_guild_application_command_permissions';
    expect(codeOf(await call(get, { params }))).toBe(10066);
    const body = { permissions: [overwrite] };
    expect(await call(set, { params, body }, person)).toMatchObject({ status: 200, body: stored });
    expect(await call(get, { params })).toMatchObject({ status: 200, body: stored });
    const all = await call('list_guild_application_command_permissions', { params });
    expect(all).toMatchObject({ status: 200, body: [stored] });
  });

  it('are not set by bots, by users without a token of the application or without permissions in the guild', async () => {
    const body = { permissions: [overwrite] };
    const { call } = open();
    expect(codeOf(await call(set, { params, body }, bot))).toBe(20001);
    expect(codeOf(await call(set, { params, body }, callerOf()))).toBe(20012);
    const weak = open(P.MANAGE_GUILD);
    expect(codeOf(await weak.call(set, { params, body }, person))).toBe(50013);
  });

  it('are refused for an unknown command and with more than 100 overwrites', async () => {
    const { call } = open();
    const unknown = { ...params, command_id: '4242' };
    expect(codeOf(await call(set, { params: unknown, body: { permissions: [] } }, person))).toBe(10063);
    const permissions = Array.from({ length: 101 }, (_, at) => ({ ...overwrite, id: String(at) }));
    expect(await call(set, { params, body: { permissions } }, person)).toMatchObject({
      status: 400,
      body: { code: 50035, errors: { permissions: { _errors: [{ code: 'BASE_TYPE_MAX_LENGTH' }] } } },
    });
  });
});
