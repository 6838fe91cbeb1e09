import { type Actor, createActor, type StateValueFrom, waitFor } from 'xstate';
import { partitionOf } from '../../../engine/placement/partition.ts';
import type { Fence } from '../../../storage/database/driver.ts';
import type {
  ClusterView,
  Owner,
  Ownership,
  OwnershipChange,
  ShardInfo,
  ShardState,
} from '../../placement/ports.ts';
import type { Lifetime } from '../../runtime/clock.ts';
import { ClusterMap } from './clustermap.ts';
import { Membership, type MembershipDeps } from './membership.ts';
import { shardMachine } from './shard.machine.ts';

export interface OwnershipDeps extends MembershipDeps {
  /** This shard; the directory assigns its worker number. */
  readonly self: Omit<ShardInfo, 'worker' | 'draining'>;
  /** All background work of the shard ends with it. */
  readonly lifetime: Lifetime;
  /** Runs before the shard rejoins after a lost membership: releases what other shards took over in the meantime. */
  readonly beforeRejoin?: () => Promise<void>;
}

/** Ownership of a shard in a cluster. */
export interface ShardOwnership extends Ownership {
  readonly self: ShardInfo;
  /** The fence under which this shard serves the id, even while its lease is not safe; null for ids of other owners. */
  heldUnder(id: string): Fence | null;
  /** Enters the cluster; resolves when this shard serves, rejects when it is closed or drained before. */
  start(adminUrl?: string | null): Promise<void>;
  /** For how long a partition assigned to this shard has not been served; 0 when all are. */
  readonly lagMs: number;
}

/** The status that other shards and operators see for each state of the machine. */
const STATES = {
  entering: 'joining',
  joining: 'joining',
  serving: 'serving',
  suspended: 'suspended',
  draining: 'draining',
  drained: 'draining',
  left: 'left',
} as const satisfies Record<StateValueFrom<typeof shardMachine>, ShardState>;

export const createOwnership = (deps: OwnershipDeps): ShardOwnership => new DirectoryOwnership(deps);

class DirectoryOwnership implements ShardOwnership {
  readonly #deps: OwnershipDeps;
  readonly #partitions: number;
  /** Holds the scopes of the memberships. */
  readonly #scope: Lifetime;
  readonly #map: ClusterMap;
  readonly #actor: Actor<typeof shardMachine>;
  #membership: Membership | null = null;
  /** Number of memberships so far. */
  #memberships = 0;
  #left: Promise<void> = Promise.resolve();

  constructor(deps: OwnershipDeps) {
    const { self, directory, lifetime } = deps;
    this.#deps = deps;
    this.#partitions = directory.partitions;
    this.#scope = lifetime.child();
    this.#map = new ClusterMap({ ...self, worker: 0, draining: false }, this.#partitions, this.#scope);
    this.#actor = createActor(shardMachine, {
      input: {
        enter: () => this.#enter(),
        abandon: () => this.#abandon(),
        // Listeners read `state`, which is the new one only when the transition has ended.
        wake: () => queueMicrotask(() => this.#map.tell({ moved: [], gone: [], came: [] })),
        retire: () => this.#membership?.retire(),
        release: () => this.#release(),
      },
    });
  }

  get self(): ShardInfo {
    return this.#map.self;
  }

  /** Reads the lease on each call: after a suspended process resumes, a caller may read this before any timer has run. */
  get state(): ShardState {
    const state = STATES[this.#actor.getSnapshot().value];
    if (state !== 'serving' && state !== 'suspended') return state;
    return this.#isSafe ? 'serving' : 'suspended';
  }

  get knowsMembers(): boolean {
    const { state } = this;
    return (state === 'serving' || state === 'draining') && this.#isSafe;
  }

  get view(): ClusterView {
    return this.#map.view;
  }

  get lagMs(): number {
    return this.#map.lagMs;
  }

  partitionOf(id: string): number {
    return partitionOf(id, this.#partitions);
  }

  owns(id: string): boolean {
    return this.#serves(partitionOf(id, this.#partitions)) && this.#isSafe;
  }

  ownerOf(id: string): Owner | null {
    return this.#map.owner(partitionOf(id, this.#partitions));
  }

  heldUnder(id: string): Fence | null {
    const partition = partitionOf(id, this.#partitions);
    const { holdings } = this.#membership ?? {};
    return holdings?.serves(partition) ? holdings.fence(partition) : null;
  }

  fenceOf(id: string): Fence | null {
    if (!this.#isSafe) return null;
    const partition = partitionOf(id, this.#partitions);
    const own = this.#membership?.holdings.fence(partition);
    if (own) return own;
    const epoch = this.#map.owner(partition)?.epoch;
    return epoch === undefined ? null : { partition, epoch };
  }

  onChange(run: (change: OwnershipChange) => void): () => void {
    return this.#map.onChange(run);
  }

  async start(adminUrl: string | null = null): Promise<void> {
    this.#map.changeSelf({ adminUrl });
    this.#actor.start();
    const started = await waitFor(this.#actor, ({ value }) => STATES[value] !== 'joining');
    const state = STATES[started.value];
    if (state === 'draining') throw new Error('The shard is being drained.');
    if (state === 'left') throw started.context.rejection ?? new Error('The shard has left the cluster.');
  }

  stale(partition: number, epoch?: number): void {
    this.#membership?.stale(partition, epoch);
  }

  async drain(): Promise<void> {
    if (this.#membership) this.#actor.send({ type: 'drain' });
    await waitFor(this.#actor, ({ value }) => value !== 'draining');
  }

  async close(): Promise<void> {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send({ type: 'close' });
    await this.#left;
  }

  get #isSafe(): boolean {
    return this.#membership?.isSafe ?? false;
  }

  #serves(partition: number): boolean {
    return this.#membership?.holdings.serves(partition) ?? false;
  }

  #enter(): void {
    const { beforeRejoin } = this.#deps;
    const isReturn = this.#memberships > 0;
    this.#memberships += 1;
    this.#membership = new Membership({
      ...this.#deps,
      scope: this.#scope.child(),
      map: this.#map,
      beforeEnter: async () => (isReturn ? beforeRejoin?.() : undefined),
      send: (event) => this.#actor.send(event),
    });
    this.#membership.enter();
  }

  #abandon(): void {
    this.#membership?.end();
    this.#membership = null;
    this.#deps.handover.abandon(() => true);
    this.#map.reckon(null);
  }

  #release(): void {
    if (this.#membership) this.#left = this.#membership.leave();
    this.#membership = null;
  }
}
