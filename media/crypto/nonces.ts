/**
 * Nonces of one member's transport key, which both directions share: the wire has room for 32 bits only, and two packets
 * under one nonce would open AES-GCM.
 *
 * So the numbers are divided. The server's have the highest bit set in their first *and* in their last byte. A client
 * counts up from a small number, in the byte order it likes, and reaches such a one after 2^31 packets at the earliest,
 * which is more than a year of audio. What comes from a client and looks like the server's is a reflection, and refused.
 */
const SERVER_BITS = 0x8000_0080;

/** How many nonces the server has under one key, and after how many a key counts as used up. */
export const SERVER_NONCES = 2 ** 30;
export const SERVER_NONCES_USABLE = SERVER_NONCES / 2;

/** The nonce, as a big-endian u32, of the server's packet number `count`, below `SERVER_NONCES`. */
export const serverNonce = (count: number): number =>
  (SERVER_BITS | ((count & 0x3fff_ff80) << 1) | (count & 0x7f)) >>> 0;

export const isServerNonce = (nonce: number): boolean => (nonce & SERVER_BITS) >>> 0 === SERVER_BITS;

const swapped = (value: number): number =>
  (((value & 0xff) << 24) | ((value & 0xff00) << 8) | ((value >>> 8) & 0xff00) | (value >>> 24)) >>> 0;

/** How far behind the highest nonce a late packet may be; a burst of video reorders by less. */
export const NONCE_WINDOW = 1024;

/**
 * The nonces a client has used, against replay. The counter is what must not come twice: RTP's sequence number goes
 * round every 22 minutes of audio, says nothing about RTCP, and is not what the key is used up by.
 *
 * Counters are compared in the client's byte order, which shows with the second packet: the two are close together in
 * only one of both orders. Every value is accepted at most once; those behind the window are refused.
 */
export class NonceWindow {
  #highest = -1;
  #littleEndian: boolean | null = null;
  readonly #seen = new Int32Array(NONCE_WINDOW / 32);

  /** Where the window stands; null before the first packet. */
  get position(): { readonly highest: number; readonly littleEndian: boolean | null } | null {
    return this.#highest < 0 ? null : { highest: this.#highest, littleEndian: this.#littleEndian };
  }

  /** Goes on from a position: everything up to it counts as seen. */
  resume(highest: number, littleEndian: boolean | null): void {
    this.#highest = highest;
    this.#littleEndian = littleEndian;
    this.#seen.fill(-1);
  }

  /** Whether a packet with this nonce may be a new one; asked before it is decrypted, and changes nothing. */
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
   * Notes the nonce of a packet that was `fresh` and has authenticated.
   *
   * @returns whether it is newer than all before, so that it may speak for where the client is now.
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
