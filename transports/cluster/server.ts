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
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import { LinkFault, type LinkFaultKind } from '../../protocol/faults.ts';
import { messageOf } from '../../protocol/thrown.ts';
import type { Codec, LinkRequest } from './codec.ts';
import {
  type Greeting,
  type HandshakeAnswer,
  type HandshakeRefusal,
  handshakeRefusal,
  packHandshakeAnswer,
  unpackHandshake,
} from './handshake.ts';
import { InboundPeer } from './inboundpeer.ts';
import { LINK_SERVICE } from './packets.ts';
import { PreAuthSockets } from './preauth.ts';

/** Certificates for links, PEM. Both ends of a link must present one signed by `ca`. */
export interface LinkTls {
  readonly ca: Buffer;
  readonly cert: Buffer;
  readonly key: Buffer;
}

interface LinkServerDeps {
  readonly greeting: Greeting;
  readonly codec: Codec;
  readonly tls: LinkTls | null;
  readonly channelOptions: Readonly<Record<string, string | number>>;
  readonly asksMax: number;
  /** Most bytes of replies that wait for one peer to read them. */
  readonly bytesMax: number;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly onFault: (where: string, fault: unknown, details?: object) => void;
}

const PEERS_MAX = 4096;
/** How long a shard that ends waits for its answers, and for the last one to be on the wire. */
const ANSWERED_MAX_MS = 1_000;
const SENT_MS = 20;
const CONNECTIONS_MAX = 8192;
/** Certificates are requested but checked in code, so that a rejected one can be logged with its reason. */
const TLS_OPTIONS = {
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2',
  ALPNProtocols: ['h2'],
  handshakeTimeout: 10_000,
} as const;
/** Distinct complaints of one kind that are logged, once each; the bound is per kind, so one kind cannot hide another. */
const WARNED_MAX = 250;

/** The server that accepts links from other shards. */
export class LinkServer {
  readonly #deps: LinkServerDeps;
  readonly #server: Server;
  readonly #preAuth: PreAuthSockets;
  readonly #sockets = new Set<Socket>();
  readonly #peers = new Map<string, InboundPeer>();
  /** Logged complaints by kind. */
  readonly #warned = new Map<string, Set<string>>();
  /** The current run of each member shard, as far as known. */
  #members: ReadonlyMap<string, string> = new Map();
  #listener: NetServer | null = null;
  #handler: LinkHandler | null = null;
  #refusals = 0;
  #breaks = 0;

