import { type ChannelCredentials, Client, type ClientDuplexStream, Metadata, status } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { AskContext, LinkFrame, ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { LinkFault } from '../../protocol/faults.ts';
import type { Codec } from './codec.ts';
import {
  type Greeting,
  type HelloAnswer,
  type HelloRefusal,
  mismatch,
  packHello,
  unpackHelloAnswer,
} from './hello.ts';
import { Outlet } from './outlet.ts';
import { LINK_SERVICE, PACKET_BYTES_MAX } from './packets.ts';

export interface PeerDeps {
  readonly greeting: Greeting;
  readonly codec: Codec;
  readonly credentials: ChannelCredentials;
  readonly channelOptions: Readonly<Record<string, string | number>>;
  /** What may wait for the peer: frames that it has not taken, and questions that it has not answered, each. */
  readonly bytesMax: number;
  readonly asksMax: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly onFault: (where: string, fault: unknown) => void;
  /** What was told to the peer may be missing there. */
  readonly onBroken: (shardId: string) => void;
}

/** Of the way to one shard. */
export interface PeerFigures {
  readonly shardId: string;
  readonly connected: boolean;
  readonly waitingBytes: number;
  readonly bytesMax: number;
  readonly asksUnderWay: number;
  readonly asks: number;
  readonly tells: number;
  readonly breaks: number;
  /** How often we were not welcome, or the peer was not who it should be. */
  readonly refusals: number;
}

/** How long a peer may take to say who it is, and to take up a stream. */
const HELLO_MS = 5000;
const RETRY_MS = { first: 50, most: 2000 };
/** No setting helps before someone has done something. */
const REFUSED_RETRY_MS = 10_000;

/** Failures in a row that are written down. */
const COMPLAINT_ATTEMPTS = 4;

const UNTRUSTED = /certificate|\bssl\b|\btls\b|alert|self.signed|altname/i;

/** The way to one run of another shard: one connection, on which questions and the stream of what is told travel. */
export class Peer {
  readonly shard: ShardInfo;
  readonly #deps: PeerDeps;
  readonly #client: Client;
  readonly #outlet: Outlet;
  readonly #calls = new Set<{ cancel(): void }>();
  #token: Buffer | null = null;
  #stream: ClientDuplexStream<Buffer, Buffer> | null = null;
  /** The peer has taken the stream up: questions are welcome too. */
  #ready = false;
  #isFull = false;
  #flushes = false;
  #timer: Timer | null = null;
  /** In vain, in a row. */
  #attempts = 0;
  #closed = false;
  #askBytes = 0;
  #asks = 0;
  #tells = 0;
  #breaks = 0;
  #refusals = 0;
  #lastComplaint = '';

  constructor(shard: ShardInfo, deps: PeerDeps) {
    this.shard = shard;
    this.#deps = deps;
    this.#client = new Client(shard.address, deps.credentials, deps.channelOptions);
    this.#outlet = new Outlet({ bytesMax: deps.bytesMax, pack: deps.codec.packBatch });
    this.#greet();
  }

  get figures(): PeerFigures {
    return {
      shardId: this.shard.id,
      connected: this.#ready,
      waitingBytes: this.#outlet.waitingBytes + this.#askBytes,
      bytesMax: 2 * this.#deps.bytesMax,
      asksUnderWay: this.#calls.size,
      asks: this.#asks,
      tells: this.#tells,
      breaks: this.#breaks,
      refusals: this.#refusals,
    };
  }

  /** @throws LinkFault, and what the peer has thrown. */
  async ask(method: string, args: readonly unknown[], context: AskContext): Promise<unknown> {
    const { codec, asksMax, bytesMax, clock } = this.#deps;
    if (!this.#ready || this.#token === null)
      throw new LinkFault('unreachable', `There is no way to ${this.shard.id} now.`);
    const packet = codec.packQuestion({ ...context, token: this.#token, method, args });
    if (this.#calls.size >= asksMax || this.#askBytes + packet.length > bytesMax)
      throw new LinkFault('overloaded', `Too much is being asked of ${this.shard.id}.`);
    this.#asks += 1;
    this.#askBytes += packet.length;
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Ask;
    const deadline = clock.now() + context.deadlineMs;
    try {
      const payload = await new Promise<Buffer>((resolve, reject) => {
        const call = this.#client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          packet,
          { deadline },
          (error, answer) => {
            this.#calls.delete(call);
            if (error) reject(this.#lostAnswer(method, error));
            else resolve(answer ?? Buffer.alloc(0));
          },
        );
        this.#calls.add(call);
      });
      return codec.unpackAnswer(payload);
    } finally {
      this.#askBytes -= packet.length;
    }
  }

  /** @throws TypeError for what does not travel. */
  tell(frame: LinkFrame): void {
    const parcel = this.#deps.codec.parcel(frame);
    this.#tells += 1;
    if (parcel.bytes > PACKET_BYTES_MAX - (1 << 16)) {
      const what = frame.kind === 'tell' ? frame.method : frame.kind;
      this.#deps.onFault(what, new RangeError(`A frame of ${parcel.bytes} bytes is too large for a link.`));
      return;
    }
    if (!this.#outlet.add(parcel)) this.#break('It is too far behind.');
    else if (this.#ready && !this.#flushes) {
      this.#flushes = true;
      this.#deps.clock.defer(() => {
        this.#flushes = false;
        this.#flush();
      });
    }
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const isMissing = this.#outlet.waitingBytes > 0;
    this.#timer?.cancel();
    this.#ready = false;
    this.#stream?.cancel();
    this.#stream = null;
    for (const call of [...this.#calls]) call.cancel();
    this.#client.close();
    this.#outlet.endGeneration();
    if (isMissing) this.#tellBroken();
  }

  /** Whether the peer has begun with it is not known, whatever the reason: only it says that it has not. */
  #lostAnswer(method: string, { code, details }: { code: number; details: string }): LinkFault {
    if (code === status.DEADLINE_EXCEEDED)
      return new LinkFault('timeout', `${this.shard.id} has not answered ${method} in time.`);
    return new LinkFault('lost', `The answer of ${this.shard.id} to ${method} is lost: ${details}`);
  }

  #greet(): void {
    const { codec, clock, greeting } = this.#deps;
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Hello;
    this.#client.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      packHello(codec, greeting),
      new Metadata(),
      { deadline: clock.now() + HELLO_MS },
      (error, payload) => {
        if (this.#closed) return;
        if (error) this.#notReached(error.details);
        else this.#answered(payload ?? Buffer.alloc(0));
      },
    );
  }

  #answered(payload: Buffer): void {
    const { codec } = this.#deps;
    let answer: HelloAnswer;
    try {
      answer = unpackHelloAnswer(codec, payload);
    } catch (fault) {
      this.#refused('version', `It answers in words that are not known here: ${(fault as Error).message}`);
      return;
    }
    const wrong = answer.ok ? this.#objection(answer.greeting) : answer;
    if (wrong) this.#refused(wrong.why, answer.ok ? wrong.message : `It refuses us: ${wrong.message}`);
    else if (answer.ok) this.#begin(answer.token);
  }

  /** Why whoever answers is not who we look for, or null. */
  #objection(other: Greeting): { readonly why: HelloRefusal; readonly message: string } | null {
    const { id, instance } = this.shard;
    if (other.shardId !== id || other.instance !== instance)
      return { why: 'instance', message: `It is ${other.shardId} by now, run ${other.instance}.` };
    return mismatch(this.#deps.greeting, other);
  }

  #begin(token: Buffer): void {
    const { path, requestSerialize, responseDeserialize } = LINK_SERVICE.Tell;
    const stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    this.#token = token;
    this.#stream = stream;
    this.#isFull = false;
    const lost = (reason: string) => {
      if (this.#stream === stream) this.#lost(reason);
    };
    stream.on('data', (payload: Buffer) => {
      if (this.#stream === stream) this.#heard(payload);
    });
    stream.on('drain', () => {
      if (this.#stream !== stream) return;
      this.#isFull = false;
      this.#flush();
    });
    stream.on('error', ({ message }: Error) => lost(message));
    stream.on('end', () => lost('It has ended the stream.'));
    stream.write(this.#deps.codec.pack([token, this.#outlet.generation]));
    this.#timer = this.#deps.clock.setTimer(() => {
      if (!this.#ready) lost('It does not take the stream up.');
    }, HELLO_MS);
  }

  /** The first answer says up to where the peer knows the stream; further ones what it has taken of it. */
  #heard(payload: Buffer): void {
    const sequence = numberIn(this.#deps.codec, payload);
    if (sequence === null) this.#lost('It says what no shard says.');
    else if (!this.#ready) this.#takenUp(sequence);
    else if (this.#outlet.taken(sequence)) this.#flush();
    else this.#lost('It has taken what was not sent.');
  }

  #takenUp(sequence: number): void {
    if (!this.#outlet.begin(sequence)) {
      this.#break('It does not know what it had taken.');
      return;
    }
    this.#ready = true;
    this.#attempts = 0;
    this.#lastComplaint = '';
    this.#timer?.cancel();
    this.#deps.logger.info({ shard: this.shard.id, address: this.shard.address }, 'Linked to a shard.');
    this.#flush();
  }

  #flush(): void {
    if (!this.#ready) return;
    while (!this.#isFull) {
      const packet = this.#outlet.next();
      if (packet === null) return;
      if (this.#stream?.write(packet) === false) this.#isFull = true;
    }
  }

  /** The stream is over; the next one goes on where it ended. */
  #lost(reason: string): void {
    const wasReady = this.#ready;
    this.#dropStream();
    if (wasReady)
      this.#deps.logger.warn({ shard: this.shard.id, reason }, 'The link to a shard was interrupted.');
    this.#again(RETRY_MS.first * 2 ** Math.min(this.#attempts, 8));
  }

  /** What waits is given up, and the peer will know it. */
  #break(reason: string): void {
    this.#breaks += 1;
    this.#outlet.endGeneration();
    this.#deps.logger.warn({ shard: this.shard.id, reason }, 'The stream to a shard was broken off.');
    this.#tellBroken();
    if (this.#stream === null) return;
    this.#dropStream();
    this.#again(0);
  }

  /** Whoever hears of it may tell more: not in the midst of what is being told now. */
  #tellBroken(): void {
    this.#deps.clock.defer(() => this.#deps.onBroken(this.shard.id));
  }

  #dropStream(): void {
    const stream = this.#stream;
    this.#stream = null;
    this.#ready = false;
    this.#timer?.cancel();
    stream?.cancel();
  }

  #notReached(details: string): void {
    // A certificate that is not trusted is no fault of the network: it stays until someone has done something.
    if (UNTRUSTED.test(details)) this.#refused('certificate', details);
    else {
      if (this.#attempts === COMPLAINT_ATTEMPTS) this.#complain('unreachable', details);
      this.#again(RETRY_MS.first * 2 ** Math.min(this.#attempts, 8));
    }
  }

  #refused(why: string, message: string): void {
    this.#refusals += 1;
    const passes = why === 'instance' || why === 'notReady' || why === 'full';
    if (!passes) this.#complain(why, message);
    this.#again(passes ? RETRY_MS.first * 2 ** Math.min(this.#attempts, 8) : REFUSED_RETRY_MS);
  }

  /** Once for each reason, until there is a link again. */
  #complain(why: string, reason: string): void {
    if (this.#lastComplaint === why) return;
    this.#lastComplaint = why;
    const { id, address } = this.shard;
    this.#deps.logger.warn({ shard: id, address, why, reason }, 'There is no link to a shard.');
  }

  /** Half of it is chance, so that many shards do not come back at one moment. */
  #again(delayMs: number): void {
    if (this.#closed) return;
    this.#attempts += 1;
    const most = delayMs === REFUSED_RETRY_MS ? delayMs : Math.min(delayMs, RETRY_MS.most);
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.setTimer(() => this.#greet(), most * (0.5 + this.#deps.random() / 2));
  }
}

function numberIn(codec: Codec, payload: Buffer): number | null {
  try {
    const value = codec.unpack(payload);
    return typeof value === 'number' ? value : null;
  } catch {
    return null;
  }
}
