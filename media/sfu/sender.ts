import { SERVER_NONCES, SERVER_NONCES_USABLE, serverNonce } from '../crypto/nonces.ts';
import { RTP_HEADER_BYTES } from '../rtp/packet.ts';
import { RTCP_HEADER_BYTES } from '../rtp/rtcp.ts';
import type { Endpoint, ForwarderOutput } from './ports.ts';
import { PacketRing, SLOT_BYTES } from './ring.ts';
import type { Member } from './room.ts';

/**
 * Sends all outgoing packets: one copy or encryption into a slot of the ring, and one send. A packet is not sent when the
 * member's key has no unused nonce left.
 */
export class PacketSender {
  readonly #output: ForwarderOutput;
  readonly #ring: PacketRing;
  /** The header of the next RTP packet is written here; the headers for different receivers differ in a field or two. */
  readonly rtpHeader = Buffer.alloc(RTP_HEADER_BYTES);
  /** RTCP packets and answers are composed here. */
  readonly scratch = Buffer.alloc(SLOT_BYTES);
  readonly #rtcpHeader = this.scratch.subarray(0, RTCP_HEADER_BYTES);
  packets = 0;
  bytes = 0;

  constructor(output: ForwarderOutput, slots: number) {
    this.#output = output;
    this.#ring = new PacketRing(slots);
  }

  /** Sends `rtpHeader` in its present state, followed by `body`. */
  sendRtp(to: Member, body: Buffer): void {
    this.#send(to, this.rtpHeader, body);
  }

  /** Sends the RTCP packet in the first `length` bytes of `scratch`. */
  sendRtcp(to: Member, length: number): void {
    this.#send(to, this.#rtcpHeader, this.scratch.subarray(RTCP_HEADER_BYTES, length));
  }

  #send(to: Member, header: Buffer, body: Buffer): void {
    const { link } = to;
    if (link === null) return;
    const slots = this.#ring.bytes;
    if (link !== 'peer' && (link.address === null || link.sent >= SERVER_NONCES)) return;
    const at = this.#ring.take();
    let length = header.length + body.length;
    if (link === 'peer') {
      slots.set(header, at);
      slots.set(body, at + header.length);
      this.#output.sendPeer(to.ssrc, slots, at, length);
      this.#ring.giveBack(at);
    } else {
      length = link.cipher.seal(slots, at, header, body, serverNonce(link.sent));
      link.sent += 1;
      if (link.sent >= SERVER_NONCES_USABLE && !link.isReported) {
        link.isReported = true;
        this.#output.event(to.room.callId, { type: 'exhausted', ssrc: to.ssrc });
      }
      this.#output.send(link.address!, slots, at, length);
      // Reusing the slot lets the next packet reuse the view of it.
      if (this.#output.isTaken?.()) this.#ring.giveBack(at);
    }
    to.packetsOut += 1;
    to.bytesOut += length;
    this.packets += 1;
    this.bytes += length;
  }

  /** Sends the first `length` bytes of `scratch` in answer to a datagram from an unauthenticated address. */
  answer(to: Endpoint, length: number): void {
    const at = this.#ring.take();
    this.scratch.copy(this.#ring.bytes, at, 0, length);
    this.#output.send(to, this.#ring.bytes, at, length);
  }
}
