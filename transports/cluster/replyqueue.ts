import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { EncodedReply } from './codec.ts';

/** The part of a gRPC stream that is written to. */
interface Writable {
  write(packet: Buffer): boolean;
  once(event: 'drain', run: () => void): unknown;
}

interface ReplyQueueOptions {
  readonly clock: Pick<Clock, 'defer' | 'setTimer'>;
  readonly pack: (taken: number, replies: readonly EncodedReply[]) => Buffer;
  /** Most bytes of replies that wait while the stream is full. */
  readonly bytesMax: number;
}

/** The replies of a tick are sent in packets of about this size. */
const PACKET_BYTES = 1 << 20;

/** How long an acknowledgement may wait for a reply that brings it, and how many received bytes it may wait for. */
const ACKNOWLEDGE = { ms: 200, bytes: 1 << 16 } as const;

/**
 * The frames sent back on a stream: replies, combined per tick, and acknowledgements, which rarely need a packet of their
 * own. It waits while the stream is full.
 */
export class ReplyQueue {
  readonly #stream: Writable;
  readonly #options: ReplyQueueOptions;
  #replies: EncodedReply[] = [];
  #bytes = 0;
  #taken = 0;
  #acknowledges = false;
  #unacknowledgedBytes = 0;
  #timer: Timer | null = null;
  #isScheduled = false;
  #isFull = false;
  #isClosed = false;

  constructor(stream: Writable, options: ReplyQueueOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  /** Acknowledges all batches up to this one, in this tick. */
  acknowledge(taken: number): void {
    this.#taken = taken;
    this.#acknowledges = true;
    this.#schedule();
  }

  /** Acknowledges all batches up to this one, of so many bytes, with the next reply or soon. */
  received(taken: number, bytes: number): void {
    if (this.#isClosed) return;
    this.#taken = taken;
    this.#unacknowledgedBytes += bytes;
    if (this.#unacknowledgedBytes >= ACKNOWLEDGE.bytes) this.acknowledge(taken);
    else this.#timer ??= this.#options.clock.setTimer(() => this.#acknowledgeLate(), ACKNOWLEDGE.ms);
  }

  /** Queues a reply. @returns false on overflow: the reply is not kept. */
  add(reply: EncodedReply): boolean {
    if (this.#bytes + reply.answer.length > this.#options.bytesMax) return false;
    this.#replies.push(reply);
    this.#bytes += reply.answer.length;
    this.#schedule();
    return true;
  }

  /** Drops what was not sent. */
  close(): void {
    this.#isClosed = true;
    this.#replies = [];
    this.#timer?.cancel();
  }

  /** The timer is not cancelled when a reply brings the acknowledgement: it would be set again with the next batch. */
  #acknowledgeLate(): void {
    this.#timer = null;
    if (this.#unacknowledgedBytes > 0) this.acknowledge(this.#taken);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isFull || this.#isClosed) return;
    this.#isScheduled = true;
    this.#options.clock.defer(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (!this.#isFull && !this.#isClosed && (this.#acknowledges || this.#replies.length > 0)) {
      this.#acknowledges = false;
      this.#unacknowledgedBytes = 0;
      if (this.#stream.write(this.#options.pack(this.#taken, this.#next()))) continue;
      this.#isFull = true;
      this.#stream.once('drain', () => {
        this.#isFull = false;
        this.#flush();
      });
    }
  }

  /** The replies of the next packet, which are removed from the queue. */
  #next(): readonly EncodedReply[] {
    const replies = this.#replies;
    let bytes = 0;
    let count = 0;
    for (const { answer } of replies) {
      if (count > 0 && bytes + answer.length > PACKET_BYTES) break;
      bytes += answer.length;
      count += 1;
    }
    this.#bytes -= bytes;
    this.#replies = count === replies.length ? [] : replies.slice(count);
    return count === replies.length ? replies : replies.slice(0, count);
  }
}
