import { present } from '../../protocol/present.ts';
import { TRANSPORT_OVERHEAD_BYTES, type TransportCipher } from '../crypto/transport.ts';
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
const ADDRESS_WORDS = 7;
const FAILED = 0;
const DROPPED = 1;
const COUNTERS = 4;

/** Headers and bodies of a batch. A fan-out has one body, so a batch of audio takes about a tenth of it. */
const OUT_BYTES = 64 << 10;
/** Addresses that are remembered; one more, and all are forgotten. */
const ADDRESSES_MAX = 1 << 14;

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

/** Addresses of one socket, each one object while it is remembered. */
class UdpAddresses {
  readonly #addon: MediaAddon;
  readonly #known = new Map<number | string, UdpAddress>();

  constructor(addon: MediaAddon) {
    this.#addon = addon;
  }

  /** The address that the datagram in a slot of the socket came from. */
  source(socket: object, slot: number, words: Uint32Array): UdpAddress {
    const at = slot * RECEIVE_WORDS + 1;
    const isFour = words[at] === 4;
    const four = words[at + 2] ?? 0;
    const id = isFour
      ? four * 65536 + (words[at + 1] ?? 0)
      : words.subarray(at, at + ADDRESS_WORDS).join(' ');
    const known = this.#known.get(id);
    if (known) return known;
    const address = isFour ? dotted(four) : this.#addon.source(socket, slot);
    return this.#remember(id, new UdpAddress(address, words.slice(at, at + ADDRESS_WORDS)));
  }

  /** An address that did not come from the socket; null if it is not numeric. */
  resolved(to: Endpoint): UdpAddress | null {
    const id = `${to.address} ${to.port}`;
    const known = this.#known.get(id);
    if (known) return known;
    const words = new Uint32Array(ADDRESS_WORDS);
    if (!this.#addon.resolve(to.address, to.port, words)) return null;
    return this.#remember(id, new UdpAddress(to.address, words));
  }

  #remember(id: number | string, address: UdpAddress): UdpAddress {
    if (this.#known.size >= ADDRESSES_MAX) this.#known.clear();
    this.#known.set(id, address);
    return address;
  }
}

/** Packets to be encrypted and sent by one call of the addon: a record of words for each, and what the records point to. */
class SendBatch {
  readonly bytes = Buffer.alloc(OUT_BYTES);
  readonly records = new Uint32Array(SEND_SLOTS * SEND_WORDS);
  /** Keeps the ciphers of the batch reachable until it is sent. */
  readonly #ciphers: (NativeCipher | null)[] = Array.from({ length: SEND_SLOTS }, () => null);
  count = 0;
  #used = 0;
  #body: Buffer = Buffer.alloc(0);
  /** Where the body is in `bytes`; -1 before its first packet. */
  #bodyAt = -1;

  /** Whether there may be no room for another packet. */
  get isFull(): boolean {
    return this.count === SEND_SLOTS || this.#used + 2 * PACKET_BYTES_MAX > OUT_BYTES;
  }

  get bodyBytes(): number {
    return this.#body.length;
  }

  setBody(body: Buffer): void {
    this.#body = body;
    this.#bodyAt = -1;
  }

  add(to: UdpAddress, cipher: NativeCipher | null, header: Buffer, nonce: number): void {
    const { bytes } = this;
    if (this.#bodyAt < 0) {
      this.#bodyAt = this.#used;
      bytes.set(this.#body, this.#used);
      this.#used += this.#body.length;
    }
    const headerAt = this.#used;
    for (let index = 0; index < header.length; index += 1) bytes[headerAt + index] = header[index] ?? 0;
    this.#used = headerAt + header.length;
    this.#record(to, headerAt, header.length, this.#bodyAt, this.#body.length, cipher, nonce);
  }

  /** Adds a packet of a cipher that the addon does not have. */
  addSealed(to: UdpAddress, cipher: TransportCipher, header: Buffer, nonce: number): void {
    const at = this.#used;
    const length = cipher.seal(this.bytes, at, header, this.#body, nonce);
    this.#used = at + length;
    this.#record(to, at, length, at, 0, null, 0);
  }

  #record(
    { words }: UdpAddress,
    headerAt: number,
    headerBytes: number,
    bodyAt: number,
    bodyBytes: number,
    cipher: NativeCipher | null,
    nonce: number,
  ): void {
    const { records } = this;
    const at = this.count * SEND_WORDS;
    records[at] = headerAt;
    records[at + 1] = headerBytes;
    records[at + 2] = bodyAt;
    records[at + 3] = bodyBytes;
    records[at + 4] = cipher === null ? 0 : cipher.number + 1;
    records[at + 5] = nonce;
    for (let index = 0; index < ADDRESS_WORDS; index += 1) records[at + 6 + index] = words[index] ?? 0;
    this.#ciphers[this.count] = cipher;
    this.count += 1;
  }

  clear(): void {
    this.#ciphers.fill(null, 0, this.count);
    this.count = 0;
    this.#used = 0;
    this.#bodyAt = -1;
  }
}

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
  readonly #words = new Uint32Array(RECEIVE_SLOTS * RECEIVE_WORDS);
  readonly #addresses: UdpAddresses;
  readonly #batch = new SendBatch();
  readonly #counters = new Uint32Array(COUNTERS);
  #unsendable = 0;

  /** @throws when the port cannot be bound. */
  constructor(addon: MediaAddon, plan: LanePlan, listener: DatagramListener) {
    this.#addon = addon;
    this.#listener = listener;
    this.#addresses = new UdpAddresses(addon);
    this.createCipher = nativeCiphers(addon);
    const received = Buffer.alloc(RECEIVE_SLOTS * RECEIVE_SLOT_BYTES);
    this.#slots = Array.from({ length: RECEIVE_SLOTS }, (_, slot) =>
      received.subarray(slot * RECEIVE_SLOT_BYTES, (slot + 1) * RECEIVE_SLOT_BYTES),
    );
    const { bytes, records } = this.#batch;
    const { host, port } = plan;
    this.#socket = addon.bind(host, port, received, this.#words, bytes, records, this.#counters, (count) =>
      this.#received(count),
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
      const from = this.#addresses.source(this.#socket, slot, this.#words);
      this.#listener.datagram(present(this.#slots[slot]), this.#words[slot * RECEIVE_WORDS] ?? 0, from);
    }
    this.#listener.settled();
  }

  setBody(body: Buffer): void {
    this.#batch.setBody(body);
  }

  sendUdp(to: Endpoint, cipher: TransportCipher | null, header: Buffer, nonce: number): number {
    const batch = this.#batch;
    const length = header.length + batch.bodyBytes + (cipher ? TRANSPORT_OVERHEAD_BYTES : 0);
    const address = to instanceof UdpAddress ? to : this.#addresses.resolved(to);
    if (address === null || length > PACKET_BYTES_MAX) {
      this.#unsendable += 1;
      return length;
    }
    if (batch.isFull) this.flush();
    if (cipher === null || cipher instanceof NativeCipher) batch.add(address, cipher, header, nonce);
    else batch.addSealed(address, cipher, header, nonce);
    return length;
  }

  flush(): void {
    if (this.#batch.count === 0) return;
    this.#addon.send(this.#socket, this.#batch.count);
    this.#batch.clear();
  }

  close(): Promise<void> {
    this.flush();
    return new Promise((resolve) => this.#addon.close(this.#socket, resolve));
  }
}
