import { createCipheriv, createDecipheriv } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { OPUS_PAYLOAD_TYPE, type TransportMode } from '../../protocol/voice.ts';
import { readDiscovery, writeDiscovery } from '../../sdk/call/node/rtp.ts';

/** As the package has them; it brings no types. Both write into the first argument and throw on failure. */
interface Sodium {
  crypto_aead_xchacha20poly1305_ietf_encrypt(
    sealed: Buffer,
    plain: Buffer,
    clear: Buffer,
    secret: null,
    nonce: Buffer,
    key: Buffer,
  ): number;
  crypto_aead_xchacha20poly1305_ietf_decrypt(
    plain: Buffer,
    secret: null,
    sealed: Buffer,
    clear: Buffer,
    nonce: Buffer,
    key: Buffer,
  ): number;
}
const sodium = createRequire(import.meta.url)('sodium-native') as Sodium;

const TAG_BYTES = 16;
const COUNTER_BYTES = 4;
const AES_NONCE_BYTES = 12;
const XCHACHA_NONCE_BYTES = 24;
const TIMEOUT_MS = 5_000;

/** One side's transport encryption, written apart from the server's so that each checks the other. */
export class TransportCipher {
  readonly #aes: boolean;
  readonly #key: Buffer;
  #counter = 0;

  constructor(mode: TransportMode, key: Uint8Array) {
    this.#aes = mode === 'aead_aes256_gcm_rtpsize';
    this.#key = Buffer.from(key);
  }

