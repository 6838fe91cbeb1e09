import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { NotServed } from '../../protocol/faults.ts';
import { compareIds, type FreshId, type UserId } from '../../protocol/ids.ts';

/** A lock that is not given back is free after `held`. Who has waited for longer than `waiting` has given up and gets no lock. */
const LOCK_MS = { held: 10_000, waiting: 5_000 };

interface UserLockPorts {
  readonly routing: Pick<Routing, 'ask' | 'tell' | 'onMoved'>;
  readonly wheel: Wheel;
  readonly nextId: () => FreshId;
  readonly nowMs: () => number;
}

/** A lock that is held or waited for. */
interface UserLock {
  /** The owner of this user runs the job. When it is another shard, the job has ended. */
  readonly runsAt: UserId;
  /** Gives the lock back; null while it is waited for. */
  free: (() => void) | null;
}

/**
 * Runs a job while nobody else, on any shard, holds one of the users. The owner of `runsAt` runs it. @throws NotServed when a user stays
 * locked.
 */
type HoldingUsers = <T>(runsAt: UserId, userIds: readonly UserId[], job: () => Promise<T>) => Promise<T>;

/** Locks of users, kept by their owners. A job locks its users in ascending order, so that jobs cannot deadlock. */
export function createUserLocks({ routing, wheel, nextId, nowMs }: UserLockPorts): HoldingUsers {
  const mutex = keyedMutex<UserId>();
  const locks = new Map<string, UserLock>();

  const end = (lockId: string): void => {
    const lock = locks.get(lockId);
    locks.delete(lockId);
    lock?.free?.();
  };
  routing.onMoved((moved) => {
    for (const [lockId, { runsAt }] of locks) if (moved(runsAt)) end(lockId);
  });
  const hold = (lock: UserLock, lockId: string): Promise<void> =>
    new Promise((resolve) => {
      const timer = wheel.add(() => end(lockId), LOCK_MS.held);
      lock.free = () => {
        timer.cancel();
        resolve();
      };
    });
  const lock = routing.ask(
    'relationships.lock',
    (userId: UserId, lockId: string, runsAt: UserId): Promise<null> => {
      const askedMs = nowMs();
      const asked: UserLock = { runsAt, free: null };
      locks.set(lockId, asked);
      return new Promise((resolve, reject) => {
        void mutex(userId, async () => {
          if (!locks.has(lockId) || nowMs() - askedMs > LOCK_MS.waiting) {
            locks.delete(lockId);
            return reject(new NotServed('The user stays locked.'));
          }
          resolve(null);
          await hold(asked, lockId);
        });
      });
    },
  );
  const unlock = routing.tell('relationships.unlock', (_userId: UserId, lockId: string): void => end(lockId));

  return async (runsAt, userIds, job) => {
    const locked: (readonly [UserId, string])[] = [];
    try {
      for (const userId of [...new Set(userIds)].sort(compareIds)) {
        const lockId = nextId();
        // Also when the answer is lost: the owner may have locked.
        locked.push([userId, lockId]);
        await lock(userId, lockId, runsAt);
      }
      return await job();
    } finally {
      for (const [userId, lockId] of locked.reverse()) unlock(userId, lockId);
    }
  };
}
