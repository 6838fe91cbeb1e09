import { NotServed } from '../../../protocol/faults.ts';
import type { StaleEpoch } from '../../../storage/database/driver.ts';
import type { Commit, Writer } from '../../../storage/ports.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';

/** Matched by name: actors import only types from storage, not the class. */
const isStale = (fault: Error | null): fault is StaleEpoch => fault?.name === 'StaleEpoch';

/**
 * The writer of one shard in a cluster. Each commit carries the epoch of its aggregate's partition, so that the
 * database rejects it after another shard took the partition over. Commits that this shard may not write are rejected
 * without an attempt. Both cases fail with `NotServed`: nothing was written.
 *
 * An aggregate names the epoch under which its state was read. Under a later epoch, even of this shard, the commit is
 * rejected: the state may have changed in between.
 *
 * @param onBug Receives what the `done` of a commit rejected without an attempt throws; the writer handles the others.
 */
export function fencedWriter(writer: Writer, ownership: Ownership, onBug: (error: unknown) => void): Writer {
  /**
   * By aggregate: rejected commits whose `done` was not called yet. Until then further commits build on rejected state.
   */
  const refused = new Map<string, number>();

  function refuse({ ownerId, done, fence }: Commit): void {
    refused.set(ownerId, (refused.get(ownerId) ?? 0) + 1);
    const settle = (): void => {
      const left = (refused.get(ownerId) ?? 1) - 1;
      if (left > 0) refused.set(ownerId, left);
      else refused.delete(ownerId);
      try {
        done(new NotServed('Write refused: this shard does not own the aggregate.'));
      } catch (error) {
        onBug(error);
      }
      // The commit's actor has ended. Homes subscribe to its successor only when the epoch changes, which it would not
      // if the lease became safe again.
      if (fence) ownership.stale(fence.partition, fence.epoch);
    };
    // Waits for earlier commits: `done` is called in commit order.
    writer.flush().then(settle, settle);
  }

  return {
    get depth() {
      return writer.depth;
    },
    flush: () => writer.flush(),
    commit(commit) {
      const fence = ownership.fenceOf(commit.ownerId);
      const given = commit.fence;
      if (!fence || refused.has(commit.ownerId) || (given && given.epoch !== fence.epoch))
        return refuse(commit);
      writer.commit({
        ...commit,
        fence,
        done(fault) {
          if (!isStale(fault)) return commit.done(fault);
          try {
            commit.done(new NotServed('The aggregate has moved to another shard.', 1, { cause: fault }));
          } finally {
            // `done` runs first, because `stale` ends the actor and its callers are still waiting for an answer.
            ownership.stale(fault.partition, fault.epoch);
          }
        },
      });
    },
  };
}

/**
 * How often a commit is retried after its partition changed owners, and how long it waits for the change to be seen.
 */
const AGAIN = { times: 3, waitMs: 500 };

/**
 * Commits for services without state of their own, for ids of any owner. A commit is retried when the partition just
 * changed owners. Resolves when the facts are durable.
 */
export const committing =
  (writer: Writer, ownership: Ownership, clock: Clock) =>
  async (ownerId: string, facts: Commit['facts']): Promise<void> => {
    for (let attempt = 0; ; attempt += 1) {
      const fault = await new Promise<Error | null>((done) => writer.commit({ ownerId, facts, done }));
      if (!fault) return;
      if (!(fault instanceof NotServed) || attempt === AGAIN.times) throw fault;
      await change(ownership, clock);
    }
  };

/**
 * Commits of decisions that the owner made from what it read. Tried once: after a change of ownership the next owner
 * has to decide from its own state.
 */
export const committingAsOwner =
  (writer: Writer, ownership: Pick<Ownership, 'owns'>) =>
  (ownerId: string, facts: Commit['facts']): Promise<void> =>
    new Promise((resolve, reject) => {
      // A commit for an id of another shard would carry the epoch of that shard, and be accepted.
      if (!ownership.owns(ownerId)) reject(new NotServed('The aggregate has moved to another shard.'));
      else writer.commit({ ownerId, facts, done: (fault) => (fault ? reject(fault) : resolve()) });
    });

/** Resolves on the next ownership change, or after `AGAIN.waitMs`. */
function change(ownership: Ownership, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(() => end(), AGAIN.waitMs);
    const stop = ownership.onChange(() => end());
    const end = (): void => {
      timer.cancel();
      stop();
      resolve();
    };
  });
}

/** Resolves when no commit is under way, also when the database is lost and their outcomes are unknown. */
export const settledCommits = (writer: Pick<Writer, 'flush'>): Promise<void> =>
  writer.flush().catch(() => undefined);
