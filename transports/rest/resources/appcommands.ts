import type { AppCommand } from '../../../engine/appcommand/appcommand.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { ApplicationId, CommandId, GuildId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../../protocol/refusal.ts';
import { Command, CommandPermissions } from '../../../protocol/schemas/command.ts';
import { Any, Bool, Obj, Optional } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { commandBody, localesOf } from '../appcommands.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Answer, type Caller, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: null, limit: 20, windowMs: 10_000 } as const;
const WRITE = { per: null, limit: 20, windowMs: 20_000 } as const;
const UPDATE = 'applications.commands.update';
const PERMIT = 'applications.commands.permissions.update';

const ListQuery = Obj({ with_localizations: Optional(Bool()) });
/** `engine/appcommand` reads the body, because what a field may be depends on the type of the command. */
const Body = Any();

interface CommandRequest {
  readonly caller: Caller;
  readonly authority: Authority;
  readonly params: { readonly application_id: ApplicationId; readonly guild_id?: GuildId };
}

/**
 * The refusal of a caller that is not the application, or that is not in the guild; null when both hold.
 */
async function denied(
  { caller, authority, params }: CommandRequest,
  services: Services,
): Promise<Refusal | null> {
  const no = services.applicationAccess.applicationRefusal(caller, params.application_id);
  if (no) return no;
  if (params.guild_id === undefined) return null;
  const input = { userId: caller.userId };
  const member = await services.guilds.call(params.guild_id, 'getMember', input, authority);
  return member.ok ? null : member.refusal;
}

const bodyOf = (command: AppCommand): object => commandBody(command, 'all');

async function listAll(
  asked: CommandRequest & {
    readonly query: { readonly with_localizations?: boolean };
    readonly locales: readonly string[];
  },
  services: Services,
): Promise<Answer> {
  const no = await denied(asked, services);
  if (no) return { ok: false, refusal: no };
  const { application_id, guild_id } = asked.params;
  const commands = await services.read.appCommands.list(application_id, guild_id ?? null);
  const wording = asked.query.with_localizations === true ? 'all' : localesOf(asked.locales);
  return { ok: true, value: commands.map((command) => commandBody(command, wording)) };
}

async function get(
  asked: CommandRequest & { readonly params: { readonly command_id: CommandId } },
  services: Services,
): Promise<Answer> {
  const no = await denied(asked, services);
  if (no) return { ok: false, refusal: no };
  const { application_id, guild_id = null, command_id } = asked.params;
  const command = await services.read.appCommands.get(application_id, command_id);
  if (command?.guild_id !== guild_id) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION_COMMAND') };
  return { ok: true, value: bodyOf(command) };
}

type WithBody = CommandRequest & { readonly body: unknown };

async function write(asked: WithBody, services: Services): Promise<Answer> {
  const no = await denied(asked, services);
  if (no) return { ok: false, refusal: no };
  const { application_id, guild_id = null } = asked.params;
  const reply = await services.appCommands.write(application_id, guild_id, asked.body);
  if (!reply.ok) return reply;
  const { command, created } = reply.value;
  return { ok: true, status: created ? 201 : 200, value: bodyOf(command) };
}

async function edit(
  asked: WithBody & { readonly params: { readonly command_id: CommandId } },
  services: Services,
): Promise<Answer> {
  const no = await denied(asked, services);
  if (no) return { ok: false, refusal: no };
  const { application_id, guild_id = null, command_id } = asked.params;
  const reply = await services.appCommands.edit(application_id, guild_id, command_id, asked.body);
  return reply.ok ? { ok: true, value: bodyOf(reply.value) } : reply;
}

async function remove(
  asked: CommandRequest & { readonly params: { readonly command_id: CommandId } },
  services: Services,
): Promise<Answer> {
  const no = await denied(asked, services);
  if (no) return { ok: false, refusal: no };
  const { application_id, guild_id = null, command_id } = asked.params;
  return services.appCommands.delete(application_id, guild_id, command_id);
}

async function overwrite(asked: WithBody, services: Services): Promise<Answer> {
  const no = await denied(asked, services);
  if (no) return { ok: false, refusal: no };
  const { application_id, guild_id = null } = asked.params;
  const reply = await services.appCommands.overwrite(application_id, guild_id, asked.body);
  return reply.ok ? { ok: true, value: reply.value.map(bodyOf) } : reply;
}

const ALL = '/applications/:application_id/commands' as const;
const ONE = '/applications/:application_id/commands/:command_id' as const;
const GUILD_ALL = '/applications/:application_id/guilds/:guild_id/commands' as const;
const GUILD_ONE = '/applications/:application_id/guilds/:guild_id/commands/:command_id' as const;

