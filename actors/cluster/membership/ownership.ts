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

interface OwnershipDeps {
  /** This shard; its worker number is the directory's to give. */
  readonly self: Omit<ShardInfo, 'worker' | 'draining'>;
  readonly directory: Directory;
  readonly store: Pick<ClusterStore, 'takeOver'>;
  readonly handover: Handover;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** 0 to 1: parts the retries of many shards. */
  readonly random: () => number;
  /** Before it enters again after a time as no member: lets go of what others have taken meanwhile. */
  readonly beforeRejoin?: () => Promise<void>;
  /** The longest that work under way may hold up one change of hands. */
  readonly handoverTimeoutMs: number;
  /** Told of the worker number, before anything is served under it. */
  readonly numbered: (worker: number) => void;
  /** Told of what nobody waits for; it is tried again. */
  readonly onFault: (error: unknown, what: string) => void;
}

/** Of a shard among others. */
export interface ShardOwnership extends Ownership {
  readonly self: ShardInfo;
  /** Under what this shard has served it last, also while its lease is not safe; null when it is not its own. */
  heldUnder(id: string): Fence | null;
  /** Enters the cluster; resolves when this shard serves, rejects when it is closed before. */
  start(adminUrl?: string | null): Promise<void>;
  /** For how long something that is to be ours is not served yet; 0 when all is. */
  readonly lagMs: number;
}

/** First and longest wait before the directory or the database is asked again. */
const RETRY_MS = { first: 100, most: 2_000 };
/** How often a shard whose lease is not safe looks whether it is again. */
const LOOK_MS = 100;

export const createOwnership = (deps: OwnershipDeps): ShardOwnership => new DirectoryOwnership(deps);

class DirectoryOwnership implements ShardOwnership {
  readonly standalone = false;
  readonly #deps: OwnershipDeps;
  readonly #partitions: number;
  readonly #place: ReturnType<typeof rendezvous>;
  readonly #actor: Actor<typeof shardMachine>;
  readonly #listeners = new Set<(change: OwnershipChange) => void>();
  #self: ShardInfo;
  #view: ClusterView;
  /** What the view wants, and of which shards it was reckoned. */
  #wanted: { readonly key: string; readonly owners: readonly (string | null)[] } = { key: '', owners: [] };
  readonly #holdings: Holdings;
  /** Epochs that the directory does not know yet. */
  readonly #unpublished = new Map<number, number>();
  /** Taken from us by the database: to be given back to the directory first. */
  readonly #returning = new Set<number>();
  /** We drain, and the directory does not know it yet. */
  #retiring = false;
  /** Rises whenever all that is under way has become void. */
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
        wake: () => this.#wake(),
        retire: () => this.#retire(),
        release: () => this.#release(),
      },
    });
  }

  get self(): ShardInfo {
    return this.#self;
  }

  /** A process that was stopped for a while may ask before any timer has run. */
  get state(): ShardState {
    if (this.#actor.getSnapshot().status === 'active' && this.#entered)
      this.#actor.send({ type: this.#safe ? 'safe' : 'unsafe' });
    return this.#actor.getSnapshot().value;
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

  /** The lease is asked itself, so that a process that was stopped is wrong for no instant. */
  get #safe(): boolean {
    return this.#entered && this.#deps.clock.monotonic() < this.#deps.directory.safeUntilMs();
  }

  #enter(): void {
    const run = this.#run;
    this.#joiningSinceMs = this.#deps.clock.monotonic();
    this.#join(run).catch((error) => {
      if (run !== this.#run) return;
      this.#deps.onFault(error, 'entering the cluster');
      // It can never be entered like this.
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

  /** Voids what is under way; what follows is for a new membership, or for none. */
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

  /** Watches the lease, if there is one that can lapse. */
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

  /** Says what an answer of the directory has told us, until the next view says so too. */
  #note(partitions: Iterable<number>, owner: (partition: number) => Owner | null): void {
    const owners = [...this.#view.owners];
    for (const partition of partitions) owners[partition] = owner(partition);
    this.#view = { ...this.#view, owners };
  }

  #ownerWith = (epoch: number): Owner => ({ ...this.#holdings.self, epoch });

  /** Reckons who serves what, and tells what has changed of it. */
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

  #wake(): void {
    this.#tell({ moved: [], gone: [], came: [] });
  }

  #wantedOwners(): readonly (string | null)[] {
    const { shards } = this.#view;
    const key = shards.map(({ id, weight, draining }) => `${id} ${weight} ${draining}`).join();
    if (key !== this.#wanted.key) this.#wanted = { key, owners: this.#place(shards) };
    return this.#wanted.owners;
  }

  /** Has the view compared with what is wanted, now or when what is under way is done. */
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

  /** Does one thing that is to be done, the most urgent first; false when there is none. */
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
   * Takes over what is claimed. It is served from the moment the database has the new epoch, which nobody else can
   * have: a caller that hears of it by the directory finds it served. A commit that hangs holds up its step alone.
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

  /** What is not ours any more ends here at once. */
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

  /** Nothing is to be done until the view changes, or time passes. */
  #settled(): void {
    const { value } = this.#actor.getSnapshot();
    const nowMs = this.#deps.clock.monotonic();
    const patienceMs = 2 * this.#deps.handoverTimeoutMs;
    if (value === 'joining') {
      const serves = this.#lagSinceMs === null || this.#holdings.servesAny;
      if (!serves && nowMs < this.#joiningSinceMs + patienceMs) {
        // Those who own what is to be ours do not give it: with sockets and links there is use for us all the same.
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
