import type { Guilds } from '../../actors/guild/guilds.ts';
import { SYSTEM } from '../../engine/kernel/authority.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { UserStore } from '../../storage/user/port.ts';

interface TemporaryPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly storage: { readonly users: Pick<UserStore, 'temporaryGuilds'> };
  readonly onFault: (error: unknown, id: string) => void;
}

/**
 * Ends the temporary memberships of a user whose last session is over. Each guild decides for itself; a fault leaves
 * the membership until the next session of the user ends.
 */
export const temporaryMemberships =
  ({ guilds, storage, onFault }: TemporaryPorts) =>
  (userId: UserId): void => {
    const end = async (): Promise<void> => {
      for (const { guildId, joinedAt } of await storage.users.temporaryGuilds(userId))
        await guilds.call(guildId, 'endTemporaryMembership', { userId, joinedAt }, SYSTEM);
    };
    end().catch((fault) => onFault(fault, userId));
  };