  constructor(deps: LinkServerDeps) {
    this.#deps = deps;
    this.#server = new Server(deps.channelOptions);
    this.#preAuth = new PreAuthSockets(deps.codec, deps.clock);
    this.#server.addService(LINK_SERVICE, {
      Hello: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
        this.#handshake(call, done),
      Ask: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => this.#ask(call, done),
      Tell: (stream: ServerDuplexStream<Buffer, Buffer>) => this.#receive(stream),
    });
  }

  /** Handshakes refused, incoming streams broken, requests in progress. */
  get metrics(): { readonly refusals: number; readonly breaks: number; readonly asksUnderWay: number } {
    return { refusals: this.#refusals, breaks: this.#breaks, asksUnderWay: this.#asks };
  }

  get #asks(): number {
    let asks = 0;
    for (const peer of this.#peers.values()) asks += peer.asks;
    return asks;
  }

  /** Sets the runs that are members; another run of the same shard cannot replace them. */
  follow(shards: readonly Pick<ShardInfo, 'id' | 'instance'>[]): void {
    this.#members = new Map(shards.map(({ id, instance }) => [id, instance]));
  }

  /** Accepts other shards from now on. */
  serve(handler: LinkHandler): void {
    this.#handler = handler;
  }

  /** @throws the error of listening, such as EADDRINUSE. */
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
      this.#warnOnce('certificate', `${address} ${reason}`, { address, reason });
    };
    // A listener of our own, since it is the only way to see certificates that were not trusted.
    const listener = tls
      ? createTlsServer({ ...tls, ...TLS_OPTIONS }, (socket) => {
          if (socket.authorized) return welcome(socket);
          mistrusted(socket, String(socket.authorizationError));
          this.#preAuth.receive(socket);
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
    await this.#answered();
    this.#server.forceShutdown();
    this.#preAuth.close();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      if (this.#listener === null) resolve();
      else this.#listener.close(() => resolve());
    });
  }

  /** Resolves when all requests are answered: an answer may bring what this shard has given away already. */
  #answered(): Promise<void> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonic() + ANSWERED_MAX_MS;
    return new Promise((resolve) => {
      const look = (): Timer =>
        clock.setTimer(this.#asks > 0 && clock.monotonic() < untilMs ? look : resolve, SENT_MS);
      if (this.#peers.size > 0) look();
      else resolve();
    });
  }

  #warnOnce(why: HandshakeRefusal, key: string, details: object): void {
    const known = this.#warned.get(why) ?? new Set();
    if (known.has(key) || known.size >= WARNED_MAX) return;
    this.#warned.set(why, known.add(key));
    this.#deps.logger.warn({ ...details, why }, 'A shard was refused.');
  }

  #handshake({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void {
    const { codec } = this.#deps;
    let answer: HandshakeAnswer;
    try {
      answer = this.#welcomed(unpackHandshake(codec, request));
    } catch (fault) {
      answer = this.#refusal('version', messageOf(fault), { reason: messageOf(fault) }, '');
    }
    done(null, packHandshakeAnswer(codec, answer));
  }

  #refusal(why: HandshakeRefusal, message: string, details: object, key: string): HandshakeAnswer {
    this.#refusals += 1;
    if (why !== 'notReady') this.#warnOnce(why, key, details);
    return { ok: false, why, message };
  }

  #welcomed(other: Greeting): HandshakeAnswer {
    const { greeting } = this.#deps;
    const wrong = handshakeRefusal(greeting, other);
    const key = `${other.clusterId}/${other.shardId}/${other.instance}`;
    if (wrong) {
      const ours = handshakeRefusal(other, greeting)?.message ?? '';
      return this.#refusal(wrong.why, ours, { ...other, reason: wrong.message }, key);
    }
    if (this.#handler === null)
      return this.#refusal('notReady', 'The shard is still starting.', { shard: other.shardId }, key);
    if (this.#wouldDisplace(other))
      return this.#refusal('instance', 'Another run of this shard is a member.', { ...other }, key);
    const peer = this.#peerOf(other);
    if (peer === null) return this.#refusal('full', 'The shard has too many links.', { ...other }, key);
    return { ok: true, token: peer.token, greeting };
  }

  /** Whether this is an old or unknown run of a shard whose member run is linked. */
  #wouldDisplace({ shardId, instance }: Greeting): boolean {
    const member = this.#members.get(shardId);
    if (member === undefined || member === instance) return false;
    return [...this.#peers.values()].some((peer) => peer.shardId === shardId && peer.instance === member);
  }

  #peerOf({ shardId, instance }: Greeting): InboundPeer | null {
    for (const [key, peer] of this.#peers) {
      if (peer.shardId !== shardId) continue;
      if (peer.instance === instance) return peer;
      // The earlier run has ended, whatever it has sent.
      this.#peers.delete(key);
      peer.retire();
    }
    if (this.#peers.size >= PEERS_MAX) {
      const idle = [...this.#peers].find(([, each]) => each.isIdle);
      if (!idle) return null;
      this.#peers.delete(idle[0]);
    }
    const token = randomBytes(16);
    const peer = new InboundPeer(shardId, instance, token, {
      ...this.#deps,
      handler: () => this.#handler,
      onBroken: () => {
        this.#breaks += 1;
        this.#handler?.broken(shardId);
      },
    });
    this.#peers.set(token.toString('latin1'), peer);
    return peer;
  }

  #known(token: unknown): InboundPeer | undefined {
    return Buffer.isBuffer(token) ? this.#peers.get(token.toString('latin1')) : undefined;
  }

  /** Handles a request that is a unary call, as in link version 1. */
  #ask(call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void {
    const { codec } = this.#deps;
    const refuse = (kind: LinkFaultKind, why: string) =>
      done(null, codec.packFault(new LinkFault(kind, why)));
    let question: LinkRequest;
    try {
      question = codec.unpackRequest(call.request);
    } catch (fault) {
      this.#deps.onFault('ask', fault);
      refuse('failed', 'Malformed request frame.');
      return;
    }
    const peer = this.#known(question.token);
    if (peer) void peer.answerUnary(call, question, done);
    else refuse('unreachable', 'The sender of the request has completed no handshake with this shard.');
  }

  /** Handles a stream, whose first packet names its sender. */
  #receive(call: ServerDuplexStream<Buffer, Buffer>): void {
    let peer: InboundPeer | null = null;
    const end = () => {
      if (peer) peer.ended(call);
      else call.end();
    };
    call.on('data', (payload: Buffer) => {
      if (peer) peer.received(call, payload);
      else {
        const [token, ...rest] = firstOf(this.#deps.codec, payload);
        peer = this.#known(token) ?? null;
        if (!peer?.begin(call, rest)) call.end();
      }
    });
    call.on('end', end);
    call.on('cancelled', end);
    call.on('error', end);
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
