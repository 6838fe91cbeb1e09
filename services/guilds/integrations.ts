import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Application } from '../../engine/user/facts.ts';
import { type ApplicationId, type GuildId, isApplicationId, type UserId } from '../../protocol/ids.ts';
import { BOT_INTEGRATION } from '../../protocol/integrations.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Storage } from '../../storage/ports.ts';
import type { AppCommands } from '../applications/appcommands.ts';

interface IntegrationPorts {
  readonly storage: Pick<Storage, 'applications' | 'users'>;
  readonly guilds: Pick<Guilds, 'call'>;
}

/** Most integrations that a list shows. @source https://docs.discord.com/developers/resources/guild#get-guild-integrations */
const SHOWN_MAX = 50;

/** An application in a guild, in the wire's shape. */
const integrationOf = ({ id, name, icon, description }: Application, bot: APIUser | undefined) => ({
  ...{ id, name, type: BOT_INTEGRATION, enabled: true },
  account: { id, name },
  // Libraries still read the summary, which the published API file no longer has.
  application: { id, name, icon, description, summary: '', type: null, ...(bot && { bot }) },
  scopes: ['bot', 'applications.commands'],
});

/** The applications in guilds. An application is in a guild while its bot is a member; it is named by its own id. */
export interface Integrations {
  list(guildId: GuildId, authority: Authority): Promise<Reply<readonly object[]>>;
  /** Removes the bot, its webhooks and its commands. @returns 10004 for an application that is not there. */
  remove(
    guildId: GuildId,
    integrationId: ApplicationId,
    authority: Authority,
    commands: Pick<AppCommands, 'overwrite'>,
  ): Promise<Reply<null>>;
  /** A bot has come or gone. */
  changed(guildId: GuildId, botId: UserId, change: 'created' | 'deleted'): Promise<void>;
  /** Sends INTEGRATION_UPDATE to the guilds of an application, one after another. */
  updated(application: Application): Promise<void>;
}

const UNKNOWN: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_INTEGRATION') };

export function createIntegrations({ storage, guilds }: IntegrationPorts): Integrations {
  const { applications, users } = storage;
  return {
    async list(guildId, authority) {
      const may = await guilds.call(guildId, 'checkIntegrations', {}, authority);
      if (!may.ok) return may;
      const there = await applications.inGuild(guildId, SHOWN_MAX);
      const bots = await users.get(there.flatMap(({ bot_id: id }) => id ?? []));
      const shown = there.map((one) =>
        integrationOf(
          one,
          bots.find(({ id }) => id === one.bot_id),
        ),
      );
      return { ok: true, value: shown };
    },
    async remove(guildId, integrationId, authority, commands) {
      const application = isApplicationId(integrationId) ? await applications.get(integrationId) : null;
      if (!application?.bot_id) return UNKNOWN;
      const { id, bot_id: botId } = application;
      const input = { botId, applicationId: id };
      const removed = await guilds.call(guildId, 'removeIntegration', input, authority);
      if (removed.ok) await commands.overwrite(id, guildId, []);
      return removed;
    },
    async changed(guildId, botId, change) {
      const application = await applications.byBot(botId);
      if (!application) return;
      const integration = integrationOf(application, undefined);
      await guilds.call(guildId, 'noteIntegration', { change, integration }, SYSTEM);
    },
    async updated(application) {
      if (application.bot_id === null) return;
      const integration = integrationOf(application, undefined);
      for (const guildId of await users.guildIds(application.bot_id))
        await guilds.call(guildId, 'noteIntegration', { change: 'updated', integration }, SYSTEM);
    },
  };
}
