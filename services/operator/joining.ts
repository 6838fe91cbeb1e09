import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { SYSTEM, userAuthority } from '../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';

type Granted = <Value>(reply: Reply<Value>) => Value;

/** Adds accounts to guilds for the operator. */
export interface Joining {
  /** Adds an existing user, with a role of `permissions` when given. When the guild refuses, neither is left behind. */
  join(
    guildId: GuildId,
    user: { readonly id: string; readonly username: string },
    permissions?: bigint,
  ): Promise<void>;
  /**
   * Checks that a guild accepts an account that does not exist yet, and creates its role, so that a refusal of the
   * guild comes before anything of the account is stored.
   *
   * @returns a function that adds the account once it exists.
   */
  prepare(
    guildId: GuildId | undefined,
    name: string,
    permissions?: bigint,
  ): Promise<(userId: UserId) => Promise<void>>;
}

export function joiningOf(guilds: Guilds, granted: Granted): Joining {
  const add = async (guildId: GuildId, userId: UserId): Promise<void> => {
    granted(await guilds.call(guildId, 'addMember', { userId }, SYSTEM));
  };
  const ownerOf = async (guildId: GuildId): Promise<UserId> =>
    granted(await guilds.call(guildId, 'getGuild', { withCounts: false }, SYSTEM)).owner_id;

  /** Creates a role with these permissions. @returns a function that gives it to a member. */
  const roleFor = async (guildId: GuildId, ownerId: UserId, name: string, permissions: bigint) => {
    const by = userAuthority(ownerId);
    const draft = { name, permissions: String(permissions) };
    const role = granted(await guilds.call(guildId, 'createRole', { draft }, by));
    return async (userId: UserId): Promise<void> => {
      const grant = { userId, roleId: role.id };
      granted(await guilds.call(guildId, 'addMemberRole', grant, by));
    };
  };

  return {
    async join(guildId, { id, username }, permissions) {
      const userId = id as UserId;
      if (permissions === undefined) return add(guildId, userId);
      const input = { userId, name: username, permissions: String(permissions) };
      granted(await guilds.call(guildId, 'joinWithRole', input, SYSTEM));
    },
    async prepare(guildId, name, permissions) {
      if (guildId === undefined) return async () => undefined;
      const ownerId = await ownerOf(guildId);
      const give = permissions === undefined ? null : await roleFor(guildId, ownerId, name, permissions);
      return async (userId) => {
        await add(guildId, userId);
        await give?.(userId);
      };
    },
  };
}
