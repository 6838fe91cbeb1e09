import { type Actor, createActor } from 'xstate';
import { partitionOf } from '../../../engine/placement/partition.ts';
import { planOf } from '../../../engine/placement/plan.ts';
import { rendezvous } from '../../../engine/placement/rendezvous.ts';
import type { ClusterStore } from '../../../storage/cluster/port.ts';
import type { Fence } from '../../../storage/database/driver.ts';
import type {
  ClusterView,
  Owner,
  Ownership,
  OwnershipChange,
  ShardInfo,
  ShardState,
} from '../../placement/ports.ts';
import type { Clock, Timer } from '../../runtime/clock.ts';
import { withTimeout } from '../../runtime/timeout.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { Directory, Handover } from '../ports.ts';
import { changeOf, Holdings, STEP_PARTITIONS, stepsOf } from './holdings.ts';
import { shardMachine } from './shard.machine.ts';

export interface OwnershipDeps {
  /** This shard; the directory assigns its worker number. */
  readonly self: Omit<ShardInfo, 'worker' | 'draining'>;
  readonly directory: Directory;
  readonly store: Pick<ClusterStore, 'takeOver'>;
  readonly handover: Handover;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** 0 to 1: jitter for the retries of many shards. */
  readonly random: () => number;
  /** Runs before the shard rejoins after a lost membership: releases what other shards took over in the meantime. */
  readonly beforeRejoin?: () => Promise<void>;
  /** Upper bound on the time for which work in progress may delay one handover. */
  readonly handoverTimeoutMs: number;
  /** Receives the worker number before anything is served under it. */
  readonly numbered: (worker: number) => void;
  /** Receives faults of background work, which is retried. */
  readonly onFault: (error: unknown, what: string) => void;
}

/** Ownership of a shard in a cluster. */
export interface ShardOwnership extends Ownership {
  readonly self: ShardInfo;
  /** The fence under which this shard serves the id, even while its lease is not safe; null for ids of other owners. */
  heldUnder(id: string): Fence | null;
  /** Enters the cluster; resolves when this shard serves, rejects when it is closed before. */
  start(adminUrl?: string | null): Promise<void>;
  /** For how long a partition assigned to this shard has not been served; 0 when all are. */
  readonly lagMs: number;
}

/** First and longest delay before the directory or the database is called again. */
const RETRY_MS = { first: 100, most: 2_000 };
/** How often a shard checks a lease that is not safe. */
const LOOK_MS = 100;

export const createOwnership = (deps: OwnershipDeps): ShardOwnership => new DirectoryOwnership(deps);

class DirectoryOwnership implements ShardOwnership {
  readonly #deps: OwnershipDeps;
  readonly #partitions: number;
  readonly #place: ReturnType<typeof rendezvous>;
  readonly #actor: Actor<typeof shardMachine>;
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  #self: ShardInfo;
  #view: ClusterView;
  /** The planned owners, and the shard list from which they were computed. */
  #wanted: { readonly key: string; readonly owners: readonly (string | null)[] } = { key: '', owners: [] };
  readonly #holdings: Holdings;
  /** Epochs that are not published in the directory yet. */
  readonly #unpublished = new Map<number, number>();
  /** Partitions for which the database rejected our epoch: the next step releases them in the directory. */
  readonly #returning = new Set<number>();
  /** This shard drains, and the directory was not updated yet. */
  #retiring = false;
  /** Incremented whenever all work in progress becomes void. */
  #run = 0;
  #entered = false;
  #asked = false;
  #working = false;
  #failures = 0;
  #retry: Timer | null = null;
  #watch: Timer | null = null;
  #lagSinceMs: number | null = null;
  #joiningSinceMs = 0;
  readonly #waiting: { resolve(): void; reject(error: Error): void }[] = [];
  #drained: { readonly promise: Promise<void>; readonly resolve: () => void } | null = null;
  #drainedByMs: number | null = null;
  #left: Promise<void> | null = null;

