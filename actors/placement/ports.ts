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

/** One process of the cluster, as the others know it. */
export interface ShardInfo {
  /** Stable over restarts: `shard-0`. */
  readonly id: string;
  /** Of this run: two runs of one shard never share it. */
  readonly instance: string;
  /** Where its links are served, `host:port`. */
  readonly address: string;
  /** Base URL of its admin API; null when it serves none. */
  readonly adminUrl: string | null;
  readonly host: string;
  readonly pid: number;
  /** Its share of the partitions, relative to the others'. */
  readonly weight: number;
  /** The ten bits of its snowflakes; no two living shards share it. */
  readonly worker: number;
  /** The program's version, `major.minor.patch`. */
  readonly version: string;
  /** Unix milliseconds. */
  readonly startedMs: number;
  /** It takes no partition any more and gives away those it has. */
  readonly draining: boolean;
}

/** The owner of a partition. The database raises the epoch with each change of owner; 0 until it is published. */
export interface Owner {
  readonly shardId: string;
  readonly instance: string;
  readonly epoch: number;
}

/** The cluster as the directory knows it. */
export interface ClusterView {
  /** Ascending. */
  readonly revision: number;
  /** Living shards, by id. */
  readonly shards: readonly ShardInfo[];
  /** By partition; null while nobody owns it. */
  readonly owners: readonly (Owner | null)[];
}

export type ShardState = 'joining' | 'serving' | 'suspended' | 'draining' | 'left';

/** What has changed of who owns what; sent after the view has, and, empty, when what this shard may do has changed. */
export interface OwnershipChange {
  /** Partitions whose owner is another one than before (or none), ours and others'. */
  readonly moved: readonly number[];
  /** Shards that are gone; `instance` tells a restarted one from the one before. */
  readonly gone: readonly ShardInfo[];
  readonly came: readonly ShardInfo[];
}

/** What this shard may decide, and who may decide the rest. */
export interface Ownership {
  /** This shard; null while it is alone. */
  readonly self: ShardInfo | null;
  /** One process, one owner: nothing is fenced, routed or logged. */
  readonly standalone: boolean;
  readonly state: ShardState;
  partitionOf(id: string): number;
  /** Whether this shard decides for the aggregate now. */
  owns(id: string): boolean;
  /** The shard that owns the partition of the id; null while no shard does. */
  ownerOf(id: string): Owner | null;
  /**
   * What a commit of this aggregate must carry. `alone`: nothing. Null: it may not be written from here now, as the
   * lease is not safe or the partition has no owner.
   */
  fenceOf(id: string): Fence | 'alone' | null;
  readonly view: ClusterView;
  /** Answers how to stop hearing. */
  onChange(run: (change: OwnershipChange) => void): () => void;
  /** Called when the database refused this shard's epoch (by default the current one): releases the partition and claims it again. */
  stale(partition: number, epoch?: number): void;
  /** Gives everything away and waits until it is taken; serves no more. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** What one shard sends another without waiting for an answer, in order. */
export type LinkFrame =
  /** A dispatch for sessions of the receiver: once, however many they are. */
  | {
      readonly kind: 'dispatch';
      readonly t: string;
      /** `d` as JSON, UTF-8. */
      readonly json: Uint8Array;
      /** The aggregate whose stream the dispatch is part of, and its number there; '' and 0 when it is in no stream. */
      readonly ownerId: string;
      readonly n: number;
      readonly handles: Uint32Array;
    }
  /** From here on the session hears the stream of this aggregate; it has everything up to `n`. */
  | {
      readonly kind: 'following';
      readonly handle: number;
      readonly ownerId: string;
      readonly epoch: number;
      readonly n: number;
    }
  /** Something to be done by the owner of `key`; what it answers nobody hears. */
  | {
      readonly kind: 'tell';
      readonly method: string;
      readonly key: string;
      readonly args: readonly unknown[];
      /** How often it was sent on by a shard that was not the owner any more; absent: never. */
      readonly hops?: number;
    };

/** What a shard tells about sessions whose home is another. */
export type SessionFrame = Extract<LinkFrame, { kind: 'dispatch' | 'following' }>;

/** The home of sessions, as links reach it. */
export interface SessionFrames {
  /** Frames of one owner, in the order in which it told them. */
  frames(from: string, frames: readonly SessionFrame[]): void;
  /** The owner's stream to us was broken: what it has told since may be missing. */
  broken(from: string): void;
}

/** What goes with a question. */
export interface AskContext {
  /** The aggregate that is asked for; '' when the shard itself is. */
  readonly key: string;
  /** Milliseconds that the asker still waits. */
  readonly deadlineMs: number;
  /** Names the command, so that sent twice it is done once; null when it may be done twice, or must not be sent twice. */
  readonly commandKey: string | null;
  /** Follows a request through the shards' logs. */
  readonly trace: string;
}

/** How one call differs from what the catalogue says of its method. */
export interface AskOptions {
  /** This call may be sent again without a command key, though the method is keyed: its command may be run twice. */
  readonly repeatable?: boolean | undefined;
  readonly deadlineMs?: number;
}

/** The context of a call and the shard that sent it. */
export type ServedContext = AskContext & { readonly from: string };

/** Brings calls to the shard that runs them: a function call on this shard, a link call to another one. */
export interface Router {
  /**
   * Runs `here` when this shard owns the key; otherwise asks the owner. While the key has no owner, or its owner cannot
   * be reached, the call waits for the next owner, until the deadline. `LINK` says whether a call whose fate is unknown is
   * sent again; if not, a lost answer is a fault.
   *
   * @throws NotServed at the deadline, and what the owner throws.
   */
  askOwner<M extends OwnerAsk, T extends ReplyOf<M>>(
    method: M,
    key: string,
    args: ArgsOf<M>,
    here: (commandKey: string | null) => Promise<T>,
    options?: AskOptions,
  ): Promise<T>;
  /**
   * Tells the owner, in order with what else this shard tells it; runs `here` at once when this shard owns the key. While
   * the key has no owner the message is held, within bounds. A broken link may lose it.
   */
  tellOwner<M extends OwnerTell>(method: M, key: string, args: ArgsOf<M>, here: () => void): void;
  /** Asks one shard. @throws LinkFault */
  askShard<M extends ShardAsk>(
    shardId: string,
    method: M,
    args: ArgsOf<M>,
    deadlineMs?: number,
  ): Promise<ReplyOf<M>>;
  /** Tells one shard, in order with what else this shard tells it. A broken link may lose it. */
  tellShard<M extends ShardTell>(shardId: string, method: M, args: ArgsOf<M>): void;
  /** Tells every other shard. */
  tellAll<M extends Broadcast>(method: M, args: ArgsOf<M>): void;
  /** Registers what this shard does when it is asked or told the method; once for each method. */
  serve<M extends LinkMethod, Args extends ArgsOf<M>>(
    method: M,
    run: (args: Args, context: ServedContext) => ReplyOf<M> | Promise<ReplyOf<M>>,
  ): void;
  /** Registers who receives frames for the sessions that live here. */
  sessions(frames: SessionFrames): void;
}

/**
 * The outcome of a subscription. `member`: the session is subscribed. `gone`: its user is no member, or the session has
 * ended. `tooOld`: the dispatches that it missed are evicted, and it is not subscribed.
 */
export type Subscribed = 'member' | 'gone' | 'tooOld';

/** This shard among the others: who owns what, and the way to every owner. */
export interface Placement {
  readonly ownership: Ownership;
  readonly router: Router;
}
