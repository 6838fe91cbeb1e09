import { type ChannelCredentials, Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { AskContext, LinkFrame, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { messageOf } from '../../protocol/thrown.ts';
import { type AskStream, Asks } from './asks.ts';
import type { Codec, EncodedFrame } from './codec.ts';
import {
  type Greeting,
  type HandshakeAnswer,
  type HandshakeRefusal,
  handshakeRefusal,
  packHandshake,
  unpackHandshakeAnswer,
} from './handshake.ts';
import { CONTENT_BYTES_MAX, LINK_SERVICE } from './packets.ts';
import { SendQueue } from './sendqueue.ts';

export interface PeerDeps {
  readonly greeting: Greeting;
  readonly codec: Codec;
  readonly credentials: ChannelCredentials;
  readonly channelOptions: Readonly<Record<string, string | number>>;
  /** Most bytes queued for the peer: unacknowledged frames and unanswered requests, counted separately. */
  readonly bytesMax: number;
  readonly asksMax: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Returns 0 to 1. */
  readonly random: () => number;
  readonly onFault: (where: string, fault: unknown) => void;
  /** Called when frames to the peer may have been lost. */
  readonly onBroken: (shardId: string) => void;
}

/** Figures of the link to one shard. */
export interface PeerMetrics {
  readonly shardId: string;
  readonly connected: boolean;
  readonly waitingBytes: number;
  readonly bytesMax: number;
  readonly asksUnderWay: number;
  readonly asks: number;
  readonly tells: number;
  readonly breaks: number;
  /** Handshakes that were refused, by the peer or because another shard answered. */
  readonly refusals: number;
}

/** How long a peer may take to answer a handshake, and to acknowledge a stream. */
const HANDSHAKE_MS = 5000;
const RETRY_MS = { first: 50, most: 2000 };
/** Retry delay after a refusal that lasts until an operator acts. */
const REFUSED_RETRY_MS = 10_000;

/** Consecutive failures after which the problem is logged. */
const WARN_ATTEMPTS = 4;

const UNTRUSTED = /certificate|\bssl\b|\btls\b|alert|self.signed|altname/i;

/**
 * The link to one run of another shard: one connection with one stream. Frames and requests share its order, its numbering
 * and its flow control; acknowledgements and replies come back on it.
 */
export class Peer {
  readonly shard: ShardInfo;
  readonly #deps: PeerDeps;
  readonly #client: Client;
  readonly #sendQueue: SendQueue;
  readonly #asks: Asks;
  /** Number of the current stream. */
  #streamId = 0;
  #stream: ClientDuplexStream<Buffer, Buffer> | null = null;
  /** Whether the peer has acknowledged the stream. */
  #ready = false;
  #isFull = false;
  #flushes = false;
  #timer: Timer | null = null;
  /** Consecutive failed attempts. */
  #attempts = 0;
  #closed = false;
  #tells = 0;
  #breaks = 0;
  #refusals = 0;
  #lastWarning = '';

  constructor(shard: ShardInfo, deps: PeerDeps) {
    this.shard = shard;
    this.#deps = deps;
    this.#client = new Client(shard.address, deps.credentials, deps.channelOptions);
    this.#sendQueue = new SendQueue({ bytesMax: deps.bytesMax, pack: deps.codec.packBatch });
    this.#asks = new Asks({
      ...deps,
      shardId: shard.id,
      client: this.#client,
      queue: (frame) => this.#queue(frame),
    });
    this.#handshake();
  }

  get metrics(): PeerMetrics {
    return {
      shardId: this.shard.id,
      connected: this.#ready,
      waitingBytes: this.#sendQueue.waitingBytes + this.#asks.bytes,
      bytesMax: 2 * this.#deps.bytesMax,
      asksUnderWay: this.#asks.size,
      asks: this.#asks.total,
      tells: this.#tells,
      breaks: this.#breaks,
      refusals: this.#refusals,
    };
  }

  /** Sends a request. @throws LinkFault, and the fault that the peer reports. */
  async ask(method: string, args: readonly unknown[], context: AskContext): Promise<unknown> {
    return this.#asks.ask(method, args, context);
  }

  /** Queues a frame. @throws TypeError for a value that cannot be encoded. */
  tell(frame: LinkFrame): void {
    const parcel = this.#deps.codec.encodeFrame(frame);
    this.#tells += 1;
    if (parcel.bytes > CONTENT_BYTES_MAX) {
      const what = frame.kind === 'tell' ? frame.method : frame.kind;
      this.#deps.onFault(what, new RangeError(`A frame of ${parcel.bytes} bytes is too large for a link.`));
      return;
    }
    if (!this.#queue(parcel)) this.#break('The send queue overflowed: the peer is too slow.');
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const isMissing = this.#sendQueue.waitingBytes > 0;
    this.#dropStream();
    this.#asks.close();
    this.#client.close();
    this.#sendQueue.endGeneration();
    if (isMissing) this.#tellBroken();
  }

  /** Queues a frame, to be sent at the end of the tick. @returns false on overflow. */
  #queue(frame: EncodedFrame): boolean {
    if (!this.#sendQueue.add(frame)) return false;
    if (this.#flushes || !this.#ready) return true;
    this.#flushes = true;
    this.#deps.clock.defer(() => {
      this.#flushes = false;
      this.#flush();
    });
    return true;
  }

  #handshake(): void {
    const { codec, clock, greeting } = this.#deps;
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Hello;
    this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      packHandshake(codec, greeting),
      new Metadata(),
      { deadline: clock.now() + HANDSHAKE_MS },
      (error, payload) => {
        if (this.#closed) return;
        if (error) this.#notReached(error.details);
        else this.#answered(payload ?? Buffer.alloc(0));
      },
    );
  }

  #answered(payload: Buffer): void {
    const { codec } = this.#deps;
    let answer: HandshakeAnswer;
    try {
      answer = unpackHandshakeAnswer(codec, payload);
    } catch (fault) {
      this.#refused('version', `Malformed handshake answer: ${messageOf(fault)}`);
      return;
    }
    const wrong = answer.ok ? this.#objection(answer.greeting) : answer;
    if (wrong)
      this.#refused(
        wrong.why,
        answer.ok ? wrong.message : `The shard refused the handshake: ${wrong.message}`,
      );
    else if (answer.ok) this.#begin(answer.token, answer.greeting.versions.newest);
  }

  /** Why the answering shard is not the expected one, or null if it is. */
  #objection(other: Greeting): { readonly why: HandshakeRefusal; readonly message: string } | null {
    const { id, instance } = this.shard;
    if (other.shardId !== id || other.instance !== instance)
      return { why: 'instance', message: `Another shard answered: ${other.shardId}, run ${other.instance}.` };
    return handshakeRefusal(this.#deps.greeting, other);
  }

  #begin(token: Buffer, newest: number): void {
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Tell;
    const stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    this.#stream = stream;
    this.#streamId += 1;
    const version = Math.min(newest, this.#deps.greeting.versions.newest);
    const link = { version, token, id: this.#streamId };
    this.#isFull = false;
    const lost = (reason: string) => {
      if (this.#stream === stream) this.#lost(reason);
    };
    stream.on('data', (payload: Buffer) => {
      if (this.#stream === stream) this.#received(payload, link);
    });
    stream.on('drain', () => {
      if (this.#stream !== stream) return;
      this.#isFull = false;
      this.#flush();
    });
    stream.on('error', ({ message }: Error) => lost(message));
    stream.on('end', () => lost('The peer ended the stream.'));
    const first = [token, this.#sendQueue.generation];
    stream.write(this.#deps.codec.pack(version === 1 ? first : [...first, link.id]));
    this.#timer = this.#deps.clock.setTimer(() => {
      if (!this.#ready) lost('The peer did not acknowledge the stream in time.');
    }, HANDSHAKE_MS);
  }

  /** Handles a packet of the peer: the first is the last batch the peer has, further ones are acknowledgements and replies. */
  #received(payload: Buffer, link: AskStream): void {
    let packet: ReturnType<Codec['unpackReplies']>;
    try {
      packet = this.#deps.codec.unpackReplies(payload);
    } catch {
      this.#lost('The peer sent a malformed acknowledgement.');
      return;
    }
    const { taken, replies } = packet;
    if (!this.#ready) this.#takenUp(taken, link);
    else if (this.#sendQueue.taken(taken)) this.#flush();
    else this.#lost('The peer acknowledged batches that were not sent.');
    for (const { id, answer } of replies) this.#asks.answered(id, answer);
  }

  #takenUp(sequence: number, link: AskStream): void {
    if (!this.#sendQueue.begin(sequence)) {
      this.#break('The peer lost its position in the stream.');
      return;
    }
    this.#ready = true;
    this.#asks.begin(link);
    this.#attempts = 0;
    this.#lastWarning = '';
    this.#timer?.cancel();
    this.#deps.logger.info({ shard: this.shard.id, address: this.shard.address }, 'Linked to a shard.');
    this.#flush();
  }

  #flush(): void {
    if (!this.#ready) return;
    while (!this.#isFull) {
      const packet = this.#sendQueue.next();
      if (packet === null) return;
      if (this.#stream?.write(packet) === false) this.#isFull = true;
    }
  }

  /** Handles the end of the stream; the next stream continues where it ended. */
  #lost(reason: string): void {
    const wasReady = this.#ready;
    this.#dropStream();
    if (wasReady)
      this.#deps.logger.warn({ shard: this.shard.id, reason }, 'The link to a shard was interrupted.');
    this.#again(RETRY_MS.first * 2 ** Math.min(this.#attempts, 8));
  }

  /** Drops the queue and starts a new generation, by which the peer detects missing frames. */
  #break(reason: string): void {
    this.#breaks += 1;
    this.#sendQueue.endGeneration();
    this.#deps.logger.warn(
      { shard: this.shard.id, reason },
      'The stream to a shard was broken: queued frames were dropped.',
    );
    this.#tellBroken();
    if (this.#stream === null) return;
    this.#dropStream();
    this.#again(0);
  }

  /** Reports the break later, because the callback may send frames while the current one is being queued. */
  #tellBroken(): void {
    this.#deps.clock.defer(() => this.#deps.onBroken(this.shard.id));
  }

  #dropStream(): void {
    const stream = this.#stream;
    this.#stream = null;
    this.#ready = false;
    this.#timer?.cancel();
    stream?.cancel();
    this.#asks.end();
  }

  #notReached(details: string): void {
    // An untrusted certificate is not a network fault: it persists until an operator acts.
    if (UNTRUSTED.test(details)) this.#refused('certificate', details);
    else {
      if (this.#attempts === WARN_ATTEMPTS) this.#warn('unreachable', details);
      this.#again(RETRY_MS.first * 2 ** Math.min(this.#attempts, 8));
    }
  }

  #refused(why: string, message: string): void {
    this.#refusals += 1;
    const passes = why === 'instance' || why === 'notReady' || why === 'full';
    if (!passes) this.#warn(why, message);
    this.#again(passes ? RETRY_MS.first * 2 ** Math.min(this.#attempts, 8) : REFUSED_RETRY_MS);
  }

  /** Logs each reason once, until the link is connected again. */
  #warn(why: string, reason: string): void {
    if (this.#lastWarning === why) return;
    this.#lastWarning = why;
    const { id, address } = this.shard;
    this.#deps.logger.warn({ shard: id, address, why, reason }, 'Cannot link to a shard.');
  }

  /** Retries after a delay of which half is random, so that many shards do not retry at the same moment. */
  #again(delayMs: number): void {
    if (this.#closed) return;
    this.#attempts += 1;
    const most = delayMs === REFUSED_RETRY_MS ? delayMs : Math.min(delayMs, RETRY_MS.most);
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.setTimer(() => this.#handshake(), most * (0.5 + this.#deps.random() / 2));
  }
}
