import type { JournalStore, JournalWriter } from '../../storage/journal/port.ts';
import type { Ownership, Router, ShardInfo } from '../placement/ports.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface ReplicationPorts {
  readonly ownership: Pick<Ownership, 'self' | 'view' | 'onChange'>;
  readonly router: Pick<Router, 'askShard' | 'serve'>;
  readonly store: JournalStore;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wheel: Wheel;
  /** Deterministic rank of a peer as the shard's replica, equal on all shards; the highest score is preferred. */
  readonly score: (shardId: string, peerId: string) => number;
  /**
   * Starts a new segment of the own journal: replication can only start, or continue after a gap, at a segment's
   * beginning.
   */
  readonly rotate: () => void;
  readonly settings: {
    /** Upper bound on the disk space of one shard's replica. */
    readonly bytesMax: number;
    /** Maximum age of its segments. */
    readonly ageMs: number;
  };
  readonly onFault: (error: unknown) => void;
}

export type ReplicaPorts = Omit<ReplicationPorts, 'score' | 'rotate'>;

/** A part of a segment to be replicated. */
interface Chunk {
  readonly segment: number;
  /** Byte offset in the segment. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** Upper bound on the bytes that wait for the replica shard; beyond it replication restarts. */
const WAITING_BYTES_MAX = 16 << 20;
const REQUEST_BYTES_MAX = 4 << 20;
const ASK_DEADLINE_MS = 5000;
const RETRY_MS = 1000;
/** Upper bound on the shards whose journals are replicated here. */
const REPLICAS_MAX = 64;

/**
 * Replicates this shard's journal to another shard, on another disk and if possible another machine, so that its
 * sessions can be taken over when this machine is lost. Shards that share a journal store need no replica.
 */
export class JournalReplication {
  readonly #ports: ReplicationPorts;
  #target: ShardInfo | null = null;
  readonly #storeIds = new Map<string, Promise<string | null>>();
  #chunks: Chunk[] = [];
  #waitingBytes = 0;
  /** False: replication waits for the beginning of the next segment. */
  #isReplicating = false;
  #isSending = false;
  #choice = 0;

  constructor(ports: ReplicationPorts) {
    this.#ports = ports;
    const { ownership, router, store } = ports;
    router.serve('journals.location', () => store.id);
    ownership.onChange(({ gone, came }) => {
      if (gone.length + came.length > 0) this.#choose();
    });
  }

