import type { Move } from '../../engine/provisional/facts.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { Profile } from '../../engine/provisional/profile.ts';
import type { ConfigurableProvider, ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';

/** An identity and the profile that its game published; null without a profile. */
export interface StoredIdentity {
  readonly identity: Identity;
  readonly profile: Profile | null;
}

/** Stores the identities of players at external providers, by application. */
export interface IdentityStore {
  get(applicationId: ApplicationId, external: ExternalIdentity): Promise<StoredIdentity | null>;
  /** The identities of these users in the application, ascending by user id. */
  ofUsers(applicationId: ApplicationId, userIds: readonly UserId[]): Promise<StoredIdentity[]>;
  /** The identities of one user in all applications. */
  ofUser(userId: UserId): Promise<Identity[]>;
  /** Any identities of an application, at most `limit`. */
  some(applicationId: ApplicationId, limit: number): Promise<Identity[]>;
  /** Account merges in progress, oldest first. */
  merges(): Promise<Move[]>;
  /** End of the user's ban; null for a permanent ban, undefined for none. */
  bannedUntil(userId: UserId, nowMs: number): Promise<number | null | undefined>;
  parentOf(childId: ApplicationId): Promise<ApplicationId | null>;
  childrenOf(parentId: ApplicationId): Promise<ApplicationId[]>;
  provider(applicationId: ApplicationId, type: ConfigurableProvider): Promise<ProviderSettings | null>;
  /** Whether an account has this username, case-insensitively. */
  usernameTaken(username: string): Promise<boolean>;
}
