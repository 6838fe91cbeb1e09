import type { Socket } from 'node:net';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Codec } from './codec.ts';
import { packHandshakeAnswer } from './handshake.ts';
import { LINK_SERVICE } from './packets.ts';

/** Most untrusted connections at a time; further ones are closed. */
const SOCKETS_MAX = 32;
/** How long a connection is kept: long enough for a handshake and its answer. */
const STAY_MS = 5000;
const OPTIONS = {
  'grpc.max_receive_message_length': 4096,
  'grpc.max_concurrent_streams': 1,
  'grpc.enable_channelz': 0,
} as const;

/**
 * Answers shards whose certificate is not trusted with that reason. TLS alone does not tell them, because their handshake is
 * complete before the certificate is checked. Nothing they send is read.
 */
export class PreAuthSockets {
  readonly #server = new Server(OPTIONS);
  readonly #inject: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();

  readonly #clock: Pick<Clock, 'setTimer'>;

  constructor(codec: Codec, clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
    const message = 'The certificate is not trusted.';
    const answer = packHandshakeAnswer(codec, { ok: false, why: 'certificate', message });
    const Hello = (_: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void =>
      done(null, answer);
    this.#server.addService({ Hello: LINK_SERVICE.Hello }, { Hello });
    const injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
    this.#inject = (socket) => injector.injectConnection(socket);
  }

  receive(socket: Socket): void {
    if (this.#sockets.size >= SOCKETS_MAX || socket.destroyed) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const stay = this.#clock.setTimer(() => socket.destroy(), STAY_MS);
    socket.once('close', () => {
      stay.cancel();
      this.#sockets.delete(socket);
    });
    socket.on('error', () => undefined);
    this.#inject(socket);
  }

  close(): void {
    this.#server.forceShutdown();
    for (const socket of this.#sockets) socket.destroy();
  }
}
