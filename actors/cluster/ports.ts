import type { AskContext, ClusterView, LinkFrame, ShardInfo } from '../placement/ports.ts';
import type { Principal } from '../session/ports.ts';

export interface DirectoryListener {
  changed(view: ClusterView): void;
  /** `safeUntilMs` has increased. */
  renewed(): void;
  /** The membership ended: this shard owns nothing any more. It may enter the directory again. */
  lost(reason: string): void;
}

/**
 * Membership and ownership of a cluster. There are three implementations: a single process, a supervisor (one machine),
 * and etcd. A rejection is a fault of the directory; the outcome of the call is unknown then. Every view that follows a
 * resolved call includes its result.
 */
export interface Directory {
  /** Number of partitions to which ids hash; identical on all shards of a cluster, and never changed. */
  readonly partitions: number;
  /** Set by the directory of a cluster that never has a second process. */
  readonly isSolo?: true;
  /**
   * Reserves a worker number before the shard enters. A shard that enters again gets its previous number if it is free.
   */
  worker(): Promise<number>;
  /**
   * Makes the shard a member; the first view follows at once. @throws RangeError when its configuration can never
   * become a member.
   */
  enter(self: ShardInfo, listener: DirectoryListener): Promise<void>;
  /** Publishes changes of this shard to the others. */
  update(change: Partial<Pick<ShardInfo, 'draining' | 'weight'>>): Promise<void>;
  /** Claims partitions without an owner until this membership ends; returns the claimed ones. */
  claim(partitions: readonly number[]): Promise<readonly number[]>;
  /** Publishes the epochs under which this shard serves the partitions that it claimed. */
  publish(epochs: ReadonlyMap<number, number>): Promise<void>;
  /** Releases partitions, so that another shard may claim them. */
  release(partitions: readonly number[]): Promise<void>;
  /** Releases all partitions and ends the membership. */
  leave(): Promise<void>;
  /**
   * Until this time (monotonic milliseconds of this process) no other shard can own this shard's partitions. It is
   * counted from when the last renewal was *sent*, minus a margin for clock drift. Infinite where membership cannot
   * expire.
   */
  safeUntilMs(): number;
  /** Closes all connections without leaving, as a crash would. */
  close(): Promise<void>;
}

/** Hands over the actors of partitions. */
export interface Handover {
  /**
   * Drains the actors of these partitions: new work is rejected (callers retry at the next owner), work in progress is
   * finished, and ephemeral state worth keeping is saved. Resolves when none of the actors is in memory and every
   * commit has settled. Never rejects; takes at most `deadlineMs`.
   */
  handOver(owned: (id: string) => boolean, deadlineMs: number): Promise<void>;
  /** Ends the actors at once without saving anything: this shard does not own them any more and must not write. */
  abandon(owned: (id: string) => boolean): void;
}

/** A session as described to other shards: the data that decides which dispatches it may receive. */
export interface SessionDescriptor {
  /** Identifies the session on links; one run of a shard never reuses a handle. */
  readonly handle: number;
  readonly sessionId: string;
  readonly principal: Principal;
  readonly intents: number;
  readonly shard: readonly [id: number, count: number];
  readonly largeThreshold: number;
}

/** The serialization of one class on links. What `pack` returns must be serializable itself. */
export interface LinkExtension {
  /** From 16 to 127; identical on all shards. */
  readonly tag: number;
  readonly Class: abstract new (...args: never) => object;
  pack(value: never): unknown;
  /** @throws when the value does not come from `pack`: it was received from the network. */
  unpack(packed: never): unknown;
}

/** The receiving end of this shard's links. */
export interface LinkHandler {
  ask(from: string, method: string, args: readonly unknown[], context: AskContext): Promise<unknown>;
  /** Frames of one shard, in the order in which it sent them. Never throws. */
  notified(from: string, frames: readonly LinkFrame[]): void;
  /**
   * The frame stream from this shard broke: frames since then may be missing. A reconnect without loss is no break; the
   * stream continues.
   */
  broken(from: string): void;
}

/** The links to all other shards. */
export interface Links {
  /** @throws LinkFault */
  ask(shardId: string, method: string, args: readonly unknown[], context: AskContext): Promise<unknown>;
  /**
   * Queues a frame; all frames of a tick are sent together. The queue is bounded: when the peer falls too far behind,
   * its stream is broken off and restarted, and both sides are notified.
   */
  tell(shardId: string, frame: LinkFrame): void;
  /** Runs when the stream to a shard broke: frames sent to it may be missing. */
  onBroken(run: (shardId: string) => void): void;
  /** Connects to the shards in the view and disconnects from the others. */
  follow(shards: readonly ShardInfo[]): void;
  close(): Promise<void>;
}
