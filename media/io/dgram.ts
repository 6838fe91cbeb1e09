import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { createTransportCipher, type TransportCipher } from '../crypto/transport.ts';
import type { Endpoint } from '../sfu/ports.ts';
import { type DatagramOutput, PacketSealer } from '../sfu/sealing.ts';
import type { LanePlan } from './orders.ts';
import type { DatagramListener, MediaSocket, UdpSender } from './udp.ts';

/** Slots of the ring of outgoing packets: enough that sends deferred by the system end before their slot is used again. */
const SLOTS = 4096;
/** Sends deferred by the system; while more are pending, outgoing packets are dropped. */
const WAITING_MAX = 1024;
/** Requested size of the socket's buffers; the system may allow less. */
const SOCKET_BUFFER_BYTES = 4 << 20;

type Resolve = (
  address: string,
  _: unknown,
  done: (error: null, address: string, family: number) => void,
) => void;

/** Resolves a numeric address to itself; the system's resolver would defer every single send. */
const numeric =
  (family: number): Resolve =>
  (address, _, done) =>
    done(null, address, family);

/** The socket of node:dgram: each packet costs one callback or one `send`, which the system nearly always does at once. */
export class DgramSocket implements MediaSocket, DatagramOutput {
  readonly sender: UdpSender;
  readonly createCipher = createTransportCipher;
  readonly dropped = 0;
  readonly #socket: Socket;
  readonly #sealer = new PacketSealer(this, SLOTS);
  /** Cached view of the packet being sent, in the ring. */
  #leaving: Buffer = Buffer.alloc(0);
  #leavingAt = -1;
  #failed = 0;

  /** Rejects when the port cannot be bound. */
  static async open(plan: LanePlan, listener: DatagramListener, reason: string): Promise<DgramSocket> {
    const family = isIPv6(plan.host) ? 6 : 4;
    const socket = createSocket({ type: `udp${family}`, lookup: numeric(family) });
    // `once` rejects with what the socket emits as an error.
    const listening = once(socket, 'listening');
    socket.bind({ port: plan.port, address: plan.host, exclusive: true });
    await listening;
    return new DgramSocket(socket, listener, reason);
  }

  private constructor(socket: Socket, listener: DatagramListener, reason: string) {
    this.#socket = socket;
    this.sender = { kind: 'dgram', reason };
    growBuffers(socket);
    socket.on('message', (bytes, from) => {
      listener.datagram(bytes, bytes.length, from);
      listener.settled();
    });
    // A failed send reports to its own callback. An error here belongs to no packet, and the lane continues.
    socket.on('error', () => {
      this.#failed += 1;
    });
  }

  get port(): number {
    return this.#socket.address().port;
  }

  get isOverloaded(): boolean {
    return this.#socket.getSendQueueCount() > WAITING_MAX;
  }

  get failed(): number {
    return this.#failed;
  }

  setBody(body: Buffer): void {
    this.#sealer.setBody(body);
  }

  sendUdp(to: Endpoint, cipher: TransportCipher | null, header: Buffer, nonce: number): number {
    return this.#sealer.sendUdp(to, cipher, header, nonce);
  }

  send(to: Endpoint, bytes: Buffer, offset: number, length: number): void {
    // The packets to further receivers of one frame have the same place and length: reuse the view.
    if (offset !== this.#leavingAt || length !== this.#leaving.length) {
      this.#leaving = bytes.subarray(offset, offset + length);
      this.#leavingAt = offset;
    }
    this.#socket.send(this.#leaving, to.port, to.address, this.#sent);
  }

  isTaken(): boolean {
    return this.#socket.getSendQueueCount() === 0;
  }

  readonly #sent = (error: Error | null): void => {
    if (error) this.#failed += 1;
  };

  flush(): void {}

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }
}

function growBuffers(socket: Socket): void {
  try {
    socket.setRecvBufferSize(SOCKET_BUFFER_BYTES);
    socket.setSendBufferSize(SOCKET_BUFFER_BYTES);
  } catch {
    // Keep the system's own sizes; they hold shorter bursts.
  }
}
