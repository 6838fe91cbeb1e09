import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { NotServed } from '../../protocol/faults.ts';
import { compareIds, type FreshId, type UserId } from '../../protocol/ids.ts';

/**
 * A lock that is not given back, as when the shard of its holder ends, is free after `held`. Who has waited for longer than `waiting` has
 * given up and gets no lock.
 */
const LOCK_MS = { held: 10_000, waiting: 5_000 };

interface UserLockPorts {
  readonly routing: Pick<Routing, 'ask' | 'tell'>;
  readonly wheel: Wheel;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
}

/** Runs a job while nobody else, on any shard, holds one of the users. @throws NotServed when a user stays locked. */
type HoldingUsers = <T>(userIds: readonly UserId[], job: () => Promise<T>) => Promise<T>;

/** Locks of users, kept by their owners. A job locks its users in ascending order, so that jobs cannot deadlock. */
export function createUserLocks({ routing, wheel, nextId, nowMs }: UserLockPorts): HoldingUsers {
  const mutex = keyedMutex<UserId>();
  const frees = new Map<string, () => void>();

  const hold = (lockId: string): Promise<void> =>
    new Promise((resolve) => {
      const free = (): void => {
        timer.cancel();
        frees.delete(lockId);
        resolve();
      };
      const timer = wheel.add(free, LOCK_MS.held);
      frees.set(lockId, free);
    });
  const lock = routing.ask('relationships.lock', (userId: UserId, lockId: string): Promise<null> => {
    const askedMs = nowMs();
    return new Promise((resolve, reject) => {
      void mutex(userId, async () => {
        if (nowMs() - askedMs > LOCK_MS.waiting) return reject(new NotServed('The user stays locked.'));
        resolve(null);
        await hold(lockId);
      });
    });
  });
  const unlock = routing.tell('relationships.unlock', (_userId: UserId, lockId: string): void =>
    frees.get(lockId)?.(),
  );

  return async (userIds, job) => {
    const locked: (readonly [UserId, string])[] = [];
    try {
      for (const userId of [...new Set(userIds)].sort(compareIds)) {
        const lockId = nextId();
        // Also when the answer is lost: the owner may have locked.
        locked.push([userId, lockId]);
        await lock(userId, lockId);
      }
      return await job();
    } finally {
      for (const [userId, lockId] of locked.reverse()) unlock(userId, lockId);
    }
  };
}
