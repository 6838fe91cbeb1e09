import { createCipheriv, createDecipheriv } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;
const TAG_BYTES = 16;
const SUFFIX_BYTES = 4;

/** A UDP client of a call, as the protocol describes it: `aead_aes256_gcm_rtpsize` over its own socket. */
export class UdpClient {
  readonly received: { readonly ssrc: number; readonly payload: Buffer }[] = [];
  readonly other: Buffer[] = [];
  readonly #socket: Socket;
  readonly #key: Uint8Array;
  readonly #ssrc: number;
  readonly #port: number;
  #nonce = 0;
  #sequence = 0;

  static async open(ssrc: number, key: Uint8Array, port: number): Promise<UdpClient> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    return new UdpClient(socket, ssrc, key, port);
  }

  private constructor(socket: Socket, ssrc: number, key: Uint8Array, port: number) {
    this.#socket = socket;
    this.#ssrc = ssrc;
    this.#key = key;
    this.#port = port;
    socket.on('message', (packet) => this.#take(packet));
  }

  get port(): number {
    return this.#socket.address().port;
  }

  discover(): void {
    const request = Buffer.alloc(74);
    request.writeUInt16BE(1, 0);
    request.writeUInt16BE(70, 2);
    request.writeUInt32BE(this.#ssrc, 4);
    this.raw(request);
  }

  raw(packet: Uint8Array): void {
    this.#socket.send(packet, this.#port, '127.0.0.1');
  }

  say(payload: Uint8Array): void {
    const header = Buffer.from([0x80, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    header.writeUInt16BE(this.#sequence, 2);
    header.writeUInt32BE(this.#sequence * 960, 4);
    header.writeUInt32BE(this.#ssrc, 8);
    this.#sequence += 1;
    const nonce = Buffer.alloc(12);
    nonce.writeUInt32BE(this.#nonce, 0);
    this.#nonce += 1;
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce);
    cipher.setAAD(header);
    const body = Buffer.concat([cipher.update(payload), cipher.final()]);
    this.raw(Buffer.concat([header, body, cipher.getAuthTag(), nonce.subarray(0, SUFFIX_BYTES)]));
  }

  #take(packet: Buffer): void {
    if (packet.length < HEADER_BYTES + TAG_BYTES + SUFFIX_BYTES || packet[0]! >> 6 !== 2) {
      this.other.push(packet);
      return;
    }
    const tagAt = packet.length - TAG_BYTES - SUFFIX_BYTES;
    const nonce = Buffer.alloc(12);
    packet.copy(nonce, 0, packet.length - SUFFIX_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce);
    decipher.setAAD(packet.subarray(0, HEADER_BYTES));
    decipher.setAuthTag(packet.subarray(tagAt, tagAt + TAG_BYTES));
    const payload = Buffer.concat([decipher.update(packet.subarray(HEADER_BYTES, tagAt)), decipher.final()]);
    this.received.push({ ssrc: packet.readUInt32BE(8), payload });
  }

  close(): void {
    this.#socket.close();
  }
}
