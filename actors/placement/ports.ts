import type {
  ArgsOf,
  Broadcast,
  LinkMethod,
  OwnerAsk,
  OwnerTell,
  ReplyOf,
  ShardAsk,
  ShardTell,
} from '../../protocol/link.ts';
import type { Fence } from '../../storage/database/driver.ts';
import type { Routing } from './routing.ts';

/** One process of the cluster, as published in the directory. */
export interface ShardInfo {
  /** Stable across restarts, for example `shard-0`. */
  readonly id: string;
  /** Unique for each run: a restarted shard has a new instance. */
  readonly instance: string;
  /** Address of its link server, `host:port`. */
  readonly address: string;
  /** Base URL of its admin API; null without an admin API. */
  readonly adminUrl: string | null;
  readonly host: string;
  readonly pid: number;
  /** Relative weight in the distribution of partitions. */
  readonly weight: number;
  /** Ten-bit worker number of its snowflakes; no two live shards share one. */
  readonly worker: number;
  /** Program version, `major.minor.patch`. */
  readonly version: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  /** The shard claims no partitions and releases those that it owns. */
  readonly draining: boolean;
}

/**
 * The owner of a partition. The database raises the epoch with each change of owner; 0 until the owner publishes it.
 */
export interface Owner {
  readonly shardId: string;
  readonly instance: string;
  readonly epoch: number;
}

/** Snapshot of membership and ownership from the directory. */
export interface ClusterView {
  /** Increases with every change. */
  readonly revision: number;
  /** Live shards, sorted by id. */
  readonly shards: readonly ShardInfo[];
  /** Indexed by partition; null without an owner. */
  readonly owners: readonly (Owner | null)[];
}

export type ShardState = 'joining' | 'serving' | 'suspended' | 'draining' | 'left';

/**
 * Change of ownership or membership, sent after `view` is updated. All lists are empty when only this shard's state
 * changed.
 */
export interface OwnershipChange {
  /** Partitions of any shard whose owner or epoch changed, or which lost their owner. */
  readonly moved: readonly number[];
  /** Shards that left; `instance` distinguishes a restarted shard from its previous run. */
  readonly gone: readonly ShardInfo[];
  readonly came: readonly ShardInfo[];
}

