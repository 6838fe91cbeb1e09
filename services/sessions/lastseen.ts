import { NotServed } from '../../protocol/faults.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Commit } from '../../storage/ports.ts';

interface LastSeenPorts {
  /** Commits facts of a user that this shard owns. */
  readonly commitAsOwner: (ownerId: string, facts: Commit['facts']) => Promise<void>;
  readonly clock: { now(): number };
  readonly onFault: (error: unknown, id: string) => void;
}

/** Users already marked today. Beyond this number some are marked twice, which is harmless. */
const REMEMBERED_MAX = 100_000;
const DAY_MS = 86_400_000;

/**
 * Records the UTC day on which a person was last online, when one of their sessions begins or ends: at most one row per user
 * and day. Prunes read it. No command waits for it, and the next session replaces a mark that is lost.
 */
export function lastSeen({ commitAsOwner, clock, onFault }: LastSeenPorts): (userId: UserId) => void {
  let today = 0;
  const marked = new Set<UserId>();
  return (userId) => {
    const day = Math.floor(clock.now() / DAY_MS);
    if (day !== today || marked.size >= REMEMBERED_MAX) marked.clear();
    today = day;
    if (marked.has(userId)) return;
    marked.add(userId);
    commitAsOwner(userId, [{ type: 'userSeen', day }]).catch((fault: unknown) => {
      marked.delete(userId);
      // The user's next owner marks it when the session is open there.
      if (!(fault instanceof NotServed)) onFault(fault, userId);
    });
  };
}