const reads = { auth: 'any', scope: UPDATE, bucket: READ, status: 200 } as const;
const writes = { auth: 'any', scope: UPDATE, bucket: WRITE, status: 200, body: Body } as const;
const single = { ...writes, bodyBytesMax: BODY_BYTES.message } as const;
const bulk = { ...writes, bodyBytesMax: BODY_BYTES.translations } as const;
const deletes = { auth: 'any', scope: UPDATE, bucket: WRITE, status: 204, reply: none } as const;

/** Application commands, global and of a guild. */
export const appCommands = resource({
  list_application_commands: op({
    method: 'GET',
    path: ALL,
    ...reads,
    query: ListQuery,
    reply: list(Command),
    handle: (asked, services) => listAll(asked, services),
  }),
  create_application_command: op({
    method: 'POST',
    path: ALL,
    ...single,
    reply: Command,
    also: { 201: Command },
    handle: (asked, services) => write(asked, services),
  }),
  bulk_set_application_commands: op({
    method: 'PUT',
    path: ALL,
    ...bulk,
    reply: list(Command),
    handle: (asked, services) => overwrite(asked, services),
  }),
  get_application_command: op({
    method: 'GET',
    path: ONE,
    ...reads,
    reply: Command,
    handle: (asked, services) => get(asked, services),
  }),
  update_application_command: op({
    method: 'PATCH',
    path: ONE,
    ...single,
    reply: Command,
    handle: (asked, services) => edit(asked, services),
  }),
  delete_application_command: op({
    method: 'DELETE',
    path: ONE,
    ...deletes,
    handle: (asked, services) => remove(asked, services),
  }),

  list_guild_application_commands: op({
    method: 'GET',
    path: GUILD_ALL,
    ...reads,
    query: ListQuery,
    reply: list(Command),
    handle: (asked, services) => listAll(asked, services),
  }),
  create_guild_application_command: op({
    method: 'POST',
    path: GUILD_ALL,
    ...single,
    reply: Command,
    also: { 201: Command },
    handle: (asked, services) => write(asked, services),
  }),
  bulk_set_guild_application_commands: op({
    method: 'PUT',
    path: GUILD_ALL,
    ...bulk,
    reply: list(Command),
    handle: (asked, services) => overwrite(asked, services),
  }),
  get_guild_application_command: op({
    method: 'GET',
    path: GUILD_ONE,
    ...reads,
    reply: Command,
    handle: (asked, services) => get(asked, services),
  }),
  update_guild_application_command: op({
    method: 'PATCH',
    path: GUILD_ONE,
    ...single,
    reply: Command,
    handle: (asked, services) => edit(asked, services),
  }),
  delete_guild_application_command: op({
    method: 'DELETE',
    path: GUILD_ONE,
    ...deletes,
    handle: (asked, services) => remove(asked, services),
  }),

  list_guild_application_command_permissions: op({
    method: 'GET',
    path: '/applications/:application_id/guilds/:guild_id/commands/permissions',
    auth: 'any',
    scope: PERMIT,
    bucket: READ,
    status: 200,
    reply: list(CommandPermissions),
    async handle(asked, services) {
      const no = await denied(asked, services);
      if (no) return { ok: false, refusal: no };
      const { application_id, guild_id } = asked.params;
      return { ok: true, value: await services.read.appCommands.permissions(application_id, guild_id) };
    },
  }),

  get_guild_application_command_permissions: op({
    method: 'GET',
    path: '/applications/:application_id/guilds/:guild_id/commands/:command_id/permissions',
    auth: 'any',
    scope: PERMIT,
    bucket: READ,
    status: 200,
    reply: CommandPermissions,
    async handle(asked, services) {
      const no = await denied(asked, services);
      if (no) return { ok: false, refusal: no };
      const { application_id, guild_id, command_id } = asked.params;
      const all = await services.read.appCommands.permissions(application_id, guild_id);
      const found = all.find(({ id }) => id === command_id);
      return found
        ? { ok: true, value: found }
        : { ok: false, refusal: refusal('UNKNOWN_APPLICATION_COMMAND_PERMISSIONS') };
    },
  }),

  set_guild_application_command_permissions: op({
    method: 'PUT',
    path: '/applications/:application_id/guilds/:guild_id/commands/:command_id/permissions',
    permission: P.MANAGE_GUILD | P.MANAGE_ROLES,
    auth: 'user',
    scope: PERMIT,
    bucket: WRITE,
    status: 200,
    reply: CommandPermissions,
    body: Obj({ permissions: Optional(Any()) }),
    async handle({ caller, authority, params, body }, { applicationAccess, guilds, appCommands: commands }) {
      const { application_id, guild_id, command_id } = params;
      const no = applicationAccess.applicationRefusal(caller, application_id);
      if (no) return { ok: false, refusal: no };
      const user = await guilds.call(guild_id, 'getOwnAccess', {}, authority);
      if (!user.ok) return user;
      const target = { id: command_id, user: user.value };
      const reply = await commands.setPermissions(application_id, guild_id, target, body.permissions);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),
});