  constructor(deps: OwnershipDeps) {
    const { partitions } = deps.directory;
    this.#deps = deps;
    this.#partitions = partitions;
    this.#place = rendezvous(partitions);
    this.#self = { ...deps.self, worker: 0, draining: false };
    this.#view = { revision: -1, shards: [], owners: new Array<null>(partitions).fill(null) };
    this.#holdings = new Holdings(partitions, { shardId: deps.self.id, instance: deps.self.instance });
    this.#actor = createActor(shardMachine, {
      input: {
        enter: () => this.#enter(),
        abandon: () => this.#abandon(),
        // Listeners read `state`, which is the new one only when the transition has ended.
        wake: () => queueMicrotask(() => this.#tell({ moved: [], gone: [], came: [] })),
        retire: () => this.#retire(),
        release: () => this.#release(),
      },
    });
  }

  get self(): ShardInfo {
    return this.#self;
  }

  /** Checks the lease first: after a suspended process resumes, a caller may read this before any timer has run. */
  get state(): ShardState {
    if (this.#actor.getSnapshot().status === 'active' && this.#entered)
      this.#actor.send({ type: this.#safe ? 'safe' : 'unsafe' });
    return this.#actor.getSnapshot().value;
  }

  get knowsMembers(): boolean {
    const { state } = this;
    return (state === 'serving' || state === 'draining') && this.#safe;
  }

  get view(): ClusterView {
    return this.#view;
  }

  get lagMs(): number {
    return this.#lagSinceMs === null ? 0 : this.#deps.clock.monotonic() - this.#lagSinceMs;
  }

  partitionOf(id: string): number {
    return partitionOf(id, this.#partitions);
  }

  owns(id: string): boolean {
    return this.#holdings.serves(partitionOf(id, this.#partitions)) && this.#safe;
  }

  ownerOf(id: string): Owner | null {
    const partition = partitionOf(id, this.#partitions);
    return this.#holdings.serves(partition) && !this.#safe ? null : this.#holdings.owner(partition);
  }

  heldUnder(id: string): Fence | null {
    const partition = partitionOf(id, this.#partitions);
    return this.#holdings.serves(partition) ? this.#holdings.fence(partition) : null;
  }

  fenceOf(id: string): Fence | null {
    if (!this.#safe) return null;
    const partition = partitionOf(id, this.#partitions);
    const own = this.#holdings.fence(partition);
    if (own) return own;
    const epoch = this.#holdings.owner(partition)?.epoch;
    return epoch === undefined ? null : { partition, epoch };
  }

  onChange(run: (change: OwnershipChange) => void): () => void {
    this.#listeners.add(run);
    return () => void this.#listeners.delete(run);
  }

  start(adminUrl: string | null = null): Promise<void> {
    this.#self = { ...this.#self, adminUrl };
    const serving = new Promise<void>((resolve, reject) => void this.#waiting.push({ resolve, reject }));
    this.#actor.start();
    return serving;
  }

  stale(partition: number, epoch?: number): void {
    const fence = this.#holdings.fence(partition);
    if (!fence || (epoch !== undefined && epoch !== fence.epoch)) return;
    this.#letGo([partition]);
    this.#returning.add(partition);
    this.#ask();
  }

  drain(): Promise<void> {
    if (!this.#drained) {
      let resolve = (): void => undefined;
      const promise = new Promise<void>((done) => {
        resolve = done;
      });
      this.#drained = { promise, resolve };
      if (this.#actor.getSnapshot().status === 'active' && this.#entered) this.#actor.send({ type: 'drain' });
      else resolve();
    }
    return this.#drained.promise;
  }

  async close(): Promise<void> {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type: 'close' });
    await this.#left;
  }

  /** Reads the lease on each call, because after a suspension no timer may have run yet. */
  get #safe(): boolean {
    return this.#entered && this.#deps.clock.monotonic() < this.#deps.directory.safeUntilMs();
  }

  #enter(): void {
    const run = this.#run;
    this.#joiningSinceMs = this.#deps.clock.monotonic();
    this.#join(run).catch((error) => {
      if (run !== this.#run) return;
      this.#deps.onFault(error, 'entering the cluster');
      // The configuration is invalid: no retry can succeed.
      if (error instanceof RangeError) this.#giveUp(error);
      else this.#later(() => this.#enter());
    });
  }

  async #join(run: number): Promise<void> {
    const { directory, numbered, beforeRejoin } = this.#deps;
    const worker = await directory.worker();
    if (run > 0) await beforeRejoin?.();
    if (run !== this.#run) return;
    this.#self = { ...this.#self, worker };
    numbered(worker);
    await directory.enter(this.#self, {
      changed: (view) => run === this.#run && this.#changed(view),
      lost: (reason) => run === this.#run && this.#lost(reason),
    });
    if (this.#actor.getSnapshot().status !== 'active') return directory.leave();
    if (run !== this.#run) return;
    this.#entered = true;
    this.#look();
    this.#ask();
  }

  #lost(reason: string): void {
    this.#deps.onFault(new Error(reason), 'the membership has ended');
    this.#actor.send({ type: 'lost' });
  }

  /** Voids all work in progress; what follows belongs to a new membership, or to none. */
  #void(): void {
    this.#run += 1;
    this.#entered = false;
    this.#retry?.cancel();
    this.#watch?.cancel();
    this.#retry = null;
    this.#watch = null;
    this.#unpublished.clear();
    this.#returning.clear();
    this.#holdings.clear();
    this.#asked = false;
    this.#working = false;
  }

  #abandon(): void {
    this.#void();
    this.#deps.handover.abandon(() => true);
    this.#refresh();
    this.#drained?.resolve();
  }

  #release(): void {
    const member = this.#entered;
    this.#void();
    this.#dismiss(new Error('The shard has left the cluster.'));
    this.#drained?.resolve();
    this.#left = member
      ? this.#deps.directory.leave().catch((error) => this.#deps.onFault(error, 'leaving the cluster'))
      : Promise.resolve();
  }

  #dismiss(reason: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(reason);
  }

  #giveUp(reason: Error): void {
    this.#dismiss(reason);
    this.#actor.send({ type: 'close' });
  }

  /** Watches the lease where it can expire. */
  #look(): void {
    this.#watch = null;
    const leftMs = this.#deps.directory.safeUntilMs() - this.#deps.clock.monotonic();
    if (leftMs === Number.POSITIVE_INFINITY) return;
    this.#actor.send({ type: leftMs > 0 ? 'safe' : 'unsafe' });
    this.#watch = this.#deps.wheel.add(() => this.#look(), leftMs > 0 ? leftMs : LOOK_MS);
  }

  #retire(): void {
    this.#self = { ...this.#self, draining: true };
    this.#retiring = true;
    this.#dismiss(new Error('The shard is being drained.'));
    this.#ask();
  }

  #later(again: () => void): void {
    const mostMs = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.#failures);
    this.#failures += 1;
    this.#retry?.cancel();
    this.#retry = this.#deps.wheel.add(
      () => {
        this.#retry = null;
        again();
      },
      mostMs * (0.5 + this.#deps.random() / 2),
    );
  }

  #changed(view: ClusterView): void {
    const before = this.#view;
    this.#view = view;
    const lost = this.#holdings.lostBy(view);
    if (lost.length > 0) this.#letGo(lost);
    this.#refresh(changeOf(before.shards, view.shards, this.#self.instance));
    this.#ask();
  }

  /** Applies the result of a directory call to the view until the next view includes it. */
  #note(partitions: Iterable<number>, owner: (partition: number) => Owner | null): void {
    const owners = [...this.#view.owners];
    for (const partition of partitions) owners[partition] = owner(partition);
    this.#view = { ...this.#view, owners };
  }

  #ownerWith = (epoch: number): Owner => ({ ...this.#holdings.self, epoch });

  /** Recomputes the owners and notifies listeners of the changes. */
  #refresh({ gone, came }: Pick<OwnershipChange, 'gone' | 'came'> = { gone: [], came: [] }): void {
    const moved = this.#holdings.reckon(this.#view);
    const isLate = (id: string | null, at: number) => id === this.#self.id && !this.#holdings.serves(at);
    if (this.#self.draining || !this.#wantedOwners().some(isLate)) this.#lagSinceMs = null;
    else this.#lagSinceMs ??= this.#deps.clock.monotonic();
    if (moved.length + gone.length + came.length > 0) this.#tell({ moved, gone, came });
  }

  #tell(change: OwnershipChange): void {
    for (const run of [...this.#listeners]) run(change);
  }

  #wantedOwners(): readonly (string | null)[] {
    const { shards } = this.#view;
    const key = shards.map(({ id, weight, draining }) => `${id} ${weight} ${draining}`).join();
    if (key !== this.#wanted.key) this.#wanted = { key, owners: this.#place(shards) };
    return this.#wanted.owners;
  }

  /** Schedules a reconciliation of the view with the plan, now or after the current one. */
  #ask(): void {
    this.#asked = true;
    if (!this.#working) void this.#reconcile();
  }

  async #reconcile(): Promise<void> {
    const run = this.#run;
    this.#working = true;
    while (this.#asked && this.#entered) {
      this.#asked = false;
      try {
        const did = await this.#step(run);
        if (run !== this.#run) return;
        this.#failures = 0;
        if (did) this.#asked = true;
        else this.#settled();
      } catch (error) {
        if (run !== this.#run) return;
        this.#deps.onFault(error, 'a change of hands');
        this.#later(() => this.#ask());
        break;
      }
    }
    this.#working = false;
  }

  /** Does the most urgent step that is due; false when none is. */
  async #step(run: number): Promise<boolean> {
    const { directory } = this.#deps;
    if (this.#retiring) {
      await directory.update({ draining: true });
      this.#retiring = false;
      return true;
    }
    if (this.#returning.size > 0) return this.#giveBack([...this.#returning], run);
    if (this.#unpublished.size > 0) return this.#publish(new Map(this.#unpublished), run);
    const { shards, owners } = this.#view;
    const view = { shards: shards.map((shard) => (this.#isSelf(shard) ? this.#self : shard)), owners };
    const plan = planOf(view, this.#wantedOwners(), this.#self.instance);
    const leaving = new Set(plan.release);
    const idle = this.#holdings.idleBy(this.#view).filter((partition) => !leaving.has(partition));
    if (idle.length > 0) return this.#serve(idle, run);
    if (plan.claim.length > 0) {
      const taken = await directory.claim(plan.claim);
      if (run !== this.#run) return false;
      this.#note(taken, () => this.#ownerWith(0));
      if (taken.length > 0) return true;
    }
    if (plan.release.length > 0) return this.#handOver(plan.release.slice(0, STEP_PARTITIONS), run);
    return false;
  }

  #isSelf = (shard: ShardInfo): boolean => shard.instance === this.#self.instance;

  /**
   * Takes over claimed partitions. A partition is served as soon as the database has its new epoch, which is unique to
   * this shard, and published only then: a caller that finds the owner in the directory finds it serving. A hanging
   * transaction delays only its own step.
   */
  async #serve(partitions: readonly number[], run: number): Promise<boolean> {
    const { store, clock, handoverTimeoutMs } = this.#deps;
    const steps = stepsOf(partitions).map(async (step) => {
      const epochs = await withTimeout(store.takeOver(step, this.#self.id), handoverTimeoutMs, clock);
      if (run !== this.#run) return;
      for (const [partition, epoch] of epochs) {
        this.#holdings.serve(partition, epoch);
        this.#unpublished.set(partition, epoch);
      }
      this.#refresh();
      await this.#publish(epochs, run);
    });
    const failed = (await Promise.allSettled(steps)).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    return true;
  }

  async #publish(epochs: ReadonlyMap<number, number>, run: number): Promise<boolean> {
    await this.#deps.directory.publish(epochs);
    if (run !== this.#run) return false;
    this.#note(epochs.keys(), (partition) => this.#ownerWith(epochs.get(partition) ?? 0));
    for (const [partition, epoch] of epochs)
      if (this.#unpublished.get(partition) === epoch) this.#unpublished.delete(partition);
    return true;
  }

  async #handOver(partitions: readonly number[], run: number): Promise<boolean> {
    const { directory, handover, handoverTimeoutMs } = this.#deps;
    this.#holdings.leave(partitions);
    this.#refresh();
    await handover.handOver(this.#among(partitions), handoverTimeoutMs);
    if (run !== this.#run) return false;
    this.#forget(partitions);
    await directory.release(partitions);
    if (run !== this.#run) return false;
    this.#note(partitions, () => null);
    return true;
  }

  async #giveBack(partitions: readonly number[], run: number): Promise<boolean> {
    await this.#deps.directory.release(partitions);
    if (run !== this.#run) return false;
    for (const partition of partitions) this.#returning.delete(partition);
    this.#note(partitions, () => null);
    return true;
  }

  /** Ends the actors of lost partitions at once, without writing. */
  #letGo(partitions: readonly number[]): void {
    this.#forget(partitions);
    this.#deps.handover.abandon(this.#among(partitions));
    this.#refresh();
  }

  #forget(partitions: readonly number[]): void {
    this.#holdings.forget(partitions);
    for (const partition of partitions) this.#unpublished.delete(partition);
  }

  #among(partitions: readonly number[]): (id: string) => boolean {
    const set = new Set(partitions);
    return (id) => set.has(partitionOf(id, this.#partitions));
  }

  /** No step is due until the view changes or a timer fires: completes the join or the drain. */
  #settled(): void {
    const { value } = this.#actor.getSnapshot();
    const nowMs = this.#deps.clock.monotonic();
    const patienceMs = 2 * this.#deps.handoverTimeoutMs;
    if (value === 'joining') {
      const serves = this.#lagSinceMs === null || this.#holdings.servesAny;
      if (!serves && nowMs < this.#joiningSinceMs + patienceMs) {
        // After the deadline the shard serves even without partitions: their owners have not released them, but this
        // shard can already accept clients and links.
        this.#later(() => this.#ask());
        return;
      }
      this.#actor.send({ type: 'served' });
      for (const { resolve } of this.#waiting.splice(0)) resolve();
    } else if (value === 'draining') {
      const others = this.#view.shards.some((shard) => !this.#isSelf(shard) && !shard.draining);
      const isTaken = !others || this.#view.owners.every((owner) => owner !== null && owner.epoch > 0);
      this.#drainedByMs ??= nowMs + this.#deps.handoverTimeoutMs;
      if (isTaken || nowMs >= this.#drainedByMs) this.#drained?.resolve();
      else this.#later(() => this.#ask());
    }
  }
}
