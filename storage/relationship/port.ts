import type { APIUser } from 'discord-api-types/v10';
import type {
  RoleConnection,
  RoleConnectionMetadata,
  StoredRelation,
  UserSettings,
} from '../../engine/social/facts.ts';
import type { Acquaintance } from '../../engine/social/reach.ts';
import type { RelationCounts } from '../../engine/social/relationships.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

export interface RelationshipStore {
  /** Everything the user is to others, in every application; ascending by peer. Bounded by `RELATIONS_MAX`. */
  of(userId: UserId): Promise<StoredRelation[]>;
  /** Everything that others are to the user. */
  towards(userId: UserId): Promise<StoredRelation[]>;
  /** Both sides of what there is between any two of these users, in every application. */
  among(userIds: readonly UserId[]): Promise<StoredRelation[]>;
  /** What decides whether `from` may begin to write to `to`; `policy` null: `to` has chosen nothing. */
  acquaintance(
    from: UserId,
    to: UserId,
  ): Promise<Omit<Acquaintance, 'policy'> & { readonly policy: Acquaintance['policy'] | null }>;
  settings(userId: UserId): Promise<UserSettings>;
  /** How many of each kind a user has, of the platform (null) or of one application. */
  counts(userId: UserId, applicationId: ApplicationId | null): Promise<RelationCounts>;
  /** People of that name, case-insensitively: two at most, so that a name of several is known as such. */
  peopleNamed(username: string): Promise<APIUser[]>;
  roleConnection(userId: UserId, applicationId: ApplicationId): Promise<RoleConnection | null>;
  roleConnectionMetadata(applicationId: ApplicationId): Promise<readonly RoleConnectionMetadata[]>;
}
