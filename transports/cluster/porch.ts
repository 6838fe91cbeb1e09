import type { Socket } from 'node:net';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Codec } from './codec.ts';
import { packHelloAnswer } from './hello.ts';
import { LINK_SERVICE } from './packets.ts';

/** Of whom nothing is known at once; more are hung up on. */
const SOCKETS_MAX = 32;
/** Long enough to say hello and to be answered. */
const STAY_MS = 5000;
const OPTIONS = {
  'grpc.max_receive_message_length': 4096,
  'grpc.max_concurrent_streams': 1,
  'grpc.enable_channelz': 0,
} as const;

/**
 * Where those wait whose certificate is not trusted, until they have been told so: TLS itself tells them nothing, as its
 * handshake is over for them before their certificate is looked at. Nothing of what they say is read.
 */
export class Porch {
  readonly #server = new Server(OPTIONS);
  readonly #inject: (socket: Socket) => void;
  readonly #sockets = new Set<Socket>();

  readonly #clock: Pick<Clock, 'setTimer'>;

  constructor(codec: Codec, clock: Pick<Clock, 'setTimer'>) {
    this.#clock = clock;
    const message = 'The certificate is not trusted.';
    const answer = packHelloAnswer(codec, { ok: false, why: 'certificate', message });
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