  get waitingBytesMax(): number {
    return WAITING_BYTES_MAX;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get shardId(): string | null {
    return this.#target?.id ?? null;
  }

  /** Replicates a batch that was written at this offset of a segment. */
  append(batch: Uint8Array, segment: number, at: number): void {
    // Replication starts at the beginning of a segment, because a segment names all sessions.
    if (!this.#target || (!this.#isReplicating && at !== 0)) return;
    this.#isReplicating = true;
    if (this.#waitingBytes + batch.length > WAITING_BYTES_MAX) {
      this.#restart();
      return;
    }
    this.#chunks.push({ segment, at, bytes: batch.slice() });
    this.#waitingBytes += batch.length;
    if (!this.#isSending) void this.#send(this.#target);
  }

  /** Drops everything that waits, and restarts replication at the next segment. */
  #restart(): void {
    this.#chunks = [];
    this.#waitingBytes = 0;
    this.#isReplicating = false;
    this.#ports.wheel.after(() => {
      if (this.#target && !this.#isReplicating) this.#ports.rotate();
    }, RETRY_MS);
  }

  async #send(to: ShardInfo): Promise<void> {
    const self = this.#ports.ownership.self;
    this.#isSending = true;
    while (this.#chunks.length > 0 && this.#target === to && self) {
      const [first] = this.#chunks as [Chunk];
      const chunks = this.#chunksOf(first.segment);
      const bytes = chunks.length === 1 ? first.bytes : Buffer.concat(chunks.map((chunk) => chunk.bytes));
      const request = [self.id, self.instance, first.segment, first.at, bytes] as const;
      try {
        const isKept = await this.#ports.router.askShard(to.id, 'journals.append', request, ASK_DEADLINE_MS);
        if (this.#chunks[0] !== first) continue;
        if (isKept !== true) this.#restart();
        else {
          this.#chunks.splice(0, chunks.length);
          this.#waitingBytes -= bytes.length;
        }
      } catch {
        // Sent again: the replica detects duplicates by their offset.
        if (!(await this.#ports.wheel.pause(RETRY_MS))) return;
      }
    }
    this.#isSending = false;
    if (this.#chunks.length > 0 && this.#target) void this.#send(this.#target);
  }

  /** The first waiting chunks of one segment that fit into one request. */
  #chunksOf(segment: number): Chunk[] {
    const chunks: Chunk[] = [];
    let bytes = 0;
    for (const chunk of this.#chunks) {
      if (chunk.segment !== segment || (bytes > 0 && bytes + chunk.bytes.length > REQUEST_BYTES_MAX)) break;
      chunks.push(chunk);
      bytes += chunk.bytes.length;
    }
    return chunks;
  }

  #choose(): void {
    this.#choice += 1;
    const turn = this.#choice;
    this.#bestTarget()
      .then((best) => {
        if (turn !== this.#choice || best?.instance === this.#target?.instance) return;
        this.#target = best;
        this.#restart();
      })
      .catch((error) => this.#ports.onFault(error));
  }

  async #bestTarget(): Promise<ShardInfo | null> {
    const { ownership, score } = this.#ports;
    const { self, view } = ownership;
    if (!self) return null;
    const peers = view.shards.filter(({ instance, draining }) => instance !== self.instance && !draining);
    const storeIds = await Promise.all(peers.map((peer) => this.#storeIdOf(peer)));
    const otherDisks = peers.filter(
      (_, at) => storeIds[at] !== null && storeIds[at] !== this.#ports.store.id,
    );
    const otherHosts = otherDisks.filter(({ host }) => host !== self.host);
    const [best = null] = (otherHosts.length > 0 ? otherHosts : otherDisks).toSorted(
      (a, b) => score(self.id, b.id) - score(self.id, a.id),
    );
    return best;
  }

  /** Id of a shard's journal store; null when the shard does not answer. */
  #storeIdOf({ id, instance }: ShardInfo): Promise<string | null> {
    let storeId = this.#storeIds.get(instance);
    if (!storeId) {
      const asked = this.#ports.router.askShard(id, 'journals.location', [], ASK_DEADLINE_MS);
      storeId = asked.catch(() => {
        this.#storeIds.delete(instance);
        this.#ports.wheel.after(() => this.#choose(), 2 * RETRY_MS);
        return null;
      });
      this.#storeIds.set(instance, storeId);
    }
    return storeId;
  }
}

/** Replicas of other shards' journals, as received from them. */
export class JournalReplicas {
  readonly #ports: ReplicaPorts;
  readonly #replicas = new Map<string, Replica>();
  /** Serializes the appends of each shard. */
  readonly #tails = new Map<string, Promise<unknown>>();

  constructor(ports: ReplicaPorts) {
    this.#ports = ports;
    ports.router.serve('journals.append', ([shardId, instance, segment, at, bytes]) =>
      this.#inOrder(instance, () => this.#append(shardId, instance, { segment, at, bytes })),
    );
    ports.ownership.onChange(({ gone }) => {
      for (const { instance } of gone)
        ports.wheel.after(() => this.#endIfGone(instance), ports.settings.ageMs);
    });
  }

  get bytes(): number {
    let bytes = 0;
    for (const { writer } of this.#replicas.values()) bytes += writer.bytes;
    return bytes;
  }

  close(): void {
    for (const instance of [...this.#replicas.keys()]) this.#end(instance);
  }

  #inOrder(instance: string, run: () => Promise<boolean>): Promise<boolean> {
    const done = (this.#tails.get(instance) ?? Promise.resolve()).then(run, run);
    const tail = done.catch((error) => this.#ports.onFault(error));
    this.#tails.set(instance, tail);
    void tail.then(() => {
      if (this.#tails.get(instance) === tail) this.#tails.delete(instance);
    });
    return done;
  }

  /** False when the chunk leaves a gap: replication must restart at a segment's beginning. */
  async #append(shardId: string, instance: string, chunk: Chunk): Promise<boolean> {
    let replica = this.#replicas.get(instance);
    if (!replica) {
      if (chunk.at !== 0 || this.#replicas.size >= REPLICAS_MAX) return false;
      const writer = await this.#ports.store.open(shardId, instance, true);
      // An earlier run of this shard may have left segments.
      replica = { writer, segment: 0, ended: Array(writer.segments).fill(this.#ports.clock.monotonic()) };
      this.#replicas.set(instance, replica);
    }
    const { writer } = replica;
    if (chunk.segment > replica.segment) {
      if (chunk.at !== 0) return false;
      if (replica.segment > 0) replica.ended.push(this.#ports.clock.monotonic());
      writer.rotate();
      replica.segment = chunk.segment;
    }
    const { bytes: has } = writer.segment;
    if (chunk.segment === replica.segment && chunk.at > has) return false;
    // A part of the chunk may be a duplicate, when the earlier reply was lost.
    const more = chunk.segment < replica.segment ? 0 : chunk.at + chunk.bytes.length - has;
    if (more > 0) writer.append(chunk.bytes.subarray(chunk.bytes.length - more));
    this.#trim(replica);
    return true;
  }

  #trim(replica: Replica): void {
    const { clock, settings } = this.#ports;
    const beforeMs = clock.monotonic() - settings.ageMs;
    // The newest segment may not have named all sessions yet, so the previous one is always kept.
    while (
      replica.ended.length > 1 &&
      ((replica.ended[0] as number) < beforeMs || replica.writer.bytes > settings.bytesMax)
    ) {
      if (!replica.writer.drop()) return;
      replica.ended.shift();
    }
  }

  /** A shard that was only unreachable continues with its replica. */
  #endIfGone(instance: string): void {
    const { shards } = this.#ports.ownership.view;
    if (!shards.some((shard) => shard.instance === instance)) this.#end(instance);
  }

  #end(instance: string): void {
    this.#replicas.get(instance)?.writer.close();
    this.#replicas.delete(instance);
  }
}

interface Replica {
  readonly writer: JournalWriter;
  /** Segment number of the replicated journal. */
  segment: number;
  /** When the earlier segments ended, oldest first, in monotonic milliseconds. */
  readonly ended: number[];
}
