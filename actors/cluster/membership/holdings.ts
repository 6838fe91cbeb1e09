import type { Fence } from '../../../storage/database/driver.ts';
import type { ClusterView, Owner, ShardInfo } from '../../placement/ports.ts';

const NOBODY = 0;
const SERVED = 1;
/** The partition is draining: new work is rejected, work in progress may still be written. */
const LEAVING = 2;

/** The state of each partition on this run of the shard, and the owners of the others. */
export class Holdings {
  readonly self: { readonly shardId: string; readonly instance: string };
  readonly #hold: Uint8Array;
  readonly #fences: (Fence | null)[];
  #owners: readonly (Owner | null)[];

  constructor(partitions: number, self: { readonly shardId: string; readonly instance: string }) {
    this.self = self;
    this.#hold = new Uint8Array(partitions);
    this.#fences = new Array<null>(partitions).fill(null);
    this.#owners = new Array<null>(partitions).fill(null);
  }

  get servesAny(): boolean {
    return this.#hold.includes(SERVED);
  }

  serves(partition: number): boolean {
    return this.#hold[partition] === SERVED;
  }

  /** The fence of commits in this partition; null unless this shard serves the partition or drains it. */
  fence(partition: number): Fence | null {
    return this.#fences[partition] ?? null;
  }

  /** The owner of the partition as of the last `reckon`. */
  owner(partition: number): Owner | null {
    return this.#owners[partition] ?? null;
  }

  serve(partition: number, epoch: number): void {
    this.#fences[partition] = { partition, epoch };
    this.#hold[partition] = SERVED;
  }

  leave(partitions: readonly number[]): void {
    for (const partition of partitions) if (this.serves(partition)) this.#hold[partition] = LEAVING;
  }

  forget(partitions: readonly number[]): void {
    for (const partition of partitions) {
      this.#hold[partition] = NOBODY;
      this.#fences[partition] = null;
    }
  }

  clear(): void {
    this.#hold.fill(NOBODY);
    this.#fences.fill(null);
  }

  /** Held partitions that the view assigns to another shard, or to none. */
  lostBy({ owners }: ClusterView): readonly number[] {
    return [...owners.keys()].filter((at) => this.#fences[at] && !this.isOurs(owners[at]));
  }

  /** Partitions that the directory assigns to this run and that this shard neither serves nor drains. */
  idleBy({ owners }: ClusterView): readonly number[] {
    return [...owners.keys()].filter((at) => !this.#fences[at] && this.isOurs(owners[at]));
  }

  isOurs(owner: Owner | null | undefined): boolean {
    return owner?.instance === this.self.instance;
  }

  /** Recomputes the owners and returns the partitions whose owner or epoch changed. */
  reckon({ owners }: ClusterView): readonly number[] {
    const moved: number[] = [];
    this.#owners = this.#owners.map((before, partition) => {
      const owner = this.#ownerOf(partition, owners[partition] ?? null);
      if (owner?.instance === before?.instance && owner?.epoch === before?.epoch) return before;
      moved.push(partition);
      return owner;
    });
    return moved;
  }

  /**
   * For its own partitions this shard is more current than the directory; a claim without a published epoch does not
   * count as owned.
   */
  #ownerOf(partition: number, claimed: Owner | null): Owner | null {
    const fence = this.#fences[partition];
    if (fence && this.serves(partition)) return { ...this.self, epoch: fence.epoch };
    return claimed && claimed.epoch > 0 && !this.isOurs(claimed) ? claimed : null;
  }
}

/** Runs of other shards that left the view, and runs that joined it. */
export function changeOf(before: readonly ShardInfo[], after: readonly ShardInfo[], self: string) {
  const instances = (shards: readonly ShardInfo[]) => new Set(shards.map(({ instance }) => instance));
  const [then, now] = [instances(before), instances(after)];
  return {
    gone: before.filter(({ instance }) => instance !== self && !now.has(instance)),
    came: after.filter(({ instance }) => instance !== self && !then.has(instance)),
  };
}

/** Partitions handed over in one step; bounds the callers that wait for one slow piece of work. */
export const STEP_PARTITIONS = 128;

export function stepsOf(partitions: readonly number[]): (readonly number[])[] {
  const steps: (readonly number[])[] = [];
  for (let at = 0; at < partitions.length; at += STEP_PARTITIONS)
    steps.push(partitions.slice(at, at + STEP_PARTITIONS));
  return steps;
}
