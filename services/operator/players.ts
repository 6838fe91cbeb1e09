import type { Admin } from '../../embedding.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Provisional } from '../players/ports.ts';

type PlayerAdmin = Pick<
  Admin,
  'configureIdentityProvider' | 'removeIdentityProvider' | 'linkChildApplication' | 'banUser' | 'unbanUser'
>;

/** Decisions of the operator about players: their identity providers, the games of a publisher, and bans. */
export function playersOf(
  provisional: Provisional,
  { users, applications }: Pick<Storage, 'users' | 'applications'>,
  granted: (reply: Reply<null>) => void,
  unknown: (kind: 'user' | 'application', id: string) => Error,
): PlayerAdmin {
  async function exists(userId: UserId): Promise<void> {
    if ((await users.get([userId])).length === 0) throw unknown('user', userId);
  }

  return {
    configureIdentityProvider: async (applicationId, settings) =>
      granted(await provisional.configure(applicationId, settings)),
    async removeIdentityProvider(applicationId, type) {
      if ((await applications.get(applicationId)) === null) throw unknown('application', applicationId);
      await provisional.unconfigure(applicationId, type);
    },
    linkChildApplication: async ({ childId, parentId }) =>
      granted(await provisional.linkChild(childId, parentId)),
    async banUser(userId, untilMs) {
      await exists(userId);
      await provisional.banned(userId, untilMs);
    },
    async unbanUser(userId) {
      await exists(userId);
      await provisional.unbanned(userId);
    },
  };
}