  /** `clear`, then `plain` encrypted, tag and nonce counter. */
  seal(clear: Uint8Array, plain: Uint8Array): Buffer {
    this.#counter += 1;
    const suffix = Buffer.alloc(COUNTER_BYTES);
    suffix.writeUInt32BE(this.#counter);
    return Buffer.concat([clear, this.#encrypt(Buffer.from(clear), Buffer.from(plain), suffix), suffix]);
  }

  /** The plain part behind the first `clearBytes`; null when it does not authenticate. */
  open(packet: Uint8Array, clearBytes: number): Buffer | null {
    const end = packet.length - COUNTER_BYTES;
    if (end - clearBytes < TAG_BYTES) return null;
    const bytes = Buffer.from(packet);
    const [clear, sealed] = [bytes.subarray(0, clearBytes), bytes.subarray(clearBytes, end)];
    try {
      return this.#decrypt(clear, sealed, bytes.subarray(end));
    } catch {
      return null;
    }
  }

  #nonce(suffix: Buffer): Buffer {
    const nonce = Buffer.alloc(this.#aes ? AES_NONCE_BYTES : XCHACHA_NONCE_BYTES);
    suffix.copy(nonce);
    return nonce;
  }

  #encrypt(clear: Buffer, plain: Buffer, suffix: Buffer): Buffer {
    const nonce = this.#nonce(suffix);
    if (this.#aes) {
      const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(clear);
      return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    }
    const sealed = Buffer.alloc(plain.length + TAG_BYTES);
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(sealed, plain, clear, null, nonce, this.#key);
    return sealed;
  }

  #decrypt(clear: Buffer, sealed: Buffer, suffix: Buffer): Buffer {
    const nonce = this.#nonce(suffix);
    if (this.#aes) {
      const tagAt = sealed.length - TAG_BYTES;
      const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce)
        .setAAD(clear)
        .setAuthTag(sealed.subarray(tagAt));
      return Buffer.concat([decipher.update(sealed.subarray(0, tagAt)), decipher.final()]);
    }
    const plain = Buffer.alloc(sealed.length - TAG_BYTES);
    sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(plain, null, sealed, clear, nonce, this.#key);
    return plain;
  }
}

export interface RtpHeader {
  readonly payloadType: number;
  readonly marker?: boolean;
  readonly seq: number;
  readonly timestamp: number;
  readonly ssrc: number;
}

export interface RtpPacket extends Required<RtpHeader> {
  readonly payload: Buffer;
}

export function rtpHeader({ payloadType, marker = false, seq, timestamp, ssrc }: RtpHeader): Buffer {
  const header = Buffer.alloc(12);
  header[0] = 0x80;
  header[1] = (marker ? 0x80 : 0) | payloadType;
  header.writeUInt16BE(seq & 0xffff, 2);
  header.writeUInt32BE(timestamp >>> 0, 4);
  header.writeUInt32BE(ssrc, 8);
  return header;
}

/** Reads a packet whose header is clear and whose rest is encrypted; null when it does not authenticate. */
export function openRtp(cipher: TransportCipher, packet: Buffer): RtpPacket | null {
  if (packet.length < 12) return null;
  const [first, second] = [packet[0]!, packet[1]!];
  const hasExtension = (first & 0x10) !== 0;
  const fixedBytes = 12 + 4 * (first & 0x0f);
  const plain = cipher.open(packet, fixedBytes + (hasExtension ? 4 : 0));
  if (!plain) return null;
  const extensionBytes = hasExtension ? 4 * packet.readUInt16BE(fixedBytes + 2) : 0;
  const paddingBytes = (first & 0x20) !== 0 ? plain.at(-1)! : 0;
  return {
    payloadType: second & 0x7f,
    marker: (second & 0x80) !== 0,
    seq: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: plain.subarray(extensionBytes, plain.length - paddingBytes),
  };
}

/** Where READY says that media goes. */
export interface MediaAddress {
  readonly ip: string;
  readonly port: number;
  readonly ssrc: number;
}

/** The UDP side of a voice client. It keeps everything that came. */
export class VoiceUdp {
  /** Packets that authenticated, in order. */
  readonly rtp: RtpPacket[] = [];
  /** Datagrams of RTCP, decrypted behind their eight clear bytes. */
  readonly rtcp: { readonly clear: Buffer; readonly body: Buffer }[] = [];
  /** Datagrams that are neither of both, or failed to authenticate. */
  readonly others: Buffer[] = [];
  readonly socket: Socket;
  readonly #to: MediaAddress;
  #cipher: TransportCipher | null = null;
  #seq = 1000;
  #timestamp = 50_000;
  readonly #waiting = new Set<() => void>();

  private constructor(socket: Socket, to: MediaAddress) {
    this.socket = socket;
    this.#to = to;
    socket.on('message', (packet) => this.#take(packet));
  }

  static async open(to: MediaAddress): Promise<VoiceUdp> {
    const socket = createSocket(to.ip.includes(':') ? 'udp6' : 'udp4');
    socket.bind(0, to.ip.includes(':') ? '::1' : '127.0.0.1');
    await once(socket, 'listening');
    return new VoiceUdp(socket, to);
  }

  /** IP discovery: where the server sees this socket. Asked again each second, as packets may be lost. */
  async discover(): Promise<{ address: string; port: number }> {
    const ask = () => this.sendRaw(writeDiscovery(this.#to.ssrc));
    ask();
    const asking = setInterval(ask, 1000);
    try {
      return await this.#until(
        () => this.others.flatMap((packet) => readDiscovery(packet) ?? [])[0],
        'a reply to IP discovery',
      );
    } finally {
      clearInterval(asking);
    }
  }

  /** Takes the mode and key of op 4. */
  use(mode: TransportMode, key: Uint8Array): void {
    this.#cipher = new TransportCipher(mode, key);
  }

  /** Sends one frame of 20 ms; `header` changes what is written otherwise. Returns the packet. */
  sendOpus(payload: Uint8Array, header: Partial<RtpHeader> = {}): Buffer {
    const { ssrc } = this.#to;
    const whole = {
      payloadType: OPUS_PAYLOAD_TYPE,
      seq: this.#seq,
      timestamp: this.#timestamp,
      ssrc,
      ...header,
    };
    this.#seq = (whole.seq + 1) & 0xffff;
    this.#timestamp = (whole.timestamp + 960) >>> 0;
    return this.sendRtp(whole, payload);
  }

  /** Sends any packet. Returns it as it went out. */
  sendRtp(header: RtpHeader, payload: Uint8Array): Buffer {
    if (!this.#cipher) throw new Error('There is no key yet.');
    const packet = this.#cipher.seal(rtpHeader(header), payload);
    this.sendRaw(packet);
    return packet;
  }

  /** Sends RTCP: the first eight bytes clear, the rest encrypted. */
  sendRtcp(packet: Uint8Array): void {
    if (!this.#cipher) throw new Error('There is no key yet.');
    this.sendRaw(this.#cipher.seal(packet.subarray(0, 8), packet.subarray(8)));
  }

  sendRaw(bytes: Uint8Array): void {
    this.socket.send(bytes, this.#to.port, this.#to.ip);
  }

  /** The first packet that matches, here already or yet to come. */
  nextRtp(matches: (packet: RtpPacket) => boolean = () => true, patienceMs = TIMEOUT_MS): Promise<RtpPacket> {
    return this.#until(() => this.rtp.find(matches), 'an RTP packet', patienceMs);
  }

  /** Resolves when at least so many packets have come. */
  async rtpCount(count: number, patienceMs = TIMEOUT_MS): Promise<void> {
    await this.#until(() => (this.rtp.length >= count ? true : undefined), `${count} packets`, patienceMs);
  }

  close(): void {
    this.socket.close();
  }

  #take(packet: Buffer): void {
    const kind = packet[1] ?? 0;
    const isMedia = packet.length >= 12 && packet[0]! >> 6 === 2;
    if (this.#cipher && isMedia && kind >= 200 && kind <= 206) {
      const body = this.#cipher.open(packet, 8);
      if (body) this.rtcp.push({ clear: packet.subarray(0, 8), body });
      else this.others.push(packet);
    } else {
      const rtp = this.#cipher && isMedia ? openRtp(this.#cipher, packet) : null;
      if (rtp) this.rtp.push(rtp);
      else this.others.push(packet);
    }
    for (const check of [...this.#waiting]) check();
  }

  #until<T>(find: () => T | undefined, wanted: string, patienceMs = TIMEOUT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
      };
      const check = () => {
        const found = find();
        if (found === undefined) return;
        stop();
        resolve(found);
      };
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`${wanted} did not come; ${this.rtp.length} RTP, ${this.others.length} others did`));
      }, patienceMs);
      this.#waiting.add(check);
      check();
    });
  }
}
