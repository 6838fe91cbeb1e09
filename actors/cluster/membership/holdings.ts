import type { Fence } from '../../../storage/database/driver.ts';
import type { ClusterView, Owner } from '../../placement/ports.ts';

const NOBODY = 0;
const SERVED = 1;
/** The partition is draining: new work is rejected, work in progress may still be written. */
const LEAVING = 2;

/** The partitions that one membership of this shard holds. */
export class Holdings {
  readonly #instance: string;
  readonly #hold: Uint8Array;
  readonly #fences: (Fence | null)[];
  /** Partitions for which the database rejected our epoch: they are to be released in the directory. */
  readonly rejected = new Set<number>();

  constructor(partitions: number, instance: string) {
    this.#instance = instance;
    this.#hold = new Uint8Array(partitions);
    this.#fences = new Array<null>(partitions).fill(null);
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

  /** Held partitions that the view assigns to another shard, or to none. */
  lostBy({ owners }: ClusterView): readonly number[] {
    return [...owners.keys()].filter((at) => this.#fences[at] && !this.#isOurs(owners[at]));
  }

  /** Partitions that the directory assigns to this run and that this shard neither serves nor drains. */
  idleBy({ owners }: ClusterView): readonly number[] {
    return [...owners.keys()].filter((at) => !this.#fences[at] && this.#isOurs(owners[at]));
  }

  /** Epochs of served partitions that the view does not include yet. */
  unpublishedBy({ owners }: ClusterView): ReadonlyMap<number, number> {
    const epochs = new Map<number, number>();
    for (const [partition, fence] of this.#fences.entries()) {
      const owner = owners[partition];
      if (fence && this.serves(partition) && this.#isOurs(owner) && owner?.epoch !== fence.epoch)
        epochs.set(partition, fence.epoch);
    }
    return epochs;
  }

  #isOurs(owner: Owner | null | undefined): boolean {
    return owner?.instance === this.#instance;
  }
}
