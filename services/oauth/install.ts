import { webhookEvent } from '../../engine/application/webhookevents.ts';
import type { Env, Reply } from '../../engine/kernel/aggregate.ts';
import type { Install } from '../../engine/oauth/facts.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Scope } from '../../protocol/scopes.ts';
import type { StoredFact } from '../../storage/ports.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { OAuth } from './ports.ts';

export interface InstallPorts {
  readonly users: Pick<UserStore, 'get'>;
  /** Adds the bot on behalf of the approver, who needs MANAGE_GUILD in the guild. */
  addBot(approverId: UserId, application: Application, install: Install): Promise<Reply<unknown>>;
  /** The guild object for APPLICATION_AUTHORIZED; null for a deleted guild. */
  guildObject(guildId: GuildId): Promise<object | null>;
}

/** Adds a bot to a guild. */
export type Installer = (
  approverId: UserId,
  application: Application,
  install: Install,
) => Promise<Reply<unknown>>;

/** The webhook event APPLICATION_AUTHORIZED; none when the application does not subscribe to it. */
export async function authorizedFacts(
  ports: Pick<InstallPorts, 'users' | 'guildObject'>,
  authorized: {
    readonly application: Application;
    readonly userId: UserId;
    readonly scopes: readonly Scope[];
    /** Null when nothing is installed. */
    readonly integrationType: 0 | 1 | null;
    readonly guildId: GuildId | null;
  },
  env: Pick<Env, 'nowMs' | 'nextId'>,
): Promise<StoredFact[]> {
  const { application, userId, scopes, integrationType, guildId } = authorized;
  if (!application.event_webhooks_types.includes('APPLICATION_AUTHORIZED')) return [];
  const [[user], guild] = await Promise.all([
    ports.users.get([userId]),
    guildId === null ? null : ports.guildObject(guildId),
  ]);
  if (!user) return [];
  const data = {
    ...(integrationType === null ? {} : { integration_type: integrationType }),
    user,
    scopes,
    ...(guild ? { guild } : {}),
  };
  return webhookEvent(application, 'APPLICATION_AUTHORIZED', data, env);
}

/** The applications that a user has installed to the account: their commands are available wherever the user is. */
export const installedBy =
  ({ grants }: Pick<OAuth, 'grants'>) =>
  async (userId: UserId): Promise<readonly ApplicationId[]> =>
    (await grants(userId)).flatMap(({ applicationId, userInstall }) => (userInstall ? [applicationId] : []));

/** Whether a user has installed an application to the account. */
export const hasInstalled =
  (oauth: Pick<OAuth, 'grants'>) =>
  async (userId: UserId, applicationId: ApplicationId): Promise<boolean> =>
    (await installedBy(oauth)(userId)).includes(applicationId);
