import type { ServerDuplexStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import type { LinkHandler } from '../../actors/cluster/ports.ts';
import type { LinkFrame } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { LinkFault, NotServed } from '../../protocol/faults.ts';
import type { Codec, LinkQuestion, QuestionFrame } from './codec.ts';
import { DecodeFault } from './packets.ts';
import { ReplyQueue } from './replyqueue.ts';

type PeerStream = ServerDuplexStream<Buffer, Buffer>;

interface InboundPeerDeps {
  readonly codec: Codec;
  readonly clock: Clock;
  /** Most of its requests in progress. */
  readonly asksMax: number;
  /** Most bytes of replies that wait for it to read them. */
  readonly bytesMax: number;
  /** Null when this shard does not serve yet, or no longer. */
  readonly handler: () => LinkHandler | null;
  readonly onFault: (where: string, fault: unknown, details?: object) => void;
  /** Called when frames of the peer are missing. */
  readonly onBroken: () => void;
}

interface InboundStream {
  readonly call: PeerStream;
  /** The number that the peer gave it; null for a stream of link version 1, which carries no requests. */
  readonly id: number | null;
  readonly replies: ReplyQueue;
  /** For each of its requests in progress, what ends the count of it. */
  readonly asks: Set<() => void>;
}

/** Longest delay of a timer. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** One run of another shard that has completed its handshake: takes its frames, and answers its requests. */
export class InboundPeer {
  readonly shardId: string;
  readonly instance: string;
  readonly token: Buffer;
  readonly #deps: InboundPeerDeps;
  #asks = 0;
  #stream: InboundStream | null = null;
  /** Generation of the frames that it sends. */
  #generation = 0;
  /** Batches of that generation that were received. */
  #taken = 0;

  constructor(shardId: string, instance: string, token: Buffer, deps: InboundPeerDeps) {
    this.shardId = shardId;
    this.instance = instance;
    this.token = token;
    this.#deps = deps;
  }

  /** Its requests in progress. */
  get asks(): number {
    return this.#asks;
  }

  get isIdle(): boolean {
    return this.#stream === null && this.#asks === 0;
  }

  /**
   * Starts a stream in place of the current one.
   *
   * @param first The generation of its frames, from which it is known whether they continue; from link version 2 on also
   * the stream's number.
   * @returns false when they are malformed.
   */
  begin(call: PeerStream, [generation, id = null]: readonly unknown[]): boolean {
    if (!isCount(generation) || !(id === null || isCount(id))) return false;
    const { codec, clock, bytesMax } = this.#deps;
    this.#endStream();
    const pack = id === null ? (taken: number) => codec.pack(taken) : codec.packReplies;
    const replies = new ReplyQueue(call, { clock, pack, bytesMax });
    this.#stream = { call, id, replies, asks: new Set() };
    if (this.#generation !== generation) {
      this.#generation = generation;
      this.#taken = 0;
      this.#deps.onBroken();
    }
    replies.acknowledge(this.#taken);
    return true;
  }

  /** Handles a batch. */
  received(call: PeerStream, payload: Buffer): void {
    const stream = this.#stream;
    if (stream?.call !== call) return;
    try {
      const { sequence, frames } = this.#deps.codec.unpackBatch(payload);
      if (sequence !== this.#taken + 1) throw new DecodeFault(`Batch ${sequence} follows ${this.#taken}.`);
      this.#taken = sequence;
      this.#deliver(stream, frames);
    } catch (fault) {
      this.#deps.onFault('told', fault);
      // A malformed batch counts as received, since resending would not help; its content is reported as missing.
      if (fault instanceof DecodeFault) {
        this.#taken += 1;
        this.#deps.onBroken();
      }
    }
    stream.replies.received(this.#taken, payload.length);
  }

  /** Handles the end of a stream. */
  ended(call: PeerStream): void {
    if (this.#stream?.call === call) this.#endStream();
    else call.end();
  }

  /** Ends it: a later run of its shard has replaced it, whatever it has sent. */
  retire(): void {
    this.#endStream();
    this.#deps.onBroken();
  }

  /** Answers a request that is a unary call, as in link version 1. */
  async answerUnary(
    call: ServerUnaryCall<Buffer, Buffer>,
    question: LinkQuestion,
    done: sendUnaryData<Buffer>,
  ): Promise<void> {
    const { codec } = this.#deps;
    const refusal = this.#refusal();
    if (refusal) return done(null, codec.packFault(refusal));
    const release = this.#occupied();
    // Released early on cancellation: after the deadline, or when the sender is gone, no answer is needed.
    call.on('cancelled', release);
    const answer = await this.#answer(question, codec.packAnswer, codec.packFault);
    release();
    done(null, answer);
  }

  #endStream(): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.replies.close();
    stream?.call.end();
    // The sender has rejected its requests when the stream ended.
    for (const settle of [...(stream?.asks ?? [])]) settle();
  }

  /** Hands on frames in their order: a request finds what was sent before it. */
  #deliver(stream: InboundStream, frames: readonly (LinkFrame | QuestionFrame)[]): void {
    let notices: LinkFrame[] = [];
    for (const frame of frames) {
      if (frame.kind !== 'question') notices.push(frame);
      else {
        this.#notified(notices);
        notices = [];
        void this.#asked(stream, frame);
      }
    }
    this.#notified(notices);
  }

  #notified(frames: readonly LinkFrame[]): void {
    try {
      if (frames.length > 0) this.#deps.handler()?.notified(this.shardId, frames);
    } catch (fault) {
      this.#deps.onFault('told', fault);
    }
  }

  async #asked(stream: InboundStream, question: QuestionFrame): Promise<void> {
    const { codec, clock } = this.#deps;
    const { id, streamId, deadlineMs } = question;
    // The sender has rejected it when its earlier stream ended.
    if (streamId !== stream.id) return;
    const refusal = this.#refusal();
    if (refusal) return void stream.replies.add({ id, answer: codec.encodeFault(refusal) });
    const release = this.#occupied();
    const settle = (): void => {
      release();
      timer.cancel();
      stream.asks.delete(settle);
    };
    // The sender waits no longer than the deadline.
    const timer = clock.setTimer(settle, Math.min(deadlineMs, TIMER_MAX_MS));
    stream.asks.add(settle);
    const answer = await this.#answer(question, codec.encodeAnswer, codec.encodeFault);
    settle();
    if (stream.replies.add({ id, answer })) return;
    const fault = new LinkFault('lost', 'The reply was dropped: its reader is too slow.');
    stream.replies.add({ id, answer: codec.encodeFault(fault) });
  }

  /** Why no request is accepted now, or null. */
  #refusal(): LinkFault | null {
    if (this.#deps.handler() === null)
      return new LinkFault('unreachable', 'The shard is not serving requests: it is starting or closing.');
    if (this.#asks >= this.#deps.asksMax)
      return new LinkFault('overloaded', 'Too many requests are in progress.');
    return null;
  }

  /** Counts a request in progress until the returned function is called. */
  #occupied(): () => void {
    this.#asks += 1;
    let left = 1;
    return () => {
      this.#asks -= left;
      left = 0;
    };
  }

  /** Never rejects: a fault is encoded as one. */
  async #answer(
    question: LinkQuestion,
    encode: (value: unknown) => Buffer,
    encodeFault: (fault: unknown) => Buffer,
  ): Promise<Buffer> {
    const { method, args, key, deadlineMs, commandKey, trace } = question;
    const context = { key, deadlineMs, commandKey, trace };
    try {
      return encode(await this.#deps.handler()?.ask(this.shardId, method, args, context));
    } catch (fault) {
      const isOurs = fault instanceof LinkFault || fault instanceof NotServed;
      if (!isOurs) this.#deps.onFault(method, fault, { from: this.shardId, trace });
      return encodeFault(fault);
    }
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
