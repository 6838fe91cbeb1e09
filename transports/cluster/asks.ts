import { type Client, status } from '@grpc/grpc-js';
import type { AskContext } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { LinkFault } from '../../protocol/faults.ts';
import type { Codec, EncodedFrame, LinkQuestion } from './codec.ts';
import { LINK_SERVICE } from './packets.ts';

interface AsksOptions {
  readonly shardId: string;
  readonly client: Client;
  readonly codec: Codec;
  readonly clock: Clock;
  /** Most requests in progress. */
  readonly asksMax: number;
  /** Most bytes of requests without a reply. */
  readonly bytesMax: number;
  /** Queues a request for the stream. @returns false when the queue is full. */
  readonly queue: (frame: EncodedFrame) => boolean;
}

/** The stream that carries requests. */
export interface AskStream {
  /** The link version of both shards. In version 1 requests are unary calls. */
  readonly version: number;
  readonly token: Buffer;
  readonly id: number;
}

/** A request that is encoded, and how it is sent: `send` resolves with the answer. */
interface EncodedAsk {
  readonly bytes: number;
  send(): Promise<Buffer>;
}

interface PendingAsk {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (fault: LinkFault) => void;
  readonly timer: Timer;
}

/** The requests to one peer that wait for their replies. */
export class Asks {
  readonly #options: AsksOptions;
  readonly #pending = new Map<number, PendingAsk>();
  /** Requests of link version 1. */
  readonly #calls = new Set<{ cancel(): void }>();
  #stream: AskStream | null = null;
  #bytes = 0;
  #total = 0;

  constructor(options: AsksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#pending.size + this.#calls.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Requests sent since the peer is known. */
  get total(): number {
    return this.#total;
  }

  /** Requests are sent over this stream from now on. */
  begin(stream: AskStream): void {
    this.#stream = stream;
  }

  /** @throws LinkFault, and the fault that the peer reports. */
  async ask(method: string, args: readonly unknown[], context: AskContext): Promise<unknown> {
    const { shardId, asksMax, bytesMax, codec } = this.#options;
    if (this.#stream === null) throw new LinkFault('unreachable', `Not connected to ${shardId}.`);
    const question = { ...context, method, args };
    const { bytes, send } =
      this.#stream.version === 1
        ? this.#unary(question, this.#stream)
        : this.#streamed(question, this.#stream);
    if (this.size >= asksMax || this.#bytes + bytes > bytesMax) throw this.#overloaded();
    this.#total += 1;
    this.#bytes += bytes;
    try {
      return codec.unpackAnswer(await send());
    } finally {
      this.#bytes -= bytes;
    }
  }

  /** Ignores replies that no caller waits for any more. */
  answered(id: number, answer: Buffer): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    pending.timer.cancel();
    pending.resolve(answer);
  }

  /** Rejects what was sent over the stream: whether the peer has executed it is unknown. */
  end(): void {
    this.#stream = null;
    for (const { timer, reject } of this.#pending.values()) {
      timer.cancel();
      reject(this.#lost('the stream has ended'));
    }
    this.#pending.clear();
  }

  close(): void {
    this.end();
    for (const call of [...this.#calls]) call.cancel();
  }

  #streamed(question: LinkQuestion, stream: AskStream): EncodedAsk {
    const { codec, clock, queue } = this.#options;
    const id = this.#total + 1;
    const frame = codec.encodeQuestion(stream.id, id, question);
    const send = (): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        if (!queue(frame)) return reject(this.#overloaded());
        const expire = (): void => {
          this.#pending.delete(id);
          reject(this.#timeout(question));
        };
        this.#pending.set(id, { resolve, reject, timer: clock.setTimer(expire, question.deadlineMs) });
      });
    return { bytes: frame.bytes, send };
  }

  #unary(question: LinkQuestion, { token }: AskStream): EncodedAsk {
    const { codec, clock, client } = this.#options;
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Ask;
    const packet = codec.packRequest({ ...question, token });
    const deadline = clock.now() + question.deadlineMs;
    const send = (): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const call = client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          packet,
          { deadline },
          (error, answer) => {
            this.#calls.delete(call);
            if (!error) resolve(answer ?? Buffer.alloc(0));
            else if (error.code === status.DEADLINE_EXCEEDED) reject(this.#timeout(question));
            else reject(this.#lost(error.details));
          },
        );
        this.#calls.add(call);
      });
    return { bytes: packet.length, send };
  }

  #overloaded(): LinkFault {
    return new LinkFault('overloaded', `Too many requests to ${this.#options.shardId} are in progress.`);
  }

  #timeout({ method }: LinkQuestion): LinkFault {
    return new LinkFault('timeout', `${this.#options.shardId} did not answer ${method} in time.`);
  }

  #lost(why: string): LinkFault {
    return new LinkFault('lost', `A reply of ${this.#options.shardId} was lost: ${why}`);
  }
}
