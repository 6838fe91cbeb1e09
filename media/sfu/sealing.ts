import type { TransportCipher } from '../crypto/transport.ts';
import type { Endpoint, UdpOutput } from './ports.ts';
import { PacketRing } from './ring.ts';

/** Sends single encrypted packets, as node:dgram does. */
export interface DatagramOutput {
  /**
   * Sends `length` bytes from `offset` of `bytes`. The bytes lie in a ring and stay unchanged until as many further packets
   * were sent as the ring has slots, so a send that the system defers must end before that.
   */
  send(to: Endpoint, bytes: Buffer, offset: number, length: number): void;
  /**
   * Whether the system has taken the bytes of everything sent so far, so that the slot may be reused for the next packet.
   * Without this method no slot is reused early.
   */
  isTaken?(): boolean;
}

const NOTHING = Buffer.alloc(0);

/** Encrypts each packet into a slot of a ring, and sends it from there. */
export class PacketSealer implements UdpOutput {
  readonly #output: DatagramOutput;
  readonly #ring: PacketRing;
  #body: Buffer = NOTHING;

  /** @param slots packets that may be pending at once */
  constructor(output: DatagramOutput, slots: number) {
    this.#output = output;
    this.#ring = new PacketRing(slots);
  }

  setBody(body: Buffer): void {
    this.#body = body;
  }

  sendUdp(to: Endpoint, cipher: TransportCipher | null, header: Buffer, nonce: number): number {
    const slots = this.#ring.bytes;
    const at = this.#ring.take();
    const body = this.#body;
    let length = header.length + body.length;
    if (cipher) length = cipher.seal(slots, at, header, body, nonce);
    else {
      slots.set(header, at);
      slots.set(body, at + header.length);
    }
    this.#output.send(to, slots, at, length);
    // Reusing the slot lets the next packet reuse the view of it.
    if (this.#output.isTaken?.()) this.#ring.giveBack(at);
    return length;
  }
}
