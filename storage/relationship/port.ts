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
  /** The user's side of all relationships, in every application; ascending by peer. Bounded by `RELATIONS_MAX`. */
  of(userId: UserId): Promise<StoredRelation[]>;
  /** The other side of all relationships of the user. */
  towards(userId: UserId): Promise<StoredRelation[]>;
  /** Both sides of all relationships between any two of these users, in every application. */
  among(userIds: readonly UserId[]): Promise<StoredRelation[]>;
  /** The facts that decide whether `from` may start to write to `to`; `policy` is null if `to` has set none. */
  acquaintance(
    from: UserId,
    to: UserId,
  ): Promise<Omit<Acquaintance, 'policy'> & { readonly policy: Acquaintance['policy'] | null }>;
  settings(userId: UserId): Promise<UserSettings>;
  /** Number of relationships of each kind, of the platform (null) or of one application. */
  counts(userId: UserId, applicationId: ApplicationId | null): Promise<RelationCounts>;
  roleConnection(userId: UserId, applicationId: ApplicationId): Promise<RoleConnection | null>;
  roleConnectionMetadata(applicationId: ApplicationId): Promise<readonly RoleConnectionMetadata[]>;
}
