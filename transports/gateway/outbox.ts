import type { Clock } from '../../actors/runtime/clock.ts';
import type { DispatchBody } from '../../engine/fanout/body.ts';

/** A socket with queued frames: the ends of its chain of frames, and the method that writes them. */
export interface OutboxSocket {
  /** Position of the first and last queued frame; -1 for none. Written by the outbox. */
  head: number;
  tail: number;
  /** Whether the outbox will call `flush`. Written by the outbox. */
  dirty: boolean;
  /** Writes the chain of frames that starts at `head`. Must not throw. */
  flush(outbox: Outbox, head: number): void;
}

const FIRST_CAPACITY = 1024;
/** Frames queued in one tick after which the outbox writes at once; bounds its memory. */
const FRAMES_MAX = 1 << 18;

/**
 * Collects the frames of all sockets and writes them once per tick, so that a socket with several frames makes one system
 * call. Frames are kept in three parallel arrays that are reused in every tick, and are chained per socket in order:
 * queueing a frame allocates nothing.
 */
export class Outbox {
  /** A dispatch, encoded when the socket writes it, or a complete frame. */
  readonly items: (DispatchBody | Uint8Array | undefined)[] = new Array(FIRST_CAPACITY).fill(undefined);
  seqs = new Int32Array(FIRST_CAPACITY);
  /** Position of the same socket's next frame; -1 at the end. */
  next = new Int32Array(FIRST_CAPACITY);
  readonly #clock: Pick<Clock, 'defer'>;
  readonly #beforeFlush: (() => void) | null;
  #afterFlush: (() => void)[] = [];
  readonly #dirty: (OutboxSocket | undefined)[] = [];
  #dirtyCount = 0;
  #size = 0;
  #scheduled = false;
  #flushing = false;

  /**
   * @param clock       Frames are written when it runs what was deferred.
   * @param beforeFlush Called before frames are written; the journal of sent dispatches must be stored by then.
   */
  constructor(clock: Pick<Clock, 'defer'>, beforeFlush: (() => void) | null = null) {
    this.#clock = clock;
    this.#beforeFlush = beforeFlush;
  }

  /** Queues a dispatch with its sequence number, or a complete frame. */
  push(socket: OutboxSocket, item: DispatchBody | Uint8Array, seq: number): void {
    if (this.#size >= FRAMES_MAX && !this.#flushing) this.flush();
    if (this.#size === this.next.length) this.#grow();
    const at = this.#size;
    this.#size = at + 1;
    this.items[at] = item;
    this.seqs[at] = seq;
    this.next[at] = -1;
    if (socket.tail === -1) socket.head = at;
    else this.next[socket.tail] = at;
    socket.tail = at;
    if (!socket.dirty) this.touch(socket);
  }

  /** Flushes the socket at the end of the tick even if it has no frames. */
  touch(socket: OutboxSocket): void {
    if (socket.dirty) return;
    socket.dirty = true;
    this.#dirty[this.#dirtyCount] = socket;
    this.#dirtyCount += 1;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.defer(this.#flushLater);
  }

  /** Writes everything now, including frames queued meanwhile. */
  flush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    let keptSize = -1;
    for (let index = 0; index < this.#dirtyCount; index += 1) {
      if (this.#beforeFlush !== null && this.#size !== keptSize) {
        keptSize = this.#size;
        this.#beforeFlush();
      }
      const socket = this.#dirty[index] as OutboxSocket;
      this.#dirty[index] = undefined;
      const head = socket.head;
      socket.dirty = false;
      socket.head = -1;
      socket.tail = -1;
      socket.flush(this, head);
    }
    this.items.fill(undefined, 0, this.#size);
    this.#size = 0;
    this.#dirtyCount = 0;
    this.#flushing = false;
    if (this.#afterFlush.length > 0) for (const run of this.#afterFlush.splice(0)) run();
  }

  /** Calls `run` once, when all frames of this flush, or else of the next, are written. */
  afterFlush(run: () => void): void {
    this.#afterFlush.push(run);
  }

  readonly #flushLater = (): void => {
    this.#scheduled = false;
    this.flush();
  };

  #grow(): void {
    const capacity = this.next.length * 2;
    const seqs = new Int32Array(capacity);
    seqs.set(this.seqs);
    const next = new Int32Array(capacity);
    next.set(this.next);
    for (let at = this.items.length; at < capacity; at += 1) this.items.push(undefined);
    this.seqs = seqs;
    this.next = next;
  }
}
