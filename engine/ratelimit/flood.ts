/** A bucket of tokens, refilled over time. */
interface Bucket {
  readonly burst: number;
  readonly perSec: number;
  level: number;
  atMs: number;
}

const full = (burst: number, perSec: number): Bucket => ({
  burst,
  perSec,
  level: burst,
  atMs: Number.NEGATIVE_INFINITY,
});

function take(bucket: Bucket, amount: number, nowMs: number): boolean {
  const gained = ((nowMs - bucket.atMs) / 1000) * bucket.perSec;
  bucket.level = Math.min(bucket.burst, bucket.level + Math.max(0, gained)) - amount;
  bucket.atMs = nowMs;
  return bucket.level >= 0;
}

/**
 * The send budget of one voice connection. Text and binary frames have separate budgets: every binary frame is an MLS
 * message, which costs the server a signature check. The platform documents no numbers for either.
 *
 * Text: 240 frames at once, 40 a second; a client that starts and stops speaking as fast as it can needs fewer. Binary:
 * 120 frames and 4 MiB at once, 20 frames and 1 MiB a second; each member of a call sends one commit for each change of
 * the group.
 */
export class VoiceAllowance {
  readonly #text = full(240, 40);
  readonly #binary = full(120, 20);
  readonly #binaryBytes = full(4 << 20, 1 << 20);

  /** Counts a frame. False when the budget is exceeded; the connection must then be closed with 4021. */
  take(binary: boolean, bytes: number, nowMs: number): boolean {
    if (!binary) return take(this.#text, 1, nowMs);
    const counted = take(this.#binary, 1, nowMs);
    return take(this.#binaryBytes, bytes, nowMs) && counted;
  }
}
