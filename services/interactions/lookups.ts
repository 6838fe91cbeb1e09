import type { AppCommand } from '../../engine/appcommand/appcommand.ts';
import type { CommandRules } from '../../engine/appcommand/permissions.ts';
import { authorOf } from '../../engine/webhook/webhook.ts';
import { INSTALLATION, type Installation } from '../../protocol/appcommands.ts';
import type { ApplicationId, GuildId, UserId, WebhookId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Storage } from '../../storage/ports.ts';

/** An application as interactions need it. */
export interface InvokableApplication {
  readonly id: ApplicationId;
  readonly name: string;
  readonly icon: string | null;
  /** Null for an application without a bot. */
  readonly bot: APIUser | null;
  /** Its bot, or for an application without one an author of its name. */
  readonly author: APIUser;
  readonly endpointUrl: string | null;
  readonly installations: readonly Installation[];
}

type Stores = Pick<Storage, 'applications' | 'appCommands' | 'users'>;

/** How long a row may be used after it was read, and how many rows are kept. */
const FRESH_MS = 1_000;
const KEPT_MAX = 1_000;

/** Reads through a short memory: under load a row is read once a second, and a change counts within a second. */
export function recently<Value>(
  read: (key: string) => Promise<Value>,
  nowMs: () => number,
): (key: string, isGood?: (value: Value) => boolean) => Promise<Value> {
  const kept = new Map<string, { readonly value: Promise<Value>; readonly atMs: number }>();
  return async (key, isGood) => {
    const known = kept.get(key);
    if (known && nowMs() - known.atMs < FRESH_MS) {
      const value = await known.value;
      if (!isGood || isGood(value)) return value;
    }
    const value = read(key);
    kept.delete(key);
    kept.set(key, { value, atMs: nowMs() });
    if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
    value.catch(() => kept.delete(key));
    return value;
  };
}

/** Reads of applications and their commands. */
export interface Lookups {
  application(id: ApplicationId): Promise<InvokableApplication | null>;
  /** The command; read again when it does not have this version. */
  command(applicationId: string, commandId: string, version: string): Promise<AppCommand | null>;
  /** What decides who may use the commands of an application in a guild. */
  rules(
    application: Pick<InvokableApplication, 'id'>,
    guildId: string,
  ): Promise<(command: AppCommand) => CommandRules>;
}

export function createLookups({ applications, appCommands, users }: Stores, nowMs: () => number): Lookups {
  const application = recently(async (key): Promise<InvokableApplication | null> => {
    const found = await applications.get(key as ApplicationId);
    if (!found) return null;
    const [bot = null] = found.bot_id === null ? [] : await users.get([found.bot_id]);
    const { id, name, icon } = found;
    const configured = Object.keys(found.integration_types_config ?? { [INSTALLATION.GUILD]: {} });
    const own: string = id;
    return {
      ...{ id, name, icon, bot },
      author: bot ?? authorOf({ id: own as WebhookId, name, avatar: icon }),
      endpointUrl: found.interactions_endpoint_url,
      installations: Object.values(INSTALLATION).filter((type) => configured.includes(String(type))),
    };
  }, nowMs);
  const command = recently((key) => {
    const [applicationId = '', commandId = ''] = key.split(' ');
    return appCommands.get(applicationId as ApplicationId, commandId);
  }, nowMs);
  const permissions = recently((key) => {
    const [applicationId = '', guildId = ''] = key.split(' ');
    return appCommands.permissions(applicationId as ApplicationId, guildId as GuildId);
  }, nowMs);
  return {
    application: (id) => application(id, (found) => found !== null),
    command: (applicationId, commandId, version) =>
      command(`${applicationId} ${commandId}`, (found) => found?.version === version),
    async rules({ id }, guildId) {
      const all = await permissions(`${id} ${guildId}`);
      const of = (target: string) => all.find((each) => each.id === target)?.permissions;
      return (one) => ({
        own: of(one.id) ?? null,
        application: of(id) ?? [],
        defaultMemberPermissions: one.default_member_permissions,
      });
    },
  };
}

export type BotId = UserId;
