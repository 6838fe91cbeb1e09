/** A directory in memory, with leases on a clock of its own: what etcd and a supervisor are to shards, for tests. */

import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { ClusterView, Owner, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';

interface Member {
  info: ShardInfo;
  worker: number;
  readonly listener: DirectoryListener;
  expiry: Timer;
}

export class MemoryAuthority {
  readonly partitions: number;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly members = new Map<string, Member>();
  readonly owners: (Owner | null)[];
  /** Instances that it cannot hear, nor be heard by, with what they are to hear when they can: null, nothing of note. */
  readonly cut = new Map<string, (() => void) | null>();
  readonly workers = new Set<number>();
  revision = 0;

  constructor(clock: Clock, { partitions = 16, ttlMs = 10_000 } = {}) {
    this.clock = clock;
    this.partitions = partitions;
    this.ttlMs = ttlMs;
    this.owners = new Array<Owner | null>(partitions).fill(null);
  }

  get view(): ClusterView {
    const shards = [...this.members.values()].map(({ info }) => info).sort((a, b) => (a.id < b.id ? -1 : 1));
    return { revision: this.revision, shards, owners: [...this.owners] };
  }

  changed(): void {
    this.revision += 1;
    for (const [instance, { listener }] of [...this.members])
      if (!this.cut.has(instance)) listener.changed(this.view);
  }

  cutOff(instance: string): void {
    if (!this.cut.has(instance)) this.cut.set(instance, null);
  }

  heal(instance: string): void {
    const lost = this.cut.get(instance);
    this.cut.delete(instance);
    if (lost) lost();
    else this.members.get(instance)?.listener.changed(this.view);
  }

  renew(instance: string): boolean {
    const member = this.members.get(instance);
    if (!member) return false;
    member.expiry.cancel();
    member.expiry = this.clock.setTimer(() => this.end(instance, 'The lease is over.'), this.ttlMs);
    return true;
  }

  /** Ends a membership: by its lease, or because its process is known to be gone. */
  end(instance: string, reason: string | null): void {
    const member = this.members.get(instance);
    if (!member) return;
    member.expiry.cancel();
    this.members.delete(instance);
    this.workers.delete(member.worker);
    for (const [partition, owner] of this.owners.entries())
      if (owner?.instance === instance) this.owners[partition] = null;
    const lost = () => member.listener.lost(reason ?? '');
    if (this.cut.has(instance)) this.cut.set(instance, lost);
    else if (reason !== null) lost();
    this.changed();
  }
}

/** One shard's way to the authority; each call takes a microtask, or fails while it is cut off. */
export const memoryDirectory = (authority: MemoryAuthority): Directory => new MemoryDirectory(authority);

class MemoryDirectory implements Directory {
  readonly partitions: number;
  readonly #authority: MemoryAuthority;
  #instance: string | null = null;
  #safeUntilMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;
  #worker = -1;

  constructor(authority: MemoryAuthority) {
    this.partitions = authority.partitions;
    this.#authority = authority;
  }

  safeUntilMs = (): number => this.#safeUntilMs;

  worker = async (): Promise<number> => {
    await this.#reach();
    const { workers } = this.#authority;
    if (this.#worker < 0) this.#worker = 0;
    while (workers.has(this.#worker)) this.#worker += 1;
    workers.add(this.#worker);
    return this.#worker;
  };

  enter = async (self: ShardInfo, listener: DirectoryListener): Promise<void> => {
    const authority = this.#authority;
    await this.#reach();
    this.#stop();
    this.#instance = self.instance;
    await this.#reach();
    if ([...authority.members.values()].some(({ info }) => info.id === self.id))
      throw new Error(`Another run of ${self.id} is a member.`);
    const lost = (reason: string) => {
      this.#stop();
      listener.lost(reason);
    };
    const expiry = { cancel: () => undefined };
    authority.members.set(self.instance, {
      ...{ info: self, worker: self.worker, expiry },
      listener: { ...listener, lost },
    });
    this.#renew();
    authority.changed();
  };

  update = async (change: Partial<Pick<ShardInfo, 'draining' | 'weight'>>): Promise<void> => {
    const member = await this.#member();
    member.info = { ...member.info, ...change };
    this.#authority.changed();
  };

  claim = async (wanted: readonly number[]): Promise<readonly number[]> => {
    const { info } = await this.#member();
    const { owners } = this.#authority;
    const taken = wanted.filter((partition) => owners[partition] === null);
    for (const partition of taken)
      owners[partition] = { shardId: info.id, instance: info.instance, epoch: 0 };
    this.#authority.changed();
    return taken;
  };

  publish = async (epochs: ReadonlyMap<number, number>): Promise<void> => {
    const { info } = await this.#member();
    const { owners } = this.#authority;
    for (const [partition, epoch] of epochs) {
      const owner = owners[partition];
      if (owner?.instance !== info.instance) throw new Error('Not ours.');
      owners[partition] = { ...owner, epoch };
    }
    this.#authority.changed();
  };

  release = async (given: readonly number[]): Promise<void> => {
    await this.#reach();
    const { owners } = this.#authority;
    for (const partition of given)
      if (owners[partition]?.instance === this.#instance) owners[partition] = null;
    this.#authority.changed();
  };

  leave = async (): Promise<void> => {
    await this.#reach();
    this.#stop();
    this.#authority.end(this.#instance ?? '', null);
  };

  close = async (): Promise<void> => this.#stop();

  async #reach(): Promise<void> {
    await Promise.resolve();
    if (this.#instance !== null && this.#authority.cut.has(this.#instance))
      throw new Error('The directory does not answer.');
  }

  async #member(): Promise<Member> {
    await this.#reach();
    const member = this.#authority.members.get(this.#instance ?? '');
    if (!member) throw new Error('No member.');
    return member;
  }

  #renew(): void {
    const authority = this.#authority;
    this.#timer = authority.clock.setTimer(() => this.#renew(), authority.ttlMs / 4);
    if (this.#instance === null || authority.cut.has(this.#instance)) return;
    if (!authority.renew(this.#instance)) return;
    this.#safeUntilMs = authority.clock.monotonic() + authority.ttlMs - 300;
    authority.members.get(this.#instance)?.listener.renewed();
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#safeUntilMs = Number.NEGATIVE_INFINITY;
  }
}
