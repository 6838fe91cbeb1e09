import type { TransportCipher } from '../crypto/transport.ts';
import type { CreateCipher, Endpoint } from '../sfu/ports.ts';
import type { MediaAddon } from './addon.ts';
import { NativeCipher, nativeCiphers } from './nativecipher.ts';
import type { LanePlan } from './orders.ts';
import type { DatagramListener, MediaSocket, UdpSender } from './udp.ts';

/** media/io/native/addon.h has the same numbers. */
const RECEIVE_SLOTS = 64;
const RECEIVE_SLOT_BYTES = 2112;
const RECEIVE_WORDS = 8;
const SEND_SLOTS = 256;
const SEND_WORDS = 16;
const PACKET_BYTES_MAX = 2048;
const OVERHEAD_BYTES = 20;
const ADDRESS_WORDS = 7;
const FAILED = 0;
const DROPPED = 1;
const COUNTERS = 4;

/** Headers and bodies of a batch. A fan-out has one body, so a batch of audio takes about a tenth of it. */
const OUT_BYTES = 64 << 10;
/** Addresses that are remembered; one more, and all are forgotten. */
const SOURCES_MAX = 1 << 14;

/** An address with the words that the addon takes. */
class UdpAddress implements Endpoint {
  readonly address: string;
  readonly port: number;
  readonly key: string;
  readonly words: Uint32Array;

  constructor(address: string, words: Uint32Array) {
    this.address = address;
    this.port = words[1] ?? 0;
    this.key = `${address} ${this.port}`;
    this.words = words;
  }
}

const dotted = (four: number): string =>
  `${four >>> 24}.${(four >>> 16) & 255}.${(four >>> 8) & 255}.${four & 255}`;

/**
 * The addon's socket: one callback for all datagrams that wait, and one call that encrypts and sends all packets of a batch.
 * No object is created for a packet.
 */
export class BatchedSocket implements MediaSocket {
  readonly sender: UdpSender = { kind: 'native', reason: null };
  readonly createCipher: CreateCipher;
  readonly isOverloaded = false;
  readonly #addon: MediaAddon;
  readonly #socket: object;
  readonly #listener: DatagramListener;
  readonly #slots: readonly Buffer[];
  readonly #receivedWords = new Uint32Array(RECEIVE_SLOTS * RECEIVE_WORDS);
  readonly #sources = new Map<number | string, UdpAddress>();
  readonly #out = Buffer.alloc(OUT_BYTES);
  readonly #records = new Uint32Array(SEND_SLOTS * SEND_WORDS);
  /** Keeps the ciphers of a batch reachable until it is sent. */
  readonly #ciphers: (NativeCipher | null)[] = Array.from({ length: SEND_SLOTS }, () => null);
  readonly #counters = new Uint32Array(COUNTERS);
  #count = 0;
  #used = 0;
  #body: Buffer = Buffer.alloc(0);
  /** Where the body is in `#out`; -1 before its first packet. */
  #bodyAt = -1;
  #unsendable = 0;

