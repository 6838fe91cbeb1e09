import type { ClusterView } from '../../placement/ports.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import { ReconcileLoop } from '../../runtime/reconcileloop.ts';
import type { ClusterMap } from './clustermap.ts';
import { Holdings } from './holdings.ts';
import { LeaseWatch } from './leasewatch.ts';
import { type MovesDeps, PartitionMoves } from './partitionmoves.ts';
import type { ShardEvent } from './shard.machine.ts';

export interface MembershipDeps extends MovesDeps {
  /** 0 to 1: jitter for the retries of many shards. */
  readonly random: () => number;
  /** Receives the worker number before anything is served under it. */
  readonly numbered: (worker: number) => void;
  /** Receives faults of background work, which is retried. */
  readonly onFault: (error: unknown, what: string) => void;
}

interface MembershipPorts extends MembershipDeps {
  /** Belongs to this membership and ends with it. */
  readonly scope: Lifetime;
  readonly map: ClusterMap;
  /** Runs before each attempt to enter the directory. */
  readonly beforeEnter: () => Promise<void>;
  /** Receives the events of the shard's lifecycle. */
  readonly send: (event: ShardEvent) => void;
}

/** First and longest delay before the directory or the database is called again. */
const RETRY_MS = { first: 100, most: 2_000 };

/**
 * One membership of this shard in the cluster, from the attempt to enter the directory until it is lost or left. An
 * ended membership does nothing: neither answers that arrive late nor views of the directory change anything.
 */
export class Membership {
  readonly holdings: Holdings;
  readonly #ports: MembershipPorts;
  readonly #moves: PartitionMoves;
  readonly #loop: ReconcileLoop;
  /** The last attempt to enter the directory. */
  #entry: Promise<void> | null = null;
  /** Null until the shard is a member. */
  #lease: LeaseWatch | null = null;
  /**
   * Until this time the shard waits for others, counted from when it first had nothing left to do itself; null before.
   * Monotonic milliseconds.
   */
  #waitsUntilMs: number | null = null;

  constructor(ports: MembershipPorts) {
    const { scope, directory, map, random } = ports;
    this.#ports = ports;
    this.holdings = new Holdings(directory.partitions, map.self.instance);
    this.#moves = new PartitionMoves({ ...ports, holdings: this.holdings });
    this.#loop = new ReconcileLoop({
      ...{ scope, random, retryMs: RETRY_MS },
      step: () => this.#step(),
      onFault: (error) => this.#failed(error),
    });
  }

  /** Whether this shard is a member whose partitions no other shard can own now. */
  get isSafe(): boolean {
    return this.#lease?.isSafe ?? false;
  }

  enter(): void {
    this.#loop.request();
  }

  /** Hands over all partitions. */
  retire(): void {
    this.#ports.map.changeSelf({ draining: true });
    this.#waitsUntilMs = null;
    this.#loop.request();
  }

  /** The database rejected this epoch of the partition, by default the current one. */
  stale(partition: number, epoch?: number): void {
    const fence = this.holdings.fence(partition);
    if (!fence || (epoch !== undefined && epoch !== fence.epoch)) return;
    this.#moves.letGo([partition]);
    this.holdings.rejected.add(partition);
    this.#loop.request();
  }

  end(): void {
    void this.#ports.scope.close();
  }

  /** Ends the membership and releases its partitions. Does not wait for an attempt to enter, but undoes it. */
  async leave(): Promise<void> {
    this.end();
    const leave = () =>
      this.#ports.directory.leave().catch((error) => this.#ports.onFault(error, 'leaving the cluster'));
    if (this.#lease) await leave();
    else void this.#entry?.then(leave, () => undefined);
  }

  #send(event: ShardEvent): void {
    if (!this.#ports.scope.over) this.#ports.send(event);
  }

  async #step(): Promise<boolean> {
    if (!this.#lease) return this.#enter();
    if (await this.#moves.step()) return true;
    this.#settled();
    return false;
  }

  #failed(error: unknown): void {
    const isMember = this.#lease !== null;
    this.#ports.onFault(error, isMember ? 'handover' : 'entering the cluster');
    // The configuration is invalid: no retry can succeed.
    if (!isMember && error instanceof RangeError) this.#send({ type: 'rejected', reason: error });
  }

  async #enter(): Promise<true> {
    const { scope, directory, map, numbered, beforeEnter } = this.#ports;
    const worker = await scope.during(directory.worker());
    await scope.during(beforeEnter());
    map.changeSelf({ worker });
    numbered(worker);
    this.#entry = directory.enter(map.self, {
      changed: (view) => this.#changed(view),
      renewed: () => this.#lease?.renewed(),
      lost: (reason) => this.#lost(reason),
    });
    await scope.during(this.#entry);
    this.#lease = new LeaseWatch({ scope, directory, send: (event) => this.#send(event) });
    this.#send({ type: 'entered' });
    return true;
  }

  #changed(view: ClusterView): void {
    const { scope, map } = this.#ports;
    if (scope.over) return;
    const change = map.adopt(view);
    const lost = this.holdings.lostBy(view);
    if (lost.length > 0) this.#moves.letGo(lost);
    map.reckon(this.holdings, change);
    this.#loop.request();
  }

  #lost(reason: string): void {
    if (this.#ports.scope.over) return;
    this.#ports.onFault(new Error(reason), 'the membership has ended');
    this.#send({ type: 'lost' });
  }

  /** No step is due until the view changes: completes the join or the drain, or waits for the other shards. */
  #settled(): void {
    const { map, handoverTimeoutMs } = this.#ports;
    if (map.self.draining) {
      if (map.isServedByOthers || this.#hasWaited(handoverTimeoutMs)) this.#send({ type: 'drained' });
    } else if (!map.isLate || this.holdings.servesAny || this.#hasWaited(2 * handoverTimeoutMs))
      // A shard without partitions, because their owners do not release them, can already accept clients and links.
      this.#send({ type: 'served' });
  }

  #hasWaited(mostMs: number): boolean {
    const nowMs = this.#ports.scope.monotonic();
    this.#waitsUntilMs ??= nowMs + mostMs;
    if (nowMs >= this.#waitsUntilMs) return true;
    this.#loop.requestAfter(Math.ceil(this.#waitsUntilMs - nowMs));
    return false;
  }
}
