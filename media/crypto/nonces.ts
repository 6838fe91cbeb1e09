/**
 * Nonces of one member's transport key, which both directions share: the wire carries only 32 bits, and two packets with the
 * same nonce would break AES-GCM.
 *
 * Therefore the numbers are divided. The server's nonces have the highest bit set in their first *and* in their last byte. A
 * client counts up from a small number, in a byte order of its choice, and reaches such a nonce after 2^31 packets at the
 * earliest, which is more than a year of audio. A client's packet with a server nonce is a reflection and is refused.
 */
const SERVER_BITS = 0x8000_0080;

/** Nonces the server has under one key; the key counts as used up after `SERVER_NONCES_USABLE` of them. */
export const SERVER_NONCES = 2 ** 30;
export const SERVER_NONCES_USABLE = SERVER_NONCES / 2;

/** The nonce, as a big-endian u32, of the server's packet number `count`, below `SERVER_NONCES`. */
export const serverNonce = (count: number): number =>
  (SERVER_BITS | ((count & 0x3fff_ff80) << 1) | (count & 0x7f)) >>> 0;

export const isServerNonce = (nonce: number): boolean => (nonce & SERVER_BITS) >>> 0 === SERVER_BITS;

const swapped = (value: number): number =>
  (((value & 0xff) << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24)) >>> 0;

/** How far behind the highest nonce a late packet may be; a burst of video reorders packets by less. */
export const NONCE_WINDOW = 1024;

/**
 * The nonces a client has used; rejects replayed packets. The counter is what must be unique: RTP's sequence number wraps
 * every 22 minutes of audio, does not cover RTCP, and does not measure how much of the key is used up.
 *
 * Counters are compared in the client's byte order, which is detected at the second packet: two consecutive counters are
 * close together in only one of the two orders. Every nonce is accepted at most once; nonces behind the window are refused.
 */
export class NonceWindow {
  #highest = -1;
  #littleEndian: boolean | null = null;
  readonly #seen = new Int32Array(NONCE_WINDOW / 32);

  /** The highest nonce accepted and the detected byte order; null before the first packet. */
  get position(): { readonly highest: number; readonly littleEndian: boolean | null } | null {
    return this.#highest < 0 ? null : { highest: this.#highest, littleEndian: this.#littleEndian };
  }

  /** Continues from a position: every nonce up to it counts as used. */
  resume(highest: number, littleEndian: boolean | null): void {
    this.#highest = highest;
    this.#littleEndian = littleEndian;
    this.#seen.fill(-1);
  }

  /** Whether a packet with this nonce may be new. Called before decryption; changes nothing. */
  fresh(nonce: number): boolean {
    if (isServerNonce(nonce)) return false;
    if (this.#highest < 0) return true;
    if (this.#littleEndian === null) return nonce !== this.#highest;
    const counter = this.#littleEndian ? swapped(nonce) : nonce;
    const behind = this.#highest - counter;
    if (behind < 0) return true;
    return (
      behind < NONCE_WINDOW && (this.#seen[(counter % NONCE_WINDOW) >>> 5]! & (1 << (counter & 31))) === 0
    );
  }

  /**
   * Records the nonce of a packet that was `fresh` and has authenticated.
   *
   * @returns whether the nonce is higher than all before it, so that the packet's source address may become the client's.
   */
  accept(nonce: number): boolean {
    if (this.#highest < 0) {
      this.#highest = nonce;
      return true;
    }
    if (this.#littleEndian === null) this.#learnOrder(nonce);
    const counter = this.#littleEndian ? swapped(nonce) : nonce;
    const newer = counter > this.#highest;
    if (newer) this.#advance(counter);
    const word = (counter % NONCE_WINDOW) >>> 5;
    this.#seen[word] = this.#seen[word]! | (1 << (counter & 31));
    return newer;
  }

  #learnOrder(second: number): void {
    const first = this.#highest;
    this.#littleEndian = Math.abs(swapped(second) - swapped(first)) < Math.abs(second - first);
    this.#highest = this.#littleEndian ? swapped(first) : first;
    const word = (this.#highest % NONCE_WINDOW) >>> 5;
    this.#seen[word] = this.#seen[word]! | (1 << (this.#highest & 31));
  }

  #advance(counter: number): void {
    const steps = counter - this.#highest;
    if (steps >= NONCE_WINDOW) this.#seen.fill(0);
    else
      for (let step = 1; step <= steps; step += 1) {
        const passed = this.#highest + step;
        const word = (passed % NONCE_WINDOW) >>> 5;
        this.#seen[word] = this.#seen[word]! & ~(1 << (passed & 31));
      }
    this.#highest = counter;
  }
}