  /** @throws when the port cannot be bound. */
  constructor(addon: MediaAddon, plan: LanePlan, listener: DatagramListener) {
    this.#addon = addon;
    this.#listener = listener;
    this.createCipher = nativeCiphers(addon);
    const received = Buffer.alloc(RECEIVE_SLOTS * RECEIVE_SLOT_BYTES);
    this.#slots = Array.from({ length: RECEIVE_SLOTS }, (_, slot) =>
      received.subarray(slot * RECEIVE_SLOT_BYTES, (slot + 1) * RECEIVE_SLOT_BYTES),
    );
    this.#socket = addon.bind(
      plan.host,
      plan.port,
      received,
      this.#receivedWords,
      this.#out,
      this.#records,
      this.#counters,
      (count) => this.#received(count),
    );
  }

  get port(): number {
    return this.#addon.port(this.#socket);
  }

  get failed(): number {
    return (this.#counters[FAILED] ?? 0) + this.#unsendable;
  }

  get dropped(): number {
    return this.#counters[DROPPED] ?? 0;
  }

  #received(count: number): void {
    for (let slot = 0; slot < count; slot += 1) {
      const length = this.#receivedWords[slot * RECEIVE_WORDS] as number;
      this.#listener.datagram(this.#slots[slot] as Buffer, length, this.#source(slot));
    }
    this.#listener.settled();
  }

  /** The address that the datagram in a slot came from; the same object each time while it is remembered. */
  #source(slot: number): UdpAddress {
    const words = this.#receivedWords;
    const at = slot * RECEIVE_WORDS + 1;
    const isFour = words[at] === 4;
    const port = words[at + 1] as number;
    const four = words[at + 2] as number;
    const id = isFour ? four * 65536 + port : words.subarray(at, at + ADDRESS_WORDS).join(' ');
    const known = this.#sources.get(id);
    if (known) return known;
    const text = isFour ? dotted(four) : this.#addon.source(this.#socket, slot);
    const source = new UdpAddress(text, words.slice(at, at + ADDRESS_WORDS));
    this.#remember(id, source);
    return source;
  }

  #remember(id: number | string, address: UdpAddress): void {
    if (this.#sources.size >= SOURCES_MAX) this.#sources.clear();
    this.#sources.set(id, address);
  }

  /** The words of an address that did not come from this socket; null if it is not numeric. */
  #resolved(to: Endpoint): UdpAddress | null {
    const id = `${to.address} ${to.port}`;
    const known = this.#sources.get(id);
    if (known) return known;
    const words = new Uint32Array(ADDRESS_WORDS);
    if (!this.#addon.resolve(to.address, to.port, words)) return null;
    const address = new UdpAddress(to.address, words);
    this.#remember(id, address);
    return address;
  }

  setBody(body: Buffer): void {
    this.#body = body;
    this.#bodyAt = -1;
  }

  sendUdp(to: Endpoint, cipher: TransportCipher | null, header: Buffer, nonce: number): number {
    const body = this.#body;
    const length = header.length + body.length + (cipher ? OVERHEAD_BYTES : 0);
    const address = to instanceof UdpAddress ? to : this.#resolved(to);
    if (address === null || length > PACKET_BYTES_MAX) {
      this.#unsendable += 1;
      return length;
    }
    // Room for all that one packet may add.
    if (this.#count === SEND_SLOTS || this.#used + 2 * PACKET_BYTES_MAX > OUT_BYTES) this.flush();
    if (cipher === null || cipher instanceof NativeCipher) this.#record(address, cipher, header, nonce);
    else this.#recordSealed(address, cipher, header, nonce);
    return length;
  }

  #record(to: UdpAddress, cipher: NativeCipher | null, header: Buffer, nonce: number): void {
    if (this.#bodyAt < 0) {
      this.#bodyAt = this.#used;
      this.#out.set(this.#body, this.#used);
      this.#used += this.#body.length;
    }
    const headerAt = this.#used;
    const out = this.#out;
    for (let index = 0; index < header.length; index += 1) out[headerAt + index] = header[index] as number;
    this.#used = headerAt + header.length;
    this.#add(to, headerAt, header.length, this.#bodyAt, this.#body.length, cipher, nonce);
  }

  /** A packet of a cipher that the addon does not have. */
  #recordSealed(to: UdpAddress, cipher: TransportCipher, header: Buffer, nonce: number): void {
    const at = this.#used;
    const length = cipher.seal(this.#out, at, header, this.#body, nonce);
    this.#used = at + length;
    this.#add(to, at, length, at, 0, null, 0);
  }

  #add(
    { words }: UdpAddress,
    headerAt: number,
    headerBytes: number,
    bodyAt: number,
    bodyBytes: number,
    cipher: NativeCipher | null,
    nonce: number,
  ): void {
    const records = this.#records;
    const at = this.#count * SEND_WORDS;
    records[at] = headerAt;
    records[at + 1] = headerBytes;
    records[at + 2] = bodyAt;
    records[at + 3] = bodyBytes;
    records[at + 4] = cipher === null ? 0 : cipher.number + 1;
    records[at + 5] = nonce;
    for (let index = 0; index < ADDRESS_WORDS; index += 1) records[at + 6 + index] = words[index] as number;
    this.#ciphers[this.#count] = cipher;
    this.#count += 1;
  }

  flush(): void {
    if (this.#count === 0) return;
    this.#addon.send(this.#socket, this.#count);
    this.#ciphers.fill(null, 0, this.#count);
    this.#count = 0;
    this.#used = 0;
    this.#bodyAt = -1;
  }

  close(): Promise<void> {
    this.flush();
    return new Promise((resolve) => this.#addon.close(this.#socket, resolve));
  }
}
