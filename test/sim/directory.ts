import type { Directory, DirectoryListener } from '../../actors/cluster/ports.ts';
import type { ClusterView, Owner, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { renewalEveryMs, safeUntilMs } from '../../engine/placement/lease.ts';
import { hits } from './bounds.ts';
import type { Host, World } from './world.ts';

const WAY_MS = { from: 0.5, to: 6 };
const SLOW = { chance: 0.02, fromMs: 50, toMs: 500 };
/** A question that is not answered is given up after so long. */
const PATIENCE_MS = 1_500;

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

  enter(info: ShardInfo, watcher: SimDirectory): void {
    const before = this.#members.get(info.id);
    if (before && before.info.instance !== info.instance) throw new Error(`${info.id} is still a member.`);
    this.#members.set(info.id, { info, expiresMs: this.world.nowMs + this.ttlMs });
    this.#watchers.add(watcher);
    this.#expireLater(info);
    this.#changed();
  }

  /** False: the membership is over. */
  renew(info: ShardInfo): boolean {
    const member = this.#memberOf(info);
    if (member) member.expiresMs = this.world.nowMs + this.ttlMs;
    return member !== null;
  }

  update(info: ShardInfo, change: Partial<ShardInfo>): void {
    const member = this.#living(info);
    member.info = { ...member.info, ...change };
    this.#changed();
  }

  claim(info: ShardInfo, partitions: readonly number[]): number[] {
    this.#living(info);
    const { id: shardId, instance } = info;
    const free = partitions.filter((partition) => this.#owners[partition] === null);
    for (const partition of free) this.#owners[partition] = { shardId, instance, epoch: 0 };
    if (free.length > 0) this.#changed();
    return free;
  }

  publish(info: ShardInfo, epochs: ReadonlyMap<number, number>): void {
    this.#living(info);
    for (const [partition, epoch] of epochs) {
      const owner = this.#owners[partition];
      if (owner?.instance === info.instance) this.#owners[partition] = { ...owner, epoch };
    }
    this.#changed();
  }

  release(info: ShardInfo, partitions: readonly number[]): void {
    for (const partition of partitions)
      if (this.#owners[partition]?.instance === info.instance) this.#owners[partition] = null;
    this.#changed();
  }

  leave(info: ShardInfo): void {
    if (this.#memberOf(info)) this.#end(info);
  }

  unwatch(watcher: SimDirectory): void {
    this.#watchers.delete(watcher);
  }

  #memberOf({ id, instance }: ShardInfo): Member | null {
    const member = this.#members.get(id);
    return member?.info.instance === instance ? member : null;
  }

  #living(info: ShardInfo): Member {
    const member = this.#memberOf(info);
    if (!member) throw new Error(`${info.id} is no member.`);
    return member;
  }

  #expireLater(info: ShardInfo): void {
    const member = this.#memberOf(info);
    if (!member) return;
    this.world.after(member.expiresMs - this.world.nowMs + 0.01, () => {
      if (this.#memberOf(info) !== member) return;
      if (member.expiresMs > this.world.nowMs) return this.#expireLater(info);
      hits.add('lease_ttl_ms');
      this.world.note(`the lease of ${info.instance} ends`);
      this.#end(info);
    });
  }

  #end({ id, instance }: ShardInfo): void {
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

/** One shard's way to the registry. */
export class SimDirectory implements Directory {
  readonly partitions: number;
  /** Nothing comes through. */
  readonly way: { cut: boolean };
  readonly #registry: SimRegistry;
  readonly #host: Host;
  readonly #clock: Clock;
  #self: ShardInfo | null = null;
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
    await this.#ask(() => this.#registry.enter(self, this));
    this.#self = self;
    this.#listener = listener;
    this.#safeUntilMs = safeUntilMs(sentMs, this.#registry.ttlMs);
    const { view } = this.#registry;
    this.#seen = view.revision;
    listener.changed(view);
    this.#renewLater(self);
  }

  async update(change: Partial<ShardInfo>): Promise<void> {
    await this.#asSelf((self) => this.#registry.update(self, change));
  }

  claim(partitions: readonly number[]): Promise<readonly number[]> {
    return this.#asSelf((self) => this.#registry.claim(self, partitions));
  }

  publish(epochs: ReadonlyMap<number, number>): Promise<void> {
    return this.#asSelf((self) => this.#registry.publish(self, epochs));
  }

  release(partitions: readonly number[]): Promise<void> {
    return this.#asSelf((self) => this.#registry.release(self, partitions));
  }

  async leave(): Promise<void> {
    const left = this.#asSelf((self) => this.#registry.leave(self));
    this.#over();
    await left;
  }

  safeUntilMs(): number {
    return this.#safeUntilMs;
  }

  async close(): Promise<void> {
    this.#over();
  }

  /** Something has changed: the view is on its way, unless nothing comes through. */
  watch(): void {
    const { world, view } = this.#registry;
    this.#viewsMs = Math.max(this.#viewsMs, world.nowMs + this.#wayMs());
    world.after(
      this.#viewsMs - world.nowMs,
      () => {
        // A view from before an answer that has come meanwhile is not told: another follows it.
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
    this.#self = null;
    this.#safeUntilMs = Number.NEGATIVE_INFINITY;
  }

  #renewLater(self: ShardInfo): void {
    this.#clock.setTimer(() => void this.#renew(self), renewalEveryMs(this.#registry.ttlMs));
  }

  async #renew(self: ShardInfo): Promise<void> {
    if (this.#self !== self) return;
    const sentMs = this.#clock.monotonic();
    const alive = await this.#ask(() => this.#registry.renew(self)).catch(() => null);
    if (this.#self !== self) return;
    if (alive === false) {
      const listener = this.#listener;
      this.#over();
      listener?.lost('The lease has ended.');
      return;
    }
    if (alive) {
      this.#safeUntilMs = safeUntilMs(sentMs, this.#registry.ttlMs);
      // What was missed while nothing came through.
      if (this.#registry.view.revision > this.#seen) this.watch();
    }
    this.#renewLater(self);
  }

  #asSelf<T>(act: (self: ShardInfo) => T): Promise<T> {
    const self = this.#self;
    if (!self) return Promise.reject(new Error('This shard is no member.'));
    return this.#ask(() => act(self));
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
        PATIENCE_MS,
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
