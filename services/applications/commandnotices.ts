import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Routing } from '../../actors/placement/routing.ts';
import type { CommandPermissions } from '../../engine/appcommand/appcommand.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { ApplicationId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';

interface NoticePorts {
  readonly storage: Pick<Storage, 'applications' | 'users'>;
  readonly guilds: Pick<Guilds, 'call' | 'isResident'>;
  readonly routing: Pick<Routing, 'tellAll'>;
  readonly onFault: (error: unknown) => void;
}

/** Notifies guilds of changed commands, without waiting. */
export interface CommandNotices {
  /** The commands of an application changed: the commands of one guild, or for null the global ones. */
  changed(applicationId: ApplicationId, guildId: GuildId | null): void;
  /** A member set who may use a command; `before` are the earlier overwrites. */
  permitted(userId: UserId, before: CommandPermissions | null, after: CommandPermissions): void;
}

export function createCommandNotices({ storage, guilds, routing, onFault }: NoticePorts): CommandNotices {
  // A guild that is not resident has no sessions to notify.
  const notifyAll = routing.tellAll('appCommands.indexChanged', (guildIds: readonly GuildId[]) => {
    for (const guildId of guildIds)
      if (guilds.isResident(guildId)) guilds.call(guildId, 'noteCommandIndex', {}, SYSTEM).catch(onFault);
  });
  return {
    changed(applicationId, guildId) {
      if (guildId !== null) return notifyAll([guildId]);
      storage.applications
        .get(applicationId)
        .then(async (application) => {
          if (application?.bot_id) notifyAll(await storage.users.guildIds(application.bot_id));
        })
        .catch(onFault);
    },
    permitted(userId, before, after) {
      const by = { ...SYSTEM.by, userId, applicationId: after.application_id };
      guilds
        .call(after.guild_id, 'noteCommandPermissions', { before, after }, { ...SYSTEM, by })
        .catch(onFault);
    },
  };
}
