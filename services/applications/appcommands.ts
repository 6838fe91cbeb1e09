import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { AppCommand, AppCommandFact, CommandPermissions } from '../../engine/appcommand/appcommand.ts';
import {
  type CommandRules,
  type CommandUse,
  mayUseCommand,
  setCommandPermissions,
} from '../../engine/appcommand/permissions.ts';
import {
  type CommandScope,
  deleteCommand,
  editCommand,
  overwriteCommands,
  writeCommand,
} from '../../engine/appcommand/rules.ts';
import type { MemberAccess } from '../../engine/guild/members.ts';
import type { Env, Outcome, Reply } from '../../engine/kernel/aggregate.ts';
import { INSTALLATION } from '../../protocol/appcommands.ts';
import type { ApplicationId, CommandId, FreshId, GuildId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Commit, Storage } from '../../storage/ports.ts';

import type { CommandNotices } from './commandnotices.ts';

interface AppCommandPorts {
  readonly storage: Pick<Storage, 'applications' | 'appCommands'>;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly routing: Routing;
  readonly notices: CommandNotices;
  nextId(): FreshId;
  nowMs(): number;
}

interface PermissionTarget {
  /** A command, or the application for all its commands without overwrites of their own. */
  readonly id: CommandId | ApplicationId;
  /** The member who asks. */
  readonly user: MemberAccess;
}

/** Changes of an application's commands. `guildId` is null for global commands; bodies are the client's JSON. */
export interface AppCommands {
  write(
    applicationId: ApplicationId,
    guildId: GuildId | null,
    body: unknown,
  ): Promise<Reply<{ readonly command: AppCommand; readonly created: boolean }>>;
  edit(
    applicationId: ApplicationId,
    guildId: GuildId | null,
    commandId: CommandId,
    body: unknown,
  ): Promise<Reply<AppCommand>>;
  delete(applicationId: ApplicationId, guildId: GuildId | null, commandId: CommandId): Promise<Reply<null>>;
  overwrite(
    applicationId: ApplicationId,
    guildId: GuildId | null,
    body: unknown,
  ): Promise<Reply<AppCommand[]>>;
  /** Sets the overwrites of a command that the user may use, or those of the application. */
  setPermissions(
    applicationId: ApplicationId,
    guildId: GuildId,
    target: PermissionTarget,
    body: unknown,
  ): Promise<Reply<CommandPermissions>>;
}

/** Changes the commands of an application one after another, each on the owner shard of the application. */
export function createAppCommands({
  storage,
  commitAsOwner,
  routing,
  ...ports
}: AppCommandPorts): AppCommands {
  const mutex = keyedMutex<ApplicationId>();

  const change = <Value>(
    applicationId: ApplicationId,
    guildId: GuildId | null,
    decide: (scope: CommandScope, env: Env) => Outcome<Value, AppCommandFact>,
  ): Promise<Reply<Value>> =>
    mutex(applicationId, async () => {
      const scope = await scopeOf(storage, applicationId, guildId);
      if (!scope) return { ok: false, refusal: refusal('UNKNOWN_APPLICATION') };
      const outcome = decide(scope, { nowMs: ports.nowMs(), nextId: ports.nextId });
      if (!outcome.ok) return outcome;
      if (outcome.facts.length > 0) {
        await commitAsOwner(applicationId, outcome.facts);
        ports.notices.changed(applicationId, guildId);
      }
      return { ok: true, value: outcome.value };
    });

  const write: AppCommands['write'] = (id, guildId, body) =>
    change(id, guildId, (scope, env) => writeCommand(scope, body, env));
  const edit: AppCommands['edit'] = (id, guildId, commandId, body) =>
    change(id, guildId, (scope, env) => editCommand(scope, commandId, body, env));
  const remove: AppCommands['delete'] = (id, guildId, commandId) =>
    change(id, guildId, (scope) => deleteCommand(scope, commandId));
  const overwrite: AppCommands['overwrite'] = (id, guildId, body) =>
    change(id, guildId, (scope, env) => overwriteCommands(scope, body, env));
  const setPermissions: AppCommands['setPermissions'] = (applicationId, guildId, { id, user }, body) =>
    mutex(applicationId, async () => {
      if (!isForAll(id, applicationId)) {
        const no = await useRefusal(storage, { applicationId, guildId, id, user });
        if (no) return { ok: false, refusal: no };
      }
      const outcome = setCommandPermissions({ applicationId, guildId, id }, body);
      if (!outcome.ok) return outcome;
      const all = await storage.appCommands.permissions(applicationId, guildId);
      await commitAsOwner(applicationId, outcome.facts);
      ports.notices.permitted(user.userId, all.find((each) => each.id === id) ?? null, outcome.value);
      ports.notices.changed(applicationId, guildId);
      return { ok: true, value: outcome.value };
    });

  return {
    write: routing.ask('appCommands.write', write),
    edit: routing.ask('appCommands.edit', edit),
    delete: routing.ask('appCommands.delete', remove),
    overwrite: routing.ask('appCommands.overwrite', overwrite),
    setPermissions: routing.ask('appCommands.setPermissions', setPermissions),
  };
}

const isForAll = (id: PermissionTarget['id'], applicationId: ApplicationId): id is ApplicationId =>
  id === applicationId;

async function scopeOf(
  { applications, appCommands }: AppCommandPorts['storage'],
  applicationId: ApplicationId,
  guildId: GuildId | null,
): Promise<CommandScope | null> {
  const application = await applications.get(applicationId);
  if (!application) return null;
  const [commands, creates] = await Promise.all([
    appCommands.list(applicationId, guildId),
    appCommands.creates(applicationId, guildId),
  ]);
  const configured = Object.keys(application.integration_types_config ?? {});
  const installations = Object.values(INSTALLATION).filter((type) => configured.includes(String(type)));
  const { GUILD } = INSTALLATION;
  return {
    ...{ applicationId, guildId, commands, creates },
    installations: installations.length > 0 ? installations : [GUILD],
  };
}

/** The refusal for a command that the guild does not have, or that the user may not use; null for any other. */
async function useRefusal(
  { appCommands }: AppCommandPorts['storage'],
  asked: Pick<PermissionTarget, 'user'> & {
    readonly id: CommandId;
    readonly applicationId: ApplicationId;
    readonly guildId: GuildId;
  },
): Promise<Refusal | null> {
  const { applicationId, guildId, id, user } = asked;
  const [command, all] = await Promise.all([
    appCommands.get(applicationId, id),
    appCommands.permissions(applicationId, guildId),
  ]);
  if (!command || (command.guild_id !== null && command.guild_id !== guildId))
    return refusal('UNKNOWN_APPLICATION_COMMAND');
  const overwritesOf = (targetId: string) => all.find((each) => each.id === targetId)?.permissions;
  const rules: CommandRules = {
    own: overwritesOf(id) ?? null,
    application: overwritesOf(applicationId) ?? [],
    defaultMemberPermissions: command.default_member_permissions,
  };
  const use: CommandUse = { ...user, guildId, channelId: null, permissions: BigInt(user.permissions) };
  return mayUseCommand(use, rules) ? null : refusal('MISSING_PERMISSIONS');
}
