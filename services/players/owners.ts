import type { Reply } from '../../engine/kernel/outcome.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { ProfileChange } from '../../engine/provisional/profile.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { SignedIn, VerifiedPlayer } from './ports.ts';

/**
 * What changes who the players of a publisher are: run by who owns the application whose identities count, so that the
 * turns of a player hold over the cluster. The first argument is that application.
 */
export type ScopeOwners = {
  /** Tokens for a player who is known to be that one. */
  enter(
    scopeId: ApplicationId,
    applicationId: ApplicationId,
    player: VerifiedPlayer,
  ): Promise<Reply<SignedIn>>;
  /** Merges the player's provisional account, if there is one, into the user's. */
  join(scopeId: ApplicationId, userId: UserId, external: ExternalIdentity): Promise<Reply<null>>;
  part(scopeId: ApplicationId, external: ExternalIdentity): Promise<Reply<null>>;
  /** The same if it is linked still. `formerUserId`: whose ban keeps it from being linked again. */
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
