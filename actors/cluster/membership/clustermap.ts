import { type Placed, rendezvous } from '../../../engine/placement/rendezvous.ts';
import type { ClusterView, Owner, OwnershipChange, ShardInfo } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Holdings } from './holdings.ts';

type MemberChange = Pick<OwnershipChange, 'gone' | 'came'>;

const UNCHANGED: MemberChange = { gone: [], came: [] };

/**
 * Members and owners of the cluster as this shard knows them: the last view of the directory, the results of calls
 * that this view does not include yet, and what this shard holds itself. It outlives a membership.
 */
export class ClusterMap {
  /** The identity of this run as an owner. */
  readonly #identity: { readonly shardId: string; readonly instance: string };
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #place: (shards: readonly Placed[]) => readonly (string | null)[];
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  #self: ShardInfo;
  #view: ClusterView;
  #owners: readonly (Owner | null)[];
  /** The planned owners, and the shard list from which they were computed. */
  #wanted: { readonly key: string; readonly owners: readonly (string | null)[] } = { key: '', owners: [] };
  #lagSinceMs: number | null = null;

  constructor(self: ShardInfo, partitions: number, clock: Pick<Clock, 'monotonic'>) {
    this.#self = self;
    this.#identity = { shardId: self.id, instance: self.instance };
    this.#clock = clock;
    this.#place = rendezvous(partitions);
    this.#owners = new Array<null>(partitions).fill(null);
    this.#view = { revision: -1, shards: [], owners: this.#owners };
  }

  get self(): ShardInfo {
    return this.#self;
  }

  get view(): ClusterView {
    return this.#view;
  }

  /** For how long a partition assigned to this shard has not been served; 0 when all are. */
  get lagMs(): number {
    return this.#lagSinceMs === null ? 0 : this.#clock.monotonic() - this.#lagSinceMs;
  }

  get isLate(): boolean {
    return this.#lagSinceMs !== null;
  }

  /** By partition, the shard that should own it. */
  get wanted(): readonly (string | null)[] {
    const { shards } = this.#view;
    const key = shards.map(({ id, weight, draining }) => `${id} ${weight} ${draining}`).join();
    if (key !== this.#wanted.key) this.#wanted = { key, owners: this.#place(shards) };
    return this.#wanted.owners;
  }

  /** Whether every partition has an owner that serves it, or no other shard remains to be one. */
  get isServedByOthers(): boolean {
    const { shards, owners } = this.#view;
    const others = shards.some((shard) => !this.#isSelf(shard) && !shard.draining);
    return !others || owners.every((owner) => owner !== null && owner.epoch > 0);
  }

  /** Whether the other members do not know yet that this shard drains. */
  get hidesDraining(): boolean {
    return this.#self.draining && this.#view.shards.some((shard) => this.#isSelf(shard) && !shard.draining);
  }

  /** The owner of the partition as of the last `reckon`. */
  owner(partition: number): Owner | null {
    return this.#owners[partition] ?? null;
  }

  onChange(run: (change: OwnershipChange) => void): () => void {
    this.#listeners.add(run);
    return () => void this.#listeners.delete(run);
  }

  tell(change: OwnershipChange): void {
    for (const run of [...this.#listeners]) run(change);
  }

  changeSelf(change: Partial<ShardInfo>): void {
    this.#self = { ...this.#self, ...change };
  }

  /** Adopts a view of the directory. @returns the runs of other shards that left, and those that joined. */
  adopt(view: ClusterView): MemberChange {
    const before = this.#view;
    this.#view = view;
    return changeOf(before.shards, view.shards, this.#identity.instance);
  }

  /** Includes the answered update of this shard in the view, until the next view does. */
  noteSelf(): void {
    const shards = this.#view.shards.map((shard) => (this.#isSelf(shard) ? this.#self : shard));
    this.#view = { ...this.#view, shards };
  }

  /** Like `noteSelf`, for claimed partitions. */
  noteClaimed(partitions: readonly number[]): void {
    this.#note(partitions, (_, owner) => owner ?? { ...this.#identity, epoch: 0 });
  }

  /** Like `noteSelf`, for published epochs. */
  notePublished(epochs: ReadonlyMap<number, number>): void {
    this.#note(epochs.keys(), (partition, owner) => {
      const epoch = epochs.get(partition);
      return owner && this.#isSelf(owner) && epoch !== undefined ? { ...owner, epoch } : owner;
    });
  }

  /** Like `noteSelf`, for released partitions. */
  noteReleased(partitions: readonly number[]): void {
    this.#note(partitions, (_, owner) => (this.#isSelf(owner) ? null : owner));
  }

  /** Recomputes the owners and notifies listeners of the changes. @param holdings Null without a membership. */
  reckon(holdings: Holdings | null, { gone, came }: MemberChange = UNCHANGED): void {
    const moved: number[] = [];
    this.#owners = this.#owners.map((before, partition) => {
      const owner = this.#ownerOf(partition, holdings);
      if (owner?.instance === before?.instance && owner?.epoch === before?.epoch) return before;
      moved.push(partition);
      return owner;
    });
    const { id, draining } = this.#self;
    const isLate = (owner: string | null, at: number) => owner === id && !holdings?.serves(at);
    if (draining || !this.wanted.some(isLate)) this.#lagSinceMs = null;
    else this.#lagSinceMs ??= this.#clock.monotonic();
    if (moved.length + gone.length + came.length > 0) this.tell({ moved, gone, came });
  }

  /**
   * For its own partitions this shard is more current than the directory; a claim without a published epoch does not
   * count as owned.
   */
  #ownerOf(partition: number, holdings: Holdings | null): Owner | null {
    const fence = holdings?.serves(partition) ? holdings.fence(partition) : null;
    if (fence) return { ...this.#identity, epoch: fence.epoch };
    const claimed = this.#view.owners[partition] ?? null;
    return claimed && claimed.epoch > 0 && !this.#isSelf(claimed) ? claimed : null;
  }

  /** Entries that a view already includes, or has overtaken, are kept. */
  #note(
    partitions: Iterable<number>,
    change: (partition: number, owner: Owner | null) => Owner | null,
  ): void {
    const owners = [...this.#view.owners];
    for (const partition of partitions) owners[partition] = change(partition, owners[partition] ?? null);
    this.#view = { ...this.#view, owners };
  }

  #isSelf(run: Pick<Owner, 'instance'> | null): boolean {
    return run?.instance === this.#identity.instance;
  }
}

/** Runs of other shards that left the view, and runs that joined it. */
function changeOf(before: readonly ShardInfo[], after: readonly ShardInfo[], self: string): MemberChange {
  const instances = (shards: readonly ShardInfo[]) => new Set(shards.map(({ instance }) => instance));
  const [then, now] = [instances(before), instances(after)];
  return {
    gone: before.filter(({ instance }) => instance !== self && !now.has(instance)),
    came: after.filter(({ instance }) => instance !== self && !then.has(instance)),
  };
}
