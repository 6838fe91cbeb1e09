import { partitionOf } from '../../../engine/placement/partition.ts';
import { planOf } from '../../../engine/placement/plan.ts';
import type { ClusterStore } from '../../../storage/cluster/port.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import type { Directory, Handover } from '../ports.ts';
import type { ClusterMap } from './clustermap.ts';
import type { Holdings } from './holdings.ts';

export interface MovesDeps {
  readonly directory: Directory;
  readonly store: Pick<ClusterStore, 'takeOver'>;
  readonly handover: Handover;
  /** Upper bound on the time for which work in progress may delay one handover. */
  readonly handoverTimeoutMs: number;
}

interface MovesPorts extends MovesDeps {
  /** The scope of the membership: a step that outlives it changes nothing. */
  readonly scope: Pick<Lifetime, 'during' | 'setTimer'>;
  readonly map: ClusterMap;
  readonly holdings: Holdings;
}

/** Partitions handed over in one step; bounds the callers that wait for one slow piece of work. */
const STEP_PARTITIONS = 128;

/** Moves partitions between this shard and the others towards the planned owners, under one membership. */
export class PartitionMoves {
  readonly #ports: MovesPorts;

  constructor(ports: MovesPorts) {
    this.#ports = ports;
  }

  /** Does the most urgent step that is due; false when none is. @throws faults, and when the membership ends. */
  async step(): Promise<boolean> {
    const { scope, map, holdings, directory } = this.#ports;
    if (map.hidesDraining) {
      await scope.during(directory.update({ draining: true }));
      map.noteSelf();
      return true;
    }
    if (holdings.rejected.size > 0) return this.#giveBack([...holdings.rejected]);
    const unpublished = holdings.unpublishedBy(map.view);
    if (unpublished.size > 0) return this.#publish(unpublished);
    const plan = planOf(map.view, map.wanted, map.self.instance);
    const leaving = new Set(plan.release);
    const idle = holdings.idleBy(map.view).filter((partition) => !leaving.has(partition));
    if (idle.length > 0) return this.#serve(idle);
    if (plan.claim.length > 0) {
      const taken = await scope.during(directory.claim(plan.claim));
      map.noteClaimed(taken);
      if (taken.length > 0) return true;
    }
    if (plan.release.length > 0) return this.#handOver(plan.release.slice(0, STEP_PARTITIONS));
    return false;
  }

  /** Ends the actors of lost partitions at once, without writing. */
  letGo(partitions: readonly number[]): void {
    const { map, holdings, handover } = this.#ports;
    holdings.forget(partitions);
    handover.abandon(this.#among(partitions));
    map.reckon(holdings);
  }

  /**
   * Takes over claimed partitions. A partition is served as soon as the database has its new epoch, which is unique to
   * this shard, and published only then: a caller that finds the owner in the directory finds it serving. A hanging
   * transaction delays only its own step.
   */
  async #serve(partitions: readonly number[]): Promise<true> {
    const { scope, map, holdings, store, handoverTimeoutMs } = this.#ports;
    const steps = stepsOf(partitions).map(async (step) => {
      const taking = withTimeout(store.takeOver(step, map.self.id), handoverTimeoutMs, scope);
      const epochs = await scope.during(taking);
      for (const [partition, epoch] of epochs) holdings.serve(partition, epoch);
      map.reckon(holdings);
      await this.#publish(epochs);
    });
    const failed = (await Promise.allSettled(steps)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return true;
  }

  async #publish(epochs: ReadonlyMap<number, number>): Promise<true> {
    const { scope, map, directory } = this.#ports;
    await scope.during(directory.publish(epochs));
    map.notePublished(epochs);
    return true;
  }

  async #handOver(partitions: readonly number[]): Promise<true> {
    const { scope, map, holdings, directory, handover, handoverTimeoutMs } = this.#ports;
    holdings.leave(partitions);
    map.reckon(holdings);
    await scope.during(handover.handOver(this.#among(partitions), handoverTimeoutMs));
    holdings.forget(partitions);
    await scope.during(directory.release(partitions));
    map.noteReleased(partitions);
    return true;
  }

  async #giveBack(partitions: readonly number[]): Promise<true> {
    const { scope, map, holdings, directory } = this.#ports;
    await scope.during(directory.release(partitions));
    for (const partition of partitions) holdings.rejected.delete(partition);
    map.noteReleased(partitions);
    return true;
  }

  #among(partitions: readonly number[]): (id: string) => boolean {
    const set = new Set(partitions);
    return (id) => set.has(partitionOf(id, this.#ports.directory.partitions));
  }
}

function stepsOf(partitions: readonly number[]): (readonly number[])[] {
  const steps: (readonly number[])[] = [];
  for (let at = 0; at < partitions.length; at += STEP_PARTITIONS)
    steps.push(partitions.slice(at, at + STEP_PARTITIONS));
  return steps;
}
