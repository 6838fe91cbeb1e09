import type { StoredToken } from '../../engine/user/facts.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';

export interface TemporaryMembership {
  readonly guildId: GuildId;
  readonly joinedAt: string;
}

export interface UserStore {
  /** Whether a user other than `userId` has this username or a look-alike. Always false for a bot. */
  usernameTaken(username: string, userId: UserId | null): Promise<boolean>;
  get(userIds: readonly UserId[]): Promise<APIUser[]>;
  /** People with that name, case-insensitively; at most two, which is enough to see that a name is ambiguous. */
  peopleNamed(username: string): Promise<APIUser[]>;
  /** Guilds of which the user is a member, ascending. */
  guildIds(userId: UserId): Promise<GuildId[]>;
  /** Memberships that end with the user's last session, with the `joined_at` of each. */
  temporaryGuilds(userId: UserId): Promise<TemporaryMembership[]>;
  /** Users with such memberships, ascending by id. */
  temporaryUsers(after: UserId | null, limit: number): Promise<UserId[]>;
  /** How many guilds the user owns. */
  ownedGuildCount(userId: UserId): Promise<number>;
  tokens(userIds: readonly UserId[]): Promise<StoredToken[]>;
  /** All users, ascending by id, for the operator's listing. */
  list(after: UserId | null, limit: number): Promise<APIUser[]>;
}
