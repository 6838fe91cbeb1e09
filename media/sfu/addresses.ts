import { Rate } from './room.ts';

const BUCKETS = 4096;

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
