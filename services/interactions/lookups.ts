import type { AppCommand } from '../../engine/appcommand/appcommand.ts';
import type { CommandRules } from '../../engine/appcommand/permissions.ts';
import { authorOf } from '../../engine/webhook/webhook.ts';
import { INSTALLATION, type Installation } from '../../protocol/appcommands.ts';
import {
  type ApplicationId,
  type CommandId,
  type GuildId,
  snowflakeOf,
  type UserId,
} from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Entitlement } from '../../protocol/premium.ts';
import type { Storage } from '../../storage/ports.ts';
import { createReadCache } from '../readcache.ts';

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

type Stores = Pick<Storage, 'applications' | 'appCommands' | 'users' | 'premium'>;

/** Most entitlements in an interaction object. */
const ENTITLEMENTS_MAX = 100;

/** Reads of applications and their commands. */
export interface Lookups {
  /** The application or its commands changed. */
  forget(applicationId: string): void;
  application(id: ApplicationId): Promise<InvokableApplication | null>;
  /** The command; read again when it does not have this version. */
  command(applicationId: ApplicationId, commandId: CommandId, version: string): Promise<AppCommand | null>;
  /** Entitlements of the user and the guild to the application that give access now. */
  entitlements(
    applicationId: ApplicationId,
    userId: UserId,
    guildId: GuildId | null,
  ): Promise<readonly Entitlement[]>;
  /** The rules that decide which members may use the commands of an application in a guild. */
  rules(
    application: Pick<InvokableApplication, 'id'>,
    guildId: GuildId,
  ): Promise<(command: AppCommand) => CommandRules>;
}

export function createLookups(
  { applications, appCommands, users, premium }: Stores,
  nowMs: () => number,
): Lookups {
  const skus = createReadCache((id: ApplicationId) => premium.skus(id), nowMs);
  const application = createReadCache(async (id: ApplicationId): Promise<InvokableApplication | null> => {
    const found = await applications.get(id);
    if (!found) return null;
    const [bot = null] = found.bot_id === null ? [] : await users.get([found.bot_id]);
    const { name, icon } = found;
    const configured = Object.keys(found.integration_types_config ?? { [INSTALLATION.GUILD]: {} });
    return {
      ...{ id, name, icon, bot },
      author: bot ?? authorOf({ id: authorIdOf(id), name, avatar: icon }),
      endpointUrl: found.interactions_endpoint_url,
      installations: Object.values(INSTALLATION).filter((type) => configured.includes(String(type))),
    };
  }, nowMs);
  const command = createReadCache(
    (applicationId: ApplicationId, commandId: CommandId) => appCommands.get(applicationId, commandId),
    nowMs,
  );
  const permissions = createReadCache(
    (applicationId: ApplicationId, guildId: GuildId) => appCommands.permissions(applicationId, guildId),
    nowMs,
  );
  return {
    application: (id) => application.read([id], (found) => found !== null),
    command: (applicationId, commandId, version) =>
      command.read([applicationId, commandId], (found) => found?.version === version),
    async entitlements(applicationId, userId, guildId) {
      // Most applications sell nothing: they cost no read for each interaction.
      if ((await skus.read([applicationId])).length === 0) return [];
      const of = (receiver: { userId: UserId | null; guildId: GuildId | null }) =>
        premium.entitlements({
          ...{ applicationId, ...receiver, skuIds: null, before: null, after: null },
          ...{ limit: ENTITLEMENTS_MAX, endedByMs: null, activeAtMs: nowMs() },
          ...{ withDeleted: false, withConsumed: false },
        });
      const [own, shared] = await Promise.all([
        of({ userId, guildId: null }),
        guildId === null ? [] : of({ userId: null, guildId }),
      ]);
      const all = new Map([...own, ...shared].map((each) => [each.id, each]));
      // One that the user holds for another guild gives nothing here.
      return [...all.values()].filter((each) => each.guildId === null || each.guildId === guildId);
    },
    async rules({ id }, guildId) {
      const all = await permissions.read([id, guildId]);
      const of = (target: string) => all.find((each) => each.id === target)?.permissions;
      return (one) => ({
        own: of(one.id) ?? null,
        application: of(id) ?? [],
        defaultMemberPermissions: one.default_member_permissions,
      });
    },
    forget(id) {
      for (const rows of [application, command, permissions, skus]) rows.forget(id);
    },
  };
}

/** The author of an application's messages has the application's id when it has no bot. */
const authorIdOf = (id: string): UserId => snowflakeOf(BigInt(id));
