import { SERVER_NONCES, SERVER_NONCES_USABLE, serverNonce } from '../crypto/nonces.ts';
import { RTCP_HEADER_BYTES } from '../rtp/rtcp.ts';
import type { Endpoint, ForwarderOutput } from './ports.ts';
import { PacketRing, SLOT_BYTES } from './ring.ts';
import type { Member } from './room.ts';

/**
 * Everything that leaves: one copy or encryption into a slot of the ring, and one send. A packet for which a member's key
 * has no nonce left is not sent.
 */
export class PacketSender {
  readonly #output: ForwarderOutput;
  readonly #ring: PacketRing;
  /** Where RTCP packets are composed. */
  readonly scratch = Buffer.alloc(SLOT_BYTES);
  packets = 0;
  bytes = 0;

  constructor(output: ForwarderOutput, slots: number) {
    this.#output = output;
    this.#ring = new PacketRing(slots);
  }

  /** A slot to write a header into: `at` of `slots`. */
  get slots(): Buffer {
    return this.#ring.bytes;
  }

  take(): number {
    return this.#ring.take();
  }

  /** Sends the header that lies in the slot at `at`, followed by `body`. */
  send(to: Member, at: number, headerBytes: number, body: Buffer): void {
    const { link } = to;
    const slots = this.#ring.bytes;
    if (link === null) return;
    let length = headerBytes + body.length;
    if (link === 'peer') {
      slots.set(body, at + headerBytes);
      this.#output.sendPeer(to.ssrc, slots, at, length);
    } else {
      if (link.address === null || link.sent >= SERVER_NONCES) return;
      length = link.cipher.seal(slots, at, headerBytes, body, serverNonce(link.sent));
      link.sent += 1;
      if (link.sent >= SERVER_NONCES_USABLE && !link.isReported) {
        link.isReported = true;
        this.#output.event(to.room.callId, { type: 'exhausted', ssrc: to.ssrc });
      }
      this.#output.send(link.address, slots, at, length);
    }
    to.packetsOut += 1;
    to.bytesOut += length;
    this.packets += 1;
    this.bytes += length;
  }

  /** Sends the RTCP packet in the first `length` bytes of `scratch`. */
  sendRtcp(to: Member, length: number): void {
    const at = this.#ring.take();
    this.scratch.copy(this.#ring.bytes, at, 0, RTCP_HEADER_BYTES);
    this.send(to, at, RTCP_HEADER_BYTES, this.scratch.subarray(RTCP_HEADER_BYTES, length));
  }

  /** Answers a datagram that belongs to nobody yet with the first `length` bytes of `scratch`. */
  answer(to: Endpoint, length: number): void {
    const at = this.#ring.take();
    this.scratch.copy(this.#ring.bytes, at, 0, length);
    this.#output.send(to, this.#ring.bytes, at, length);
  }
}
