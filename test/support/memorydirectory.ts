/** A directory in memory, with leases on a clock of its own: what etcd and a supervisor are to shards, for tests. */
import type {
  ClusterView,
  Directory,
  DirectoryListener,
  Owner,
  ShardInfo,
} from '../../actors/cluster/ports.ts';
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
export function memoryDirectory(
  authority: MemoryAuthority,
): Directory & { readonly instance: string | null } {
  const { clock, partitions, ttlMs } = authority;
  let instance: string | null = null;
  let safeUntilMs = Number.NEGATIVE_INFINITY;
  let timer: Timer | null = null;
  let worker = -1;

  async function reach(): Promise<void> {
    await Promise.resolve();
    if (instance !== null && authority.cut.has(instance)) throw new Error('The directory does not answer.');
  }
  function renew(): void {
    timer = clock.setTimer(renew, ttlMs / 4);
    if (instance === null || authority.cut.has(instance)) return;
    if (authority.renew(instance)) safeUntilMs = clock.monotonic() + ttlMs - 300;
  }
  function stop(): void {
    timer?.cancel();
    timer = null;
    safeUntilMs = Number.NEGATIVE_INFINITY;
  }

  return {
    get instance() {
      return instance;
    },
    partitions,
    async worker() {
      await reach();
      while (worker < 0 || authority.workers.has(worker)) worker += 1;
      authority.workers.add(worker);
      return worker;
    },
    async enter(self, listener) {
      await reach();
      stop();
      instance = self.instance;
      if (authority.cut.has(instance)) throw new Error('The directory does not answer.');
      if ([...authority.members.values()].some(({ info }) => info.id === self.id))
        throw new Error(`Another run of ${self.id} is a member.`);
      const lost = (reason: string) => {
        stop();
        listener.lost(reason);
      };
      const member = {
        info: self,
        worker: self.worker,
        listener: { ...listener, lost },
        expiry: { cancel() {} },
      };
      authority.members.set(self.instance, member);
      renew();
      authority.changed();
    },
    async update(change) {
      await reach();
      const member = authority.members.get(instance ?? '');
      if (!member) throw new Error('No member.');
      member.info = { ...member.info, ...change };
      authority.changed();
    },
    async claim(wanted) {
      await reach();
      const member = authority.members.get(instance ?? '');
      if (!member) throw new Error('No member.');
      const taken = wanted.filter((partition) => authority.owners[partition] === null);
      for (const partition of taken)
        authority.owners[partition] = { shardId: member.info.id, instance: member.info.instance, epoch: 0 };
      authority.changed();
      return taken;
    },
    async publish(epochs) {
      await reach();
      for (const [partition, epoch] of epochs) {
        const owner = authority.owners[partition];
        if (owner?.instance !== instance) throw new Error('Not ours.');
        authority.owners[partition] = { ...owner, epoch };
      }
      authority.changed();
    },
    async release(given) {
      await reach();
      for (const partition of given)
        if (authority.owners[partition]?.instance === instance) authority.owners[partition] = null;
      authority.changed();
    },
    async leave() {
      await reach();
      stop();
      authority.end(instance ?? '', null);
    },
    safeUntilMs: () => safeUntilMs,
    async close() {
      stop();
    },
  };
}
