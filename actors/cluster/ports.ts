import type { AskContext, ClusterView, LinkFrame, ShardInfo } from '../placement/ports.ts';
import type { Principal } from '../session/ports.ts';

export interface DirectoryListener {
  changed(view: ClusterView): void;
  /** Our membership is over: nothing that we owned is ours. The directory may be entered again. */
  lost(reason: string): void;
}

/**
 * Membership and ownership. Three implementations: alone (one process), under a supervisor (one machine), and etcd.
 * A rejection is a fault of the directory; nothing is known of what was asked then. What has resolved is in every view
 * that follows.
 */
export interface Directory {
  /** How many partitions the ids hash to; the same for all shards of a cluster, for good. */
  readonly partitions: number;
  /** Reserves a worker number before the shard enters; the one it had before, when it enters again and nobody has it. */
  worker(): Promise<number>;
  /** Makes the shard a member; the first view follows at once. @throws RangeError when it never can be one, as it is set. */
  enter(self: ShardInfo, listener: DirectoryListener): Promise<void>;
  /** Tells the others what has changed of us. */
  update(change: Partial<Pick<ShardInfo, 'draining' | 'weight'>>): Promise<void>;
  /** Takes those that nobody owns, until our membership ends; answers which were taken. */
  claim(partitions: readonly number[]): Promise<readonly number[]>;
  /** Publishes the epochs under which we serve what we have claimed. */
  publish(epochs: ReadonlyMap<number, number>): Promise<void>;
  /** Gives partitions up: another may claim them. */
  release(partitions: readonly number[]): Promise<void>;
  /** Gives everything up, and the membership with it. */
  leave(): Promise<void>;
  /**
   * Until when no other shard can come to own what is ours, monotonic milliseconds of our clock: counted from when the
   * last renewal was *sent*, less a margin for clocks that drift. Infinite where membership cannot lapse.
   */
  safeUntilMs(): number;
  /** Ends all connections without leaving, as a crash would. */
  close(): Promise<void>;
}

/** What the house does when partitions come and go. */
export interface Handover {
  /**
   * Ends the residents of these partitions: no new work is taken (callers are sent on), work under way is finished,
   * what is ephemeral and worth keeping is written down. Resolves when nothing of them is left in memory and every
   * commit is settled. Never rejects; takes `deadlineMs` at most.
   */
  handOver(owned: (id: string) => boolean, deadlineMs: number): Promise<void>;
  /** The same at once and without a word: what was owned is not ours any more, and must not be written. */
  abandon(owned: (id: string) => boolean): void;
}

/** A session as other shards know it: enough to decide what it may hear. */
export interface SessionDescriptor {
  /** By which its shard names it on links; never used twice by one run of a shard. */
  readonly handle: number;
  readonly sessionId: string;
  readonly principal: Principal;
  readonly intents: number;
  readonly shard: readonly [id: number, count: number];
  readonly largeThreshold: number;
}

/** How values of a class travel: as what `pack` makes of them, which must travel by itself. */
export interface LinkExtension {
  /** From 16 to 127; the same on all shards. */
  readonly tag: number;
  readonly Class: abstract new (...args: never) => object;
  pack(value: never): unknown;
  /** @throws when it is nothing that `pack` has made: it comes from the network. */
  unpack(packed: never): unknown;
}

/** The other end of our links: what this shard does for others. */
export interface LinkHandler {
  ask(from: string, method: string, args: readonly unknown[], context: AskContext): Promise<unknown>;
  /** Frames of one shard, in the order in which it sent them. Never throws. */
  notified(from: string, frames: readonly LinkFrame[]): void;
  /**
   * The stream from this shard was broken: what it has told since may be missing. A connection that was interrupted is
   * no break: the stream goes on where it ended.
   */
  broken(from: string): void;
}

/** The ways to all other shards. */
export interface Links {
  /** @throws LinkFault */
  ask(shardId: string, method: string, args: readonly unknown[], context: AskContext): Promise<unknown>;
  /**
   * Queues a frame; all of a tick leave together. Bounded: when the peer is too far behind, its stream is broken off
   * and begun anew, and both sides hear of it.
   */
  tell(shardId: string, frame: LinkFrame): void;
  /** Our stream to this shard was broken: what we told it may be missing. */
  onBroken(run: (shardId: string) => void): void;
  /** Follows the view: connects to who came, lets go of who is gone. */
  follow(shards: readonly ShardInfo[]): void;
  close(): Promise<void>;
}
