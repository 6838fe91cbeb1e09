import type { Endpoint } from './ports.ts';
import { Rate } from './room.ts';

const BUCKETS = 4096;
/** The bound on early requests; the oldest is dropped first. */
const EARLY_MAX = 64;
const EARLY_MS = 1_000;

/**
 * Limits the answers to unauthenticated addresses. All addresses share a fixed number of buckets, so that forged addresses
 * cannot exhaust memory. A client that shares a bucket with a flood gets its answer at a later attempt.
 */
export class AnswerLimit {
  readonly #buckets: readonly Rate[];

  constructor(perSecond: number) {
    this.#buckets = Array.from({ length: BUCKETS }, () => new Rate(perSecond));
  }

  take(address: string, nowMs: number): boolean {
    let hash = 0;
    for (let at = 0; at < address.length; at += 1) hash = (Math.imul(hash, 31) + address.charCodeAt(at)) | 0;
    return this.#buckets[(hash >>> 0) % BUCKETS]!.take(nowMs);
  }
}

interface EarlyRequest {
  readonly from: Endpoint;
  readonly atMs: number;
}

/**
 * IP discovery of SSRCs without a member. The datagram of a client can overtake the order that adds its member, for
 * the order comes from another thread; stock clients ask once and wait for the answer without end.
 */
export class EarlyRequests {
  readonly #bySsrc = new Map<number, EarlyRequest>();

  keep(ssrc: number, from: Endpoint, nowMs: number): void {
    this.#bySsrc.delete(ssrc);
    for (const oldest of this.#bySsrc.keys()) {
      if (this.#bySsrc.size < EARLY_MAX) break;
      this.#bySsrc.delete(oldest);
    }
    this.#bySsrc.set(ssrc, { from: { address: from.address, port: from.port }, atMs: nowMs });
  }

  /** Where this SSRC was asked for a moment ago, once; null if it was not. */
  take(ssrc: number, nowMs: number): Endpoint | null {
    const early = this.#bySsrc.get(ssrc);
    this.#bySsrc.delete(ssrc);
    return early && nowMs - early.atMs <= EARLY_MS ? early.from : null;
  }
}
