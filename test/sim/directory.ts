import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { ClusterView, Owner, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { renewalEveryMs, safeUntilMs } from '../../engine/placement/lease.ts';
import { hits } from './bounds.ts';
import type { Host, World } from './world.ts';

const WAY_MS = { from: 0.5, to: 6 };
const SLOW = { chance: 0.02, fromMs: 50, toMs: 500 };
/** Time-out of a request. */
const TIMEOUT_MS = 1_500;

interface Member {
  info: ShardInfo;
  expiresMs: number;
}

/** The store of membership and ownership that all shards share: leases that end by its own clock, and claims. */
export class SimRegistry {
  readonly world: World;
  readonly partitions: number;
  readonly ttlMs: number;
  readonly #members = new Map<string, Member>();
  readonly #watchers = new Set<SimDirectory>();
  readonly #owners: (Owner | null)[];
  #revision = 0;
  #workers = 0;
  #view: ClusterView | null = null;

  constructor(world: World, partitions: number, ttlMs: number) {
    this.world = world;
    this.partitions = partitions;
    this.ttlMs = ttlMs;
    this.#owners = new Array<null>(partitions).fill(null);
  }

  get view(): ClusterView {
    this.#view ??= {
      revision: this.#revision,
      shards: [...this.#members.values()].map(({ info }) => info).sort((a, b) => (a.id < b.id ? -1 : 1)),
      owners: [...this.#owners],
    };
    return this.#view;
  }

  worker(): number {
    this.#workers = (this.#workers + 1) % 1024;
    return this.#workers;
  }

  /** Returns the membership, which ends with its lease; requests under an ended membership have no effect. */
  enter(info: ShardInfo, watcher: SimDirectory): Member {
    const before = this.#members.get(info.id);
    if (before && before.info.instance !== info.instance) throw new Error(`${info.id} is still a member.`);
    const member = { info, expiresMs: this.world.nowMs + this.ttlMs };
    this.#members.set(info.id, member);
    this.#watchers.add(watcher);
    this.#expireLater(member);
    this.#changed();
    return member;
  }

  /** @returns false when the membership is over. */
  renew(member: Member): boolean {
    if (!this.#lasts(member)) return false;
    member.expiresMs = this.world.nowMs + this.ttlMs;
    return true;
  }

  update(member: Member, change: Partial<ShardInfo>): void {
    this.#expectLasting(member);
    member.info = { ...member.info, ...change };
    this.#changed();
  }

  /** Changes what is shown of a shard, without its doing. */
  mark(id: string, change: Partial<ShardInfo>): void {
    const member = this.#members.get(id);
    if (!member) return;
    this.world.note(`${member.info.instance} is marked ${JSON.stringify(change)}`);
    this.update(member, change);
  }

  claim(member: Member, partitions: readonly number[]): number[] {
    this.#expectLasting(member);
    const { id: shardId, instance } = member.info;
    const free = partitions.filter((partition) => this.#owners[partition] === null);
    for (const partition of free) this.#owners[partition] = { shardId, instance, epoch: 0 };
    if (free.length > 0) this.#changed();
    return free;
  }

  publish(member: Member, epochs: ReadonlyMap<number, number>): void {
    this.#expectLasting(member);
    for (const [partition, epoch] of epochs) {
      const owner = this.#owners[partition];
      if (owner?.instance === member.info.instance && owner.epoch < epoch)
        this.#owners[partition] = { ...owner, epoch };
    }
    this.#changed();
  }

  release(member: Member, partitions: readonly number[]): void {
    this.#expectLasting(member);
    for (const partition of partitions)
      if (this.#owners[partition]?.instance === member.info.instance) this.#owners[partition] = null;
    this.#changed();
  }

  leave(member: Member): void {
    if (this.#lasts(member)) this.#end(member);
  }

  unwatch(watcher: SimDirectory): void {
    this.#watchers.delete(watcher);
  }

  #lasts(member: Member): boolean {
    return this.#members.get(member.info.id) === member;
  }

  #expectLasting(member: Member): void {
    if (!this.#lasts(member)) throw new Error(`${member.info.id} is no member.`);
  }

  #expireLater(member: Member): void {
    if (!this.#lasts(member)) return;
    this.world.after(member.expiresMs - this.world.nowMs + 0.01, () => {
      if (!this.#lasts(member)) return;
      if (member.expiresMs > this.world.nowMs) return this.#expireLater(member);
      hits.add('lease_ttl_ms');
      this.world.note(`the lease of ${member.info.instance} ends`);
      this.#end(member);
    });
  }

  #end({ info: { id, instance } }: Member): void {
    this.#members.delete(id);
    for (const [partition, owner] of this.#owners.entries())
      if (owner?.instance === instance) this.#owners[partition] = null;
    this.#changed();
  }

  #changed(): void {
    this.#revision += 1;
    this.#view = null;
    for (const watcher of [...this.#watchers]) watcher.watch();
  }
}

/** One shard's connection to the registry. */
export class SimDirectory implements Directory {
  readonly partitions: number;
  /** Nothing comes through. */
  readonly way: { cut: boolean };
  readonly #registry: SimRegistry;
  readonly #host: Host;
  readonly #clock: Clock;
  #member: Member | null = null;
  #listener: DirectoryListener | null = null;
  #safeUntilMs = Number.NEGATIVE_INFINITY;
  #seen = -1;
  #viewsMs = 0;

  constructor(registry: SimRegistry, host: Host, clock: Clock, way: { cut: boolean }) {
    this.partitions = registry.partitions;
    this.#registry = registry;
    this.#host = host;
    this.#clock = clock;
    this.way = way;
  }

  worker(): Promise<number> {
    return this.#ask(() => this.#registry.worker());
  }

  async enter(self: ShardInfo, listener: DirectoryListener): Promise<void> {
    const sentMs = this.#clock.monotonic();
    const member = await this.#ask(() => this.#registry.enter(self, this));
    this.#member = member;
    this.#listener = listener;
    this.#safeUntilMs = safeUntilMs(sentMs, this.#registry.ttlMs);
    const { view } = this.#registry;
    this.#seen = view.revision;
    listener.changed(view);
    this.#renewLater(member);
  }

  async update(change: Partial<ShardInfo>): Promise<void> {
    await this.#asSelf((member) => this.#registry.update(member, change));
  }

  claim(partitions: readonly number[]): Promise<readonly number[]> {
    return this.#asSelf((member) => this.#registry.claim(member, partitions));
  }

  publish(epochs: ReadonlyMap<number, number>): Promise<void> {
    return this.#asSelf((member) => this.#registry.publish(member, epochs));
  }

  release(partitions: readonly number[]): Promise<void> {
    return this.#asSelf((member) => this.#registry.release(member, partitions));
  }

  async leave(): Promise<void> {
    const left = this.#asSelf((member) => this.#registry.leave(member));
    this.#over();
    await left;
  }

  safeUntilMs(): number {
    return this.#safeUntilMs;
  }

  async close(): Promise<void> {
    this.#over();
  }

  /** Sends the changed view after a delay, unless the connection is cut. */
  watch(): void {
    const { world, view } = this.#registry;
    this.#viewsMs = Math.max(this.#viewsMs, world.nowMs + this.#wayMs());
    world.after(
      this.#viewsMs - world.nowMs,
      () => {
        // A view older than a received answer is dropped: a newer view follows.
        if (this.way.cut || view.revision <= this.#seen || !this.#listener) return;
        this.#seen = view.revision;
        this.#listener.changed(view);
      },
      this.#host,
    );
  }

  #over(): void {
    this.#registry.unwatch(this);
    this.#listener = null;
    this.#member = null;
    this.#safeUntilMs = Number.NEGATIVE_INFINITY;
  }

  #renewLater(member: Member): void {
    this.#clock.setTimer(() => void this.#renew(member), renewalEveryMs(this.#registry.ttlMs));
  }

  async #renew(member: Member): Promise<void> {
    if (this.#member !== member) return;
    const sentMs = this.#clock.monotonic();
    const alive = await this.#ask(() => this.#registry.renew(member)).catch(() => null);
    if (this.#member !== member) return;
    if (alive === false) {
      const listener = this.#listener;
      this.#over();
      listener?.lost('The lease has ended.');
      return;
    }
    if (alive) {
      this.#safeUntilMs = safeUntilMs(sentMs, this.#registry.ttlMs);
      this.#listener?.renewed();
      // The shard missed a change while the connection was cut.
      if (this.#registry.view.revision > this.#seen) this.watch();
    }
    this.#renewLater(member);
  }

  #asSelf<T>(act: (member: Member) => T): Promise<T> {
    const member = this.#member;
    if (!member) return Promise.reject(new Error('This shard is no member.'));
    return this.#ask(() => act(member));
  }

  #ask<T>(act: () => T): Promise<T> {
    const { world } = this.#registry;
    return new Promise<T>((resolve, reject) => {
      let open = true;
      const settle = (run: () => void) =>
        world.after(
          this.#wayMs(),
          () => {
            if (this.way.cut || !open) return;
            open = false;
            run();
          },
          this.#host,
        );
      world.after(this.#wayMs(), () => {
        if (this.way.cut) return;
        try {
          const value = act();
          const { revision } = this.#registry.view;
          settle(() => {
            this.#seen = Math.max(this.#seen, revision - 1);
            resolve(value);
          });
        } catch (error) {
          settle(() => reject(error));
        }
      });
      world.after(
        TIMEOUT_MS,
        () => {
          if (!open) return;
          open = false;
          reject(new Error('The directory does not answer.'));
        },
        this.#host,
      );
    });
  }

  #wayMs(): number {
    const { world } = this.#registry;
    return world.chance(SLOW.chance)
      ? world.between(SLOW.fromMs, SLOW.toMs)
      : world.between(WAY_MS.from, WAY_MS.to);
  }
}
