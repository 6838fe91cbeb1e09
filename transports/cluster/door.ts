import { randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import type { Logger } from 'pino';
import type { LinkHandler } from '../../actors/cluster/ports.ts';
import type { ShardInfo } from '../../actors/placement/ports.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import { LinkFault, NotServed } from '../../protocol/faults.ts';
import type { Codec, Question } from './codec.ts';
import {
  type Greeting,
  type HelloAnswer,
  type HelloRefusal,
  mismatch,
  packHelloAnswer,
  unpackHello,
} from './hello.ts';
import { DecodeFault, LINK_SERVICE } from './packets.ts';
import { Porch } from './porch.ts';

/** Certificates of links, PEM. With them both ends of a link show one, signed by `ca`. */
export interface LinkTls {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

interface DoorDeps {
  readonly greeting: Greeting;
  readonly codec: Codec;
  readonly tls: LinkTls | null;
  readonly channelOptions: Readonly<Record<string, string | number>>;
  readonly asksMax: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly onFault: (where: string, fault: unknown, details?: object) => void;
}

/** One run of another shard, as it has said hello. */
interface Guest {
  readonly shardId: string;
  readonly instance: string;
  readonly token: Buffer;
  /** Questions of it that are being worked on. */
  asks: number;
  stream: ServerDuplexStream<Buffer, Buffer> | null;
  /** Of the stream that it tells. */
  generation: number;
  /** Batches of that generation that were taken. */
  taken: number;
  acknowledges: boolean;
}

const GUESTS_MAX = 4096;
const CONNECTIONS_MAX = 8192;
/** A certificate is demanded, and looked at by us, since only so can be said who has shown a wrong one. */
const TLS_OPTIONS = {
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  ALPNProtocols: ['h2'],
  handshakeTimeout: 10_000,
} as const;
/** Complaints of one kind that are written down, once each: who makes up one of a kind silences no other. */
const COMPLAINTS_MAX = 250;

/** Where other shards come in. */
export class Door {
  readonly #deps: DoorDeps;
  readonly #server: Server;
  readonly #porch: Porch;
  readonly #sockets = new Set<Socket>();
  readonly #guests = new Map<string, Guest>();
  /** By kind. */
  readonly #complaints = new Map<string, Set<string>>();
  /** The run of each shard that is a member, as far as is known. */
  #members: ReadonlyMap<string, string> = new Map();
  #listener: NetServer | null = null;
  #handler: LinkHandler | null = null;
  #refusals = 0;
  #breaks = 0;
  #asks = 0;

  constructor(deps: DoorDeps) {
    this.#deps = deps;
    this.#server = new Server(deps.channelOptions);
    this.#porch = new Porch(deps.codec, deps.clock);
    this.#server.addService(LINK_SERVICE, {
      Hello: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => this.#hello(call, done),
      Ask: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => void this.#ask(call, done),
      Tell: (stream: ServerDuplexStream<Buffer, Buffer>) => this.#tell(stream),
    });
  }

  /** Refused or mistrusted shards, streams of others that were broken, questions that are being worked on. */
  get figures(): { readonly refusals: number; readonly breaks: number; readonly asksUnderWay: number } {
    return { refusals: this.#refusals, breaks: this.#breaks, asksUnderWay: this.#asks };
  }

  /** Says which runs are members: another of the same shard does not take their place. */
  follow(shards: readonly Pick<ShardInfo, 'id' | 'instance'>[]): void {
    this.#members = new Map(shards.map(({ id, instance }) => [id, instance]));
  }

  /** From here on others are welcome. */
  serve(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** @throws what listening throws, such as EADDRINUSE. */
  async listen(host: string, port: number): Promise<AddressInfo> {
    const { tls } = this.#deps;
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    const welcome = (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
      injector.injectConnection(socket);
    };
    const mistrusted = (socket: Socket, reason: string) => {
      const address = socket.remoteAddress;
      this.#refusals += 1;
      this.#complain('certificate', `${address} ${reason}`, { address, reason });
    };
    // A listener of our own: it is the only way to hear of certificates that are not trusted.
    const listener = tls
      ? createTlsServer({ ...tls, ...TLS_OPTIONS }, (socket) => {
          if (socket.authorized) return welcome(socket);
          mistrusted(socket, String(socket.authorizationError));
          this.#porch.receive(socket);
        })
      : createServer({ noDelay: true }, welcome);
    listener.on('tlsClientError', ({ message }: Error, socket: Socket) => {
      mistrusted(socket, message);
      socket.destroy();
    });
    listener.maxConnections = CONNECTIONS_MAX;
    this.#listener = listener;
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.listen(port, host, () => {
        listener.off('error', reject);
        listener.on('error', (error) => this.#deps.onFault('links', error));
        resolve();
      });
    });
    return listener.address() as AddressInfo;
  }

  async close(): Promise<void> {
    this.#handler = null;
    this.#server.forceShutdown();
    this.#porch.close();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      if (this.#listener === null) resolve();
      else this.#listener.close(() => resolve());
    });
  }

  #complain(why: HelloRefusal, key: string, details: object): void {
    const known = this.#complaints.get(why) ?? new Set();
    if (known.has(key) || known.size >= COMPLAINTS_MAX) return;
    this.#complaints.set(why, known.add(key));
    this.#deps.logger.warn({ ...details, why }, 'A shard was refused.');
  }

  #hello({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void {
    const { codec } = this.#deps;
    let answer: HelloAnswer;
    try {
      answer = this.#welcomed(unpackHello(codec, request));
    } catch (fault) {
      answer = this.#refusal('version', (fault as Error).message, { reason: (fault as Error).message }, '');
    }
    done(null, packHelloAnswer(codec, answer));
  }

  #refusal(why: HelloRefusal, message: string, details: object, key: string): HelloAnswer {
    this.#refusals += 1;
    if (why !== 'notReady') this.#complain(why, key, details);
    return { ok: false, why, message };
  }

  #welcomed(other: Greeting): HelloAnswer {
    const { greeting } = this.#deps;
    const wrong = mismatch(greeting, other);
    const key = `${other.clusterId}/${other.shardId}/${other.instance}`;
    if (wrong) {
      const ours = mismatch(other, greeting)?.message ?? '';
      return this.#refusal(wrong.why, ours, { ...other, reason: wrong.message }, key);
    }
    if (this.#handler === null)
      return this.#refusal('notReady', 'It is about to begin.', { shard: other.shardId }, key);
    if (this.#wouldDisplace(other))
      return this.#refusal('instance', 'Another run of it is a member.', { ...other }, key);
    const guest = this.#guestOf(other);
    if (guest === null) return this.#refusal('full', 'It knows too many shards.', { ...other }, key);
    return { ok: true, token: guest.token, greeting };
  }

  /** Whether it is a run that is over, or that is not known yet, while the one that is a member is here. */
  #wouldDisplace({ shardId, instance }: Greeting): boolean {
    const member = this.#members.get(shardId);
    if (member === undefined || member === instance) return false;
    return [...this.#guests.values()].some((guest) => guest.shardId === shardId && guest.instance === member);
  }

  #guestOf({ shardId, instance }: Greeting): Guest | null {
    for (const [key, guest] of this.#guests) {
      if (guest.shardId !== shardId) continue;
      if (guest.instance === instance) return guest;
      // The run before is over, whatever it has told.
      this.#guests.delete(key);
      guest.stream?.end();
      guest.stream = null;
      this.#broken(guest);
    }
    if (this.#guests.size >= GUESTS_MAX) {
      const idle = [...this.#guests].find(([, { stream, asks }]) => stream === null && asks === 0);
      if (!idle) return null;
      this.#guests.delete(idle[0]);
    }
    const token = randomBytes(16);
    const guest: Guest = {
      shardId,
      instance,
      token,
      asks: 0,
      stream: null,
      generation: 0,
      taken: 0,
      acknowledges: false,
    };
    this.#guests.set(token.toString('latin1'), guest);
    return guest;
  }

  #known(token: unknown): Guest | undefined {
    return Buffer.isBuffer(token) ? this.#guests.get(token.toString('latin1')) : undefined;
  }

  async #ask(call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): Promise<void> {
    const { codec, asksMax } = this.#deps;
    let question: Question;
    try {
      question = codec.unpackQuestion(call.request);
    } catch (fault) {
      this.#deps.onFault('ask', fault);
      return done(null, codec.packFault(new LinkFault('failed', 'The question cannot be read.')));
    }
    const guest = this.#known(question.token);
    if (!guest || this.#handler === null)
      return done(null, codec.packFault(new LinkFault('unreachable', 'Who asks has not said hello here.')));
    if (guest.asks >= asksMax)
      return done(null, codec.packFault(new LinkFault('overloaded', 'Too much is being asked.')));
    const release = this.#occupied(guest);
    // Its time is over, or who asked is gone: nobody waits for the answer.
    call.on('cancelled', release);
    const answer = await this.#answer(this.#handler, guest.shardId, question);
    release();
    done(null, answer);
  }

  /** Counts a question, until what it answers is called. */
  #occupied(guest: Guest): () => void {
    guest.asks += 1;
    this.#asks += 1;
    let left = 1;
    return () => {
      guest.asks -= left;
      this.#asks -= left;
      left = 0;
    };
  }

  async #answer(handler: LinkHandler, from: string, question: Question): Promise<Buffer> {
    const { codec, onFault } = this.#deps;
    const { method, args, key, deadlineMs, commandKey, trace } = question;
    const context = { key, deadlineMs, commandKey, trace };
    try {
      return codec.packAnswer(await handler.ask(from, method, args, context));
    } catch (fault) {
      const isOurs = fault instanceof LinkFault || fault instanceof NotServed;
      if (!isOurs) onFault(method, fault, { from, trace });
      return codec.packFault(fault);
    }
  }

  #tell(stream: ServerDuplexStream<Buffer, Buffer>): void {
    let guest: Guest | null = null;
    const end = () => {
      if (guest?.stream === stream) guest.stream = null;
      stream.end();
    };
    stream.on('data', (payload: Buffer) => {
      if (guest === null) guest = this.#begun(stream, payload);
      else if (guest.stream === stream) this.#take(guest, payload);
    });
    stream.on('end', end);
    stream.on('cancelled', end);
    stream.on('error', end);
  }

  /** The first packet of a stream says whose it is, and whether it goes on where the one before ended. */
  #begun(stream: ServerDuplexStream<Buffer, Buffer>, payload: Buffer): Guest | null {
    const { codec } = this.#deps;
    const [token, generation] = firstOf(codec, payload);
    const guest = this.#known(token);
    if (!guest || !Number.isSafeInteger(generation)) {
      stream.end();
      return null;
    }
    guest.stream?.end();
    guest.stream = stream;
    if (guest.generation !== generation) {
      guest.generation = generation as number;
      guest.taken = 0;
      this.#broken(guest);
    }
    stream.write(codec.pack(guest.taken));
    return guest;
  }

  #take(guest: Guest, payload: Buffer): void {
    const { codec, clock, onFault } = this.#deps;
    const { stream } = guest;
    try {
      const { sequence, frames } = codec.unpackBatch(payload);
      if (sequence !== guest.taken + 1) throw new DecodeFault(`Batch ${sequence} follows ${guest.taken}.`);
      guest.taken = sequence;
      this.#handler?.told(guest.shardId, frames);
    } catch (fault) {
      onFault('told', fault);
      // It counts as taken: sent again it would be no better. What was in it is missing.
      if (fault instanceof DecodeFault) {
        guest.taken += 1;
        this.#broken(guest);
      }
    }
    if (guest.acknowledges) return;
    guest.acknowledges = true;
    clock.defer(() => {
      guest.acknowledges = false;
      if (guest.stream === stream) stream?.write(codec.pack(guest.taken));
    });
  }

  #broken({ shardId }: Guest): void {
    this.#breaks += 1;
    this.#handler?.broken(shardId);
  }
}

function firstOf(codec: Codec, payload: Buffer): readonly unknown[] {
  try {
    const first = codec.unpack(payload);
    return Array.isArray(first) ? first : [];
  } catch {
    return [];
  }
}
