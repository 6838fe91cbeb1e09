import type { DispatchBody } from '../../engine/fanout/body.ts';

/** A socket as the outbox sees it: the ends of its chain of waiting frames, and how it is told to write them. */
export interface Outgoing {
  /** Position of its first and last waiting frame; -1 when none waits. Written by the outbox. */
  head: number;
  tail: number;
  /** Whether the outbox will call `flush`. Written by the outbox. */
  dirty: boolean;
  /** Writes the chain that began at `head`. Never throws. */
  flush(outbox: Outbox, head: number): void;
}

const FIRST_CAPACITY = 1024;
/** Frames gathered in one tick before the outbox stops waiting for its end; what bounds its memory. */
const FRAMES_MAX = 1 << 18;

/**
 * Gathers what all sockets are to send and writes it once per tick, so that a socket with several frames makes one
 * system call. Frames lie in three parallel arrays that are reused from tick to tick, chained per socket in order:
 * queueing a delivery allocates nothing.
 */
export class Outbox {
  /** A dispatch, to be encoded for the socket, or a whole frame. */
  readonly items: (DispatchBody | Uint8Array | undefined)[] = new Array(FIRST_CAPACITY).fill(undefined);
  seqs = new Int32Array(FIRST_CAPACITY);
  /** Position of the same socket's next frame; -1 at the end. */
  next = new Int32Array(FIRST_CAPACITY);
  readonly #defer: (run: () => void) => void;
  readonly #beforeFlush: (() => void) | null;
  readonly #dirty: (Outgoing | undefined)[] = [];
  #dirtyCount = 0;
  #size = 0;
  #scheduled = false;
  #flushing = false;

  /**
   * @param defer       Runs a callback after the current tick's work.
   * @param beforeFlush Called before anything of a tick is written: what must be kept of it is to be kept by then.
   */
  constructor(defer: (run: () => void) => void, beforeFlush: (() => void) | null = null) {
    this.#defer = defer;
    this.#beforeFlush = beforeFlush;
  }

  /** Queues a dispatch with its number, or a whole frame. */
  push(socket: Outgoing, item: DispatchBody | Uint8Array, seq: number): void {
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

  /** Has the socket flushed at the end of the tick even if it sends nothing. */
  touch(socket: Outgoing): void {
    if (socket.dirty) return;
    socket.dirty = true;
    this.#dirty[this.#dirtyCount] = socket;
    this.#dirtyCount += 1;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#defer(this.#flushLater);
  }

  /** Writes everything now. What is queued meanwhile is written too. */
  flush(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    let keptSize = -1;
    for (let index = 0; index < this.#dirtyCount; index += 1) {
      if (this.#beforeFlush !== null && this.#size !== keptSize) {
        keptSize = this.#size;
        this.#beforeFlush();
      }
      const socket = this.#dirty[index] as Outgoing;
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