/** The ids that this shard decides for, and the owner of any other id. */
export interface Ownership {
  /** This shard; null in standalone mode. */
  readonly self: ShardInfo | null;
  readonly state: ShardState;
  /**
   * Whether `view` shows which shards have ended: this shard is a member that serves or drains, and its lease is
   * safe.
   */
  readonly knowsMembers: boolean;
  partitionOf(id: string): number;
  /** Whether this shard owns the aggregate and its lease is safe. */
  owns(id: string): boolean;
  /** The owner of the id's partition; null without an owner. This shard is one also while its lease is not safe. */
  ownerOf(id: string): Owner | null;
  /**
   * The fence that a commit of this aggregate must carry in a cluster. Null rejects the commit: the lease is not safe, or the
   * partition has no owner.
   */
  fenceOf(id: string): Fence | null;
  readonly view: ClusterView;
  /** Returns the function that removes the listener. */
  onChange(run: (change: OwnershipChange) => void): () => void;
  /**
   * Reports that the database rejected this shard's epoch (by default the current one): releases the partition, then
   * claims it again.
   */
  stale(partition: number, epoch?: number): void;
  /** Hands over all partitions and waits until other shards own them. This shard owns none afterwards. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** A one-way message between shards; frames arrive in the order in which they were sent. */
export type LinkFrame =
  /** One dispatch for all its recipients on the receiving shard. */
  | {
      readonly kind: 'dispatch';
      readonly t: string;
      /** `d` as JSON, UTF-8. */
      readonly json: Uint8Array;
      /** The aggregate whose stream contains the dispatch, and its position there; '' and 0 outside a stream. */
      readonly ownerId: string;
      readonly n: number;
      /** The epoch under which the sender owns the aggregate; it may repeat numbers of earlier ones. Absent where it is not known. */
      readonly epoch?: number | null;
      readonly handles: Uint32Array;
    }
  /** Subscribes the session to the stream of this aggregate; the session has everything up to `n`. */
  | {
      readonly kind: 'following';
      readonly handle: number;
      readonly ownerId: string;
      readonly epoch: number;
      readonly n: number;
    }
  /** A call to the owner of `key` without a reply. */
  | {
      readonly kind: 'tell';
      readonly method: string;
      readonly key: string;
      readonly args: readonly unknown[];
      /** How often a former owner forwarded the message; absent: never. */
      readonly hops?: number;
    };

/** A frame that an owner sends to the shard on which its recipients live. */
export type SessionFrame = Extract<LinkFrame, { kind: 'dispatch' | 'following' }>;

/** Receives the frames for local sessions. */
export interface SessionFrames {
  /** Frames of one shard, in the order in which it sent them. */
  frames(from: string, frames: readonly SessionFrame[]): void;
  /** The frame stream from this shard broke: frames since then may be missing. */
  broken(from: string): void;
}

/** Metadata of one call. */
export interface AskContext {
  /** The aggregate that the call concerns; '' when the call addresses the shard itself. */
  readonly key: string;
  /** Remaining milliseconds until the caller's deadline. */
  readonly deadlineMs: number;
  /** Idempotency key: a resent command runs once. Null when the command is idempotent, or must not be resent. */
  readonly commandKey: string | null;
  /** Correlates the log lines of one request across shards. */
  readonly trace: string;
}

/** Options that override a method's entry in the catalogue for one call. */
export interface AskOptions {
  /** The call may be resent without a command key although its method is keyed: its command may run twice. */
  readonly repeatable?: boolean | undefined;
  readonly deadlineMs?: number;
}

/** The context of a call and the id of the shard that sent it. */
export type ServedContext = AskContext & { readonly from: string };

/** Calls to shards by name. Owners of aggregates are called through `Routing`. */
export interface Router {
  /** Calls one shard. @throws LinkFault */
  askShard<M extends ShardAsk>(
    shardId: string,
    method: M,
    args: ArgsOf<M>,
    deadlineMs?: number,
  ): Promise<ReplyOf<M>>;
  /**
   * Sends a message without a reply to one shard, in order with this shard's other messages. A broken link may lose it.
   */
  tellShard<M extends ShardTell>(shardId: string, method: M, args: ArgsOf<M>): void;
  /** Registers the handler of a method; once for each method. */
  readonly serve: <M extends LinkMethod>(
    method: M,
    run: (args: ArgsOf<M>, context: ServedContext) => ReplyOf<M> | Promise<ReplyOf<M>>,
  ) => void;
  /** Registers the receiver of frames for local sessions. */
  sessions(frames: SessionFrames): void;
  /** Calls `run` with each shard whose link has broken: messages of it may be missing. */
  readonly onBroken: (run: (shardId: string) => void) => void;
}

/** Calls to the owners of keys: a function call on this shard, a link call to another shard. Only for `Routing`. */
export interface OwnerRouter extends Pick<Router, 'serve'> {
  /**
   * Runs `here` when this shard owns the key; otherwise sends the call to the owner. While the key has no owner, or its
   * owner is unreachable, the call waits for the next owner until its deadline. `LINK` says whether a call with an
   * unknown outcome is resent; otherwise a lost reply is a fault.
   *
   * @throws NotServed at the deadline, and whatever the owner throws.
   */
  askOwner<M extends OwnerAsk, T extends ReplyOf<M>>(
    method: M,
    key: string,
    args: ArgsOf<M>,
    here: (commandKey: string | null) => Promise<T>,
    options?: AskOptions,
  ): Promise<T>;
  /**
   * Sends a message without a reply to the owner, in order with this shard's other messages; runs `here` at once when
   * this shard owns the key. While the key has no owner the message is held, within bounds. A broken link may lose it.
   */
  tellOwner<M extends OwnerTell>(method: M, key: string, args: ArgsOf<M>, here: () => void): void;
  /** Sends a message without a reply to every other shard. */
  tellAll<M extends Broadcast>(method: M, args: ArgsOf<M>): void;
  /** Registers the receiver of a message; once for each method. */
  receive<M extends OwnerTell | Broadcast>(method: M, run: (args: ArgsOf<M>) => void): void;
}

/**
 * The outcome of a subscription. `member`: the session is subscribed. `gone`: its user is no member, or the session has
 * ended. `tooOld`: the dispatches that it missed are evicted, and it is not subscribed.
 */
export type Subscribed = 'member' | 'gone' | 'tooOld';

/** The cluster as seen by one shard: ownership, the way to owners, and the way to shards. */
export interface Placement {
  readonly ownership: Ownership;
  readonly routing: Routing;
  readonly router: Router;
}
