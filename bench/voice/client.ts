import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import {
  createTransportCipher,
  TRANSPORT_OVERHEAD_BYTES,
  type TransportCipher,
} from '../../media/crypto/transport.ts';
import { OPUS_PAYLOAD_TYPE, type TransportMode } from '../../protocol/voice.ts';
import { readDiscovery, writeDiscovery } from '../../sdk/call/node/rtp.ts';

const HEADER_BYTES = 12;
const SAMPLES_PER_PACKET = 960;
const RECEIVE_BUFFER_BYTES = 4 << 20;

/** Encryption of a client's packets; `plain` is unencrypted RTP. */
export type Seal = TransportMode | 'plain';

/** A client of a call that the load drives. */
export interface VoiceClient {
  /** Called with the SSRC and sequence number of each media packet. */
  onPacket: (ssrc: number, sequence: number, bytes: number) => void;
  readonly ssrc: number;
  /** The sequence number of the next packet. */
  readonly sequence: number;
  /** Sends one packet of audio. */
  say(payload: Buffer): void;
  close(): void;
}

interface UdpPlan {
  readonly host: string;
  readonly port: number;
  readonly ssrc: number;
  readonly seal: Seal;
  /** 32 bytes; unused by `plain`. */
  readonly key: Buffer;
}

/**
 * One client's UDP socket. It encrypts what it sends; of received packets it reads only the clear header, because decryption
 * would dominate the measurement.
 */
export class UdpClient implements VoiceClient {
  /** Called with the SSRC and sequence number of each media packet. */
  onPacket: (ssrc: number, sequence: number, bytes: number) => void = () => {};
  /** Called with answers to `discover`. */
  onDiscovery: (address: string, port: number) => void = () => {};
  readonly ssrc: number;
  readonly #socket: Socket;
  readonly #plan: UdpPlan;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  /** Created with the first packet, because the key arrives after the socket is open. */
  #cipher: TransportCipher | null = null;
  #sequence = 0;
  #counter = 0;

  static async open(plan: UdpPlan): Promise<UdpClient> {
    const socket = createSocket('udp4');
    socket.bind(0, plan.host.startsWith('127.') ? '127.0.0.1' : undefined);
    await once(socket, 'listening');
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
    socket.connect(plan.port, plan.host);
    await once(socket, 'connect');
    return new UdpClient(socket, plan);
  }

  private constructor(socket: Socket, plan: UdpPlan) {
    this.#socket = socket;
    this.#plan = plan;
    this.ssrc = plan.ssrc;
    this.#header.writeUInt8(0x80, 0);
    this.#header.writeUInt8(OPUS_PAYLOAD_TYPE, 1);
    this.#header.writeUInt32BE(plan.ssrc, 8);
    socket.on('message', (packet) => this.#take(packet));
    socket.on('error', () => {});
  }

  /** The sequence number of the next packet. */
  get sequence(): number {
    return this.#sequence;
  }

  discover(): void {
    this.#socket.send(writeDiscovery(this.ssrc));
  }

  /** Sends one packet of audio. */
  say(payload: Buffer): void {
    this.#header.writeUInt16BE(this.#sequence, 2);
    this.#header.writeUInt32BE(Math.imul(this.#sequence, SAMPLES_PER_PACKET) >>> 0, 4);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#socket.send(this.#sealed(payload));
  }

  #sealed(payload: Buffer): Buffer {
    const { seal, key } = this.#plan;
    if (seal === 'plain') return Buffer.concat([this.#header, payload]);
    this.#cipher ??= createTransportCipher(seal, key);
    const packet = Buffer.alloc(HEADER_BYTES + payload.length + TRANSPORT_OVERHEAD_BYTES);
    this.#cipher.seal(packet, 0, this.#header, payload, this.#counter);
    this.#counter += 1;
    return packet;
  }

  #take(packet: Buffer): void {
    if (packet.length >= HEADER_BYTES && packet[0] === 0x80)
      this.onPacket(packet.readUInt32BE(8), packet.readUInt16BE(2), packet.length);
    else {
      const seen = readDiscovery(packet);
      if (seen !== null) this.onDiscovery(seen.address, seen.port);
    }
  }

  close(): void {
    this.#socket.close();
  }
}
