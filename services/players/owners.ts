import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { ProfileChange } from '../../engine/provisional/profile.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { SignedIn, VerifiedPlayer } from './ports.ts';

/**
 * Operations that change the identities of a publisher's players. They run on the owner shard of the publisher's
 * application, the first argument, so that operations of one player run in order across the cluster.
 */
export type ScopeOwners = {
  /** Issues tokens to a verified player. */
  enter(
    scopeId: ApplicationId,
    applicationId: ApplicationId,
    player: VerifiedPlayer,
  ): Promise<Reply<SignedIn>>;
  /** Merges the player's provisional account, if there is one, into the user's. */
  join(scopeId: ApplicationId, userId: UserId, external: ExternalIdentity): Promise<Reply<null>>;
  part(scopeId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>>;
  /** Unlinks an identity if it is still linked. While the user `formerUserId` is banned, it cannot be linked again. */
  partAgain(
    scopeId: ApplicationId,
    userId: UserId,
    linked: Identity,
    formerUserId: UserId | null,
  ): Promise<Reply<null>>;
  updateProfile(
    scopeId: ApplicationId,
    userId: UserId,
    external: ExternalIdentity,
    change: ProfileChange,
  ): Promise<Reply<{ readonly created: boolean }>>;
  forget(scopeId: ApplicationId, userId: UserId, external: ExternalIdentity): Promise<Reply<null>>;
};
