import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { ClusterView, Owner, ShardInfo } from '../../actors/placement/ports.ts';

/**
 * The directory of a cluster with a single process, for features that only clusters have, such as resuming the sessions of
 * the run before a restart.
 */
export class SoloDirectory implements Directory {
  readonly isSolo = true;
  readonly partitions: number;
  readonly #owners: (Owner | null)[];
  #self: ShardInfo | null = null;
  #listener: DirectoryListener | null = null;
  #revision = 0;

  constructor(partitions: number) {
    this.partitions = partitions;
    this.#owners = new Array<null>(partitions).fill(null);
  }

  async worker(): Promise<number> {
    return 0;
  }

  async enter(self: ShardInfo, listener: DirectoryListener): Promise<void> {
    this.#self = self;
    this.#listener = listener;
    this.#notify();
  }

  async update(change: Partial<Pick<ShardInfo, 'draining' | 'weight'>>): Promise<void> {
    if (this.#self) this.#self = { ...this.#self, ...change };
    this.#notify();
  }

  async claim(partitions: readonly number[]): Promise<readonly number[]> {
    const self = this.#self;
    if (!self) return [];
    const { id: shardId, instance } = self;
    for (const partition of partitions) this.#owners[partition] = { shardId, instance, epoch: 0 };
    this.#notify();
    return partitions;
  }

  async publish(epochs: ReadonlyMap<number, number>): Promise<void> {
    for (const [partition, epoch] of epochs) {
      const owner = this.#owners[partition];
      if (owner) this.#owners[partition] = { ...owner, epoch };
    }
    this.#notify();
  }

  async release(partitions: readonly number[]): Promise<void> {
    for (const partition of partitions) this.#owners[partition] = null;
    this.#notify();
  }

  async leave(): Promise<void> {
    this.#owners.fill(null);
    this.#self = null;
    this.#listener = null;
  }

  safeUntilMs(): number {
    return Number.POSITIVE_INFINITY;
  }

  async close(): Promise<void> {
    this.#listener = null;
  }

  #notify(): void {
    this.#revision += 1;
    const shards = this.#self ? [this.#self] : [];
    const view: ClusterView = { revision: this.#revision, shards, owners: [...this.#owners] };
    this.#listener?.changed(view);
  }
}
