import { SERVER_NONCES, SERVER_NONCES_USABLE, serverNonce } from '../crypto/nonces.ts';
import { RTP_HEADER_BYTES } from '../rtp/packet.ts';
import { RTCP_HEADER_BYTES } from '../rtp/rtcp.ts';
import type { Endpoint, ForwarderOutput } from './ports.ts';
import { SLOT_BYTES } from './ring.ts';
import type { Member } from './room.ts';

const NOTHING = Buffer.alloc(0);

/**
 * Sends all outgoing packets: `setBody` once, then one header for each receiver. A packet is not sent when the member's key has
 * no unused nonce left.
 */
export class PacketSender {
  readonly #output: ForwarderOutput;
  /** The header of the next RTP packet is written here; the headers for different receivers differ in a field or two. */
  readonly rtpHeader = Buffer.alloc(RTP_HEADER_BYTES);
  /** RTCP packets and answers are composed here. */
  readonly scratch = Buffer.alloc(SLOT_BYTES);
  readonly #rtcpHeader = this.scratch.subarray(0, RTCP_HEADER_BYTES);
  /** A browser's packet is composed here. */
  readonly #forPeer = Buffer.alloc(SLOT_BYTES);
  #body: Buffer = NOTHING;
  packets = 0;
  bytes = 0;

  constructor(output: ForwarderOutput) {
    this.#output = output;
  }

  /** Sets what follows the header of the next packets. A body that is changed must be set again. */
  setBody(body: Buffer): void {
    this.#body = body;
    this.#output.setBody(body);
  }

  /** Sends `rtpHeader` in its present state, followed by the body. */
  sendRtp(to: Member): void {
    this.#send(to, this.rtpHeader);
  }

  /** Sends the RTCP packet in the first `length` bytes of `scratch`, also between the RTP packets of one body. */
  sendRtcp(to: Member, length: number): void {
    const body = this.#body;
    this.setBody(this.scratch.subarray(RTCP_HEADER_BYTES, length));
    this.#send(to, this.#rtcpHeader);
    this.setBody(body);
  }

  #send(to: Member, header: Buffer): void {
    const { link } = to;
    if (link === null) return;
    let length = header.length + this.#body.length;
    if (link === 'peer') {
      this.#forPeer.set(header, 0);
      this.#forPeer.set(this.#body, header.length);
      this.#output.sendPeer(to.ssrc, this.#forPeer, 0, length);
    } else {
      if (link.address === null || link.sent >= SERVER_NONCES) return;
      length = this.#output.sendUdp(link.address, link.cipher, header, serverNonce(link.sent));
      link.sent += 1;
      if (link.sent >= SERVER_NONCES_USABLE && !link.isReported) {
        link.isReported = true;
        this.#output.event(to.room.callId, { type: 'exhausted', ssrc: to.ssrc });
      }
    }
    to.packetsOut += 1;
    to.bytesOut += length;
    this.packets += 1;
    this.bytes += length;
  }

  /** Sends the first `length` bytes of `scratch` in answer to a datagram from an unauthenticated address. */
  answer(to: Endpoint, length: number): void {
    this.setBody(this.scratch.subarray(0, length));
    this.#output.sendUdp(to, null, NOTHING, 0);
  }
}
