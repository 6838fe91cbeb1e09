import type { Move } from '../../engine/provisional/facts.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { Profile } from '../../engine/provisional/profile.ts';
import type { ConfigurableProvider, ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** An identity and what its game tells of the player; null until it has told anything. */
export interface StoredIdentity {
  readonly identity: Identity;
  readonly profile: Profile | null;
}

/** Identities of players at other providers, by application. */
export interface IdentityStore {
  get(applicationId: ApplicationId, external: ExternalIdentity): Promise<StoredIdentity | null>;
  /** Of the users that have one there; in the order of their ids. */
  ofUsers(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<StoredIdentity[]>;
  /** Of one user, in all applications. */
  ofUser(userId: UserId): Promise<Identity[]>;
  /** Any of an application. */
  some(applicationId: ApplicationId, limit: number): Promise<Identity[]>;
  /** Moves that have begun and not ended, oldest first. */
  moves(): Promise<Move[]>;
  /** Until when, null for good; undefined when there is no ban, or it is over. */
  bannedUntil(userId: UserId, nowMs: number): Promise<number | null | undefined>;
  parentOf(childId: ApplicationId): Promise<ApplicationId | null>;
  childrenOf(parentId: ApplicationId): Promise<ApplicationId[]>;
  provider(applicationId: ApplicationId, type: ConfigurableProvider): Promise<ProviderSettings | null>;
  /** Some account has this username, in upper or lower case. */
  usernameTaken(username: string): Promise<boolean>;
}
