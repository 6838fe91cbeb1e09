import { NotServed } from '../../../protocol/faults.ts';
import type { StaleEpoch } from '../../../storage/database/driver.ts';
import type { Commit, Writer } from '../../../storage/ports.ts';
import type { Ownership } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';

/** The class is the storage's, which actors know by its types. */
const isStale = (fault: Error | null): fault is StaleEpoch => fault?.name === 'StaleEpoch';

/**
 * The writer of a shard among others: each commit goes under the epoch of its owner's partition, so that the database
 * refuses it when another shard has that by now. What may not be written from here is not even tried. Both are told as
 * `NotServed`: nothing of it was done.
 *
 * An aggregate names the epoch under which its state was read. Under a later one, even of this shard, it may not be
 * written: the state may have changed in between.
 *
 * @param onBug Hears what the `done` of a commit throws that was not even tried; the writer hears of the others.
 */
export function fencedWriter(writer: Writer, ownership: Ownership, onBug: (error: unknown) => void): Writer {
  if (ownership.standalone) return writer;
  /** By owner: how many of its commits are refused that it has not heard of. What it hands in until then was decided on them. */
  const refused = new Map<string, number>();

  function refuse({ ownerId, done }: Commit): void {
    refused.set(ownerId, (refused.get(ownerId) ?? 0) + 1);
    // Behind what was handed in before: answers keep the order of the commits.
    void writer.flush().then(() => {
      const left = (refused.get(ownerId) ?? 1) - 1;
      if (left > 0) refused.set(ownerId, left);
      else refused.delete(ownerId);
      try {
        done(new NotServed('This shard may not write it now.'));
      } catch (error) {
        onBug(error);
      }
    });
  }

  return {
    get depth() {
      return writer.depth;
    },
    flush: () => writer.flush(),
    commit(commit) {
      const fence = ownership.fenceOf(commit.ownerId);
      const given = commit.fence;
      if (fence === 'alone') return writer.commit(commit);
      if (!fence || refused.has(commit.ownerId) || (given && given.epoch !== fence.epoch))
        return refuse(commit);
      writer.commit({
        ...commit,
        fence,
        done(fault) {
          if (!isStale(fault)) return commit.done(fault);
          try {
            commit.done(new NotServed('Another shard has it by now.', 1, { cause: fault }));
          } finally {
            // Those who wait are told first: what follows ends the actor.
            ownership.stale(fault.partition, fault.epoch);
          }
        },
      });
    },
  };
}

/** How often a commit is tried again when its partition changes hands, and how long it waits to hear of that. */
const AGAIN = { times: 3, waitMs: 500 };

/**
 * Commits of the parts that keep no state of their own: about whatever id, whoever owns it. They are tried again when
 * the partition has just changed hands. Resolves when the facts are durable.
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
 * Commits of what the owner has decided in its turn, over what it has read: tried once. When its partition has changed
 * hands the next owner decides anew.
 */
export const committingAsOwner =
  (writer: Writer) =>
  (ownerId: string, facts: Commit['facts']): Promise<void> =>
    new Promise((resolve, reject) => {
      writer.commit({ ownerId, facts, done: (fault) => (fault ? reject(fault) : resolve()) });
    });

/** Resolves with the next change of hands, or a little later without one. */
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
