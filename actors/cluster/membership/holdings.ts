import type { Fence } from '../../../storage/database/driver.ts';
import type { ClusterView, Owner, ShardInfo } from '../../placement/ports.ts';

const NOBODY = 0;
const SERVED = 1;
/** Its work is being finished: no more is taken, but what is under way may be written. */
const LEAVING = 2;

/** What this run of a shard does with each partition, and who serves the others. */
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

  /** Under what we write; null unless we serve the partition, or are leaving it. */
  fence(partition: number): Fence | null {
    return this.#fences[partition] ?? null;
  }

  /** Who serves it, as of the last `reckon`. */
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

  /** Held partitions that the view gives to somebody else, or to nobody. */
  lostBy({ owners }: ClusterView): readonly number[] {
    return [...owners.keys()].filter((at) => this.#fences[at] && !this.isOurs(owners[at]));
  }

  /** Those that the directory holds for ours and that we do not serve, nor leave. */
  idleBy({ owners }: ClusterView): readonly number[] {
    return [...owners.keys()].filter((at) => !this.#fences[at] && this.isOurs(owners[at]));
  }

  isOurs(owner: Owner | null | undefined): boolean {
    return owner?.instance === this.self.instance;
  }

  /** Reckons who serves what; answers where that is somebody else than before. */
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

  /** Of what is ours we know better than the directory; what is merely claimed nobody serves. */
  #ownerOf(partition: number, claimed: Owner | null): Owner | null {
    const fence = this.#fences[partition];
    if (fence && this.serves(partition)) return { ...this.self, epoch: fence.epoch };
    return claimed && claimed.epoch > 0 && !this.isOurs(claimed) ? claimed : null;
  }
}

/** Runs of other shards that the view has lost, and gained. */
export function changeOf(before: readonly ShardInfo[], after: readonly ShardInfo[], self: string) {
  const instances = (shards: readonly ShardInfo[]) => new Set(shards.map(({ instance }) => instance));
  const [then, now] = [instances(before), instances(after)];
  return {
    gone: before.filter(({ instance }) => instance !== self && !now.has(instance)),
    came: after.filter(({ instance }) => instance !== self && !then.has(instance)),
  };
}

/** Partitions that change hands in one step: so many callers at most wait for one slow piece of work. */
export const STEP_PARTITIONS = 128;

/** Partitions in portions of one step each. */
export function stepsOf(partitions: readonly number[]): (readonly number[])[] {
  const steps: (readonly number[])[] = [];
  for (let at = 0; at < partitions.length; at += STEP_PARTITIONS)
    steps.push(partitions.slice(at, at + STEP_PARTITIONS));
  return steps;
}
