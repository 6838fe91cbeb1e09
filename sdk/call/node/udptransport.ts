import { createSocket, type Socket } from 'node:dgram';
import { isIP } from 'node:net';
import {
  type AudioPacket,
  readAudio,
  readDiscovery,
  TransportCipher,
  writeAudio,
  writeDiscovery,
} from './rtp.ts';

/** UDP endpoint and SSRC from READY. */
interface MediaAddress {
  readonly ip: string;
  readonly port: number;
  readonly ssrc: number;
}

interface UdpTransportEvents {
  /** The server answered the IP discovery. */
  discovered(seen: { readonly address: string; readonly port: number }): void;
  audio(packet: AudioPacket): void;
  failed(sentence: string): void;
}

const DISCOVERY_RETRY_MS = 250;
const DISCOVERY_TRIES = 20;
/** Keepalive interval, milliseconds: NAT mappings expire after about 30 seconds without traffic. */
const KEEPALIVE_MS = 5_000;
const KEEPALIVE_BYTES = 8;
const RECEIVE_BUFFER_BYTES = 1 << 20;

/** UDP media transport to a voice server: IP discovery, encryption and decryption. */
export class UdpTransport {
  readonly #socket: Socket;
  readonly #ssrc: number;
  readonly #events: UdpTransportEvents;
  #cipher: TransportCipher | null = null;
  #asking: NodeJS.Timeout | undefined;
  #keeping: NodeJS.Timeout | undefined;
  #beats = 0;
  #seq = Math.floor(Math.random() * 0x10000);
  #isClosed = false;

  constructor({ ip, port, ssrc }: MediaAddress, events: UdpTransportEvents) {
    this.#ssrc = ssrc;
    this.#events = events;
    this.#socket = createSocket(isIP(ip) === 6 ? 'udp6' : 'udp4');
    this.#socket.on('error', (error) => this.#fail(`The socket for sound failed: ${error.message}`));
    this.#socket.on('message', (packet) => this.#received(packet));
    this.#socket.connect(port, ip, () => {
      if (!this.#isClosed) this.#connected();
    });
  }

  /** Takes the key of op 4. @throws RangeError when it is no key. */
  use(key: Uint8Array): void {
    this.#cipher = new TransportCipher(key);
  }

  send(payload: Uint8Array, timestamp: number): void {
    if (this.#cipher === null || this.#isClosed) return;
    const seq = this.#seq;
    this.#seq = (seq + 1) & 0xffff;
    this.#send(writeAudio(this.#cipher, { seq, timestamp, ssrc: this.#ssrc, payload }));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#asking);
    clearInterval(this.#keeping);
    this.#socket.close();
  }

  #connected(): void {
    this.#socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
    const ask = (): void => this.#send(writeDiscovery(this.#ssrc));
    let tries = 1;
    ask();
    this.#asking = setInterval(() => {
      tries += 1;
      if (tries <= DISCOVERY_TRIES) ask();
      else this.#fail('The voice server does not answer over UDP.');
    }, DISCOVERY_RETRY_MS);
    this.#keeping = setInterval(() => {
      const beat = Buffer.alloc(KEEPALIVE_BYTES);
      beat.writeUInt32LE(this.#beats++ >>> 0);
      this.#send(beat);
    }, KEEPALIVE_MS);
  }

  #received(packet: Buffer): void {
    const audio = this.#cipher === null ? null : readAudio(this.#cipher, packet);
    if (audio !== null) {
      this.#events.audio(audio);
      return;
    }
    const seen = this.#asking === undefined ? null : readDiscovery(packet);
    if (seen === null) return;
    clearInterval(this.#asking);
    this.#asking = undefined;
    this.#events.discovered(seen);
  }

  /** A packet that cannot be sent counts as lost. */
  #send(packet: Buffer): void {
    if (!this.#isClosed) this.#socket.send(packet, () => {});
  }

  #fail(sentence: string): void {
    if (this.#isClosed) return;
    this.close();
    this.#events.failed(sentence);
  }
}
