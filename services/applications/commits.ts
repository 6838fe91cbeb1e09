import type { Commit } from '../../storage/ports.ts';

type CommitAsOwner = (ownerId: string, facts: Commit['facts']) => Promise<void>;

/** Commits facts of an application, then invalidates what interactions have cached about it. */
export const committingApplications =
  (commitAsOwner: CommitAsOwner, forget: (applicationId: string) => void): CommitAsOwner =>
  async (applicationId, facts) => {
    await commitAsOwner(applicationId, facts);
    forget(applicationId);
  };
