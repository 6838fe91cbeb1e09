import { isDirect } from '../fanout/direct.ts';

/** A session's position in the stream of one aggregate: the number of the last dispatch it received. */
export type Cursor = readonly [ownerId: string, n: number];

interface FollowedStream {
  /** Number of the newest dispatch of the stream, for any session. */
  n: number;
  readonly followers: Set<number>;
  /**
   * Own positions of followers that have received only dispatches sent to them since an interruption; null without any.
   */
  laggards: Map<number, number> | null;
}

/**
 * Positions of one shard's sessions in the streams that they follow.
 *
 * All dispatches of a stream arrive here in order, so every follower has received, or may not see, everything up to the
 * newest one: one number serves all followers. Each session has its own number only while a stream is interrupted (by a
 * change of owner), until `following` is called for it, and always in direct streams.
 */
export class StreamCursors {
  readonly #streams = new Map<string, FollowedStream>();
  readonly #subscribed = new Map<number, Set<string>>();

  /** The session follows the stream from here on; it has received everything up to `n`. */
  following(handle: number, ownerId: string, n: number): void {
    const stream = this.#followedBy(handle, ownerId);
    if (n < stream.n || isDirect(ownerId)) this.#lag(stream, handle, n);
    else {
      stream.n = n;
      this.#catchUp(stream, handle);
    }
  }

  /**
   * The session has received the stream up to `n`, and from there on only dispatches sent to it. It moved here from
   * another shard and may be ahead of this shard's other sessions.
   */
  lag(handle: number, ownerId: string, n: number): void {
    this.#lag(this.#followedBy(handle, ownerId), handle, n);
  }

  /** The stream is interrupted: from here on each follower has its own position, moved by dispatches sent to it. */
  lagging(ownerId: string): void {
    const stream = this.#streams.get(ownerId);
    if (!stream) return;
    stream.laggards ??= new Map();
    for (const handle of stream.followers)
      if (!stream.laggards.has(handle)) stream.laggards.set(handle, stream.n);
  }

  /**
   * Records a dispatch of the stream. Returns the sessions with their own positions, each of which needs `advanceOne` when
   * it receives the dispatch; null, as in almost all cases, without any.
   */
  advance(ownerId: string, n: number): Map<number, number> | null {
    const stream = this.#streams.get(ownerId);
    if (!stream) return null;
    if (n > stream.n) stream.n = n;
    return stream.laggards;
  }

  /** @param laggards The value of `advance` for this dispatch. */
  advanceOne(laggards: Map<number, number>, handle: number, n: number): void {
    const has = laggards.get(handle);
    if (has !== undefined && has < n) laggards.set(handle, n);
  }

  /** The session no longer follows the stream. */
  left(handle: number, ownerId: string): void {
    this.#subscribed.get(handle)?.delete(ownerId);
    const stream = this.#streams.get(ownerId);
    if (!stream) return;
    stream.followers.delete(handle);
    this.#catchUp(stream, handle);
    if (stream.followers.size === 0) this.#streams.delete(ownerId);
  }

  ended(handle: number): void {
    for (const ownerId of [...(this.#subscribed.get(handle) ?? [])]) this.left(handle, ownerId);
    this.#subscribed.delete(handle);
  }

  /** Null when the session does not follow the stream. */
  cursor(handle: number, ownerId: string): number | null {
    const stream = this.#streams.get(ownerId);
    if (!stream?.followers.has(handle)) return null;
    return stream.laggards?.get(handle) ?? stream.n;
  }

  lags(handle: number, ownerId: string): boolean {
    return this.#streams.get(ownerId)?.laggards?.has(handle) ?? false;
  }

  of(handle: number): Cursor[] {
    return [...(this.#subscribed.get(handle) ?? [])].map((ownerId) => [
      ownerId,
      this.cursor(handle, ownerId) ?? 0,
    ]);
  }

  #followedBy(handle: number, ownerId: string): FollowedStream {
    let stream = this.#streams.get(ownerId);
    if (!stream) {
      stream = { n: 0, followers: new Set(), laggards: null };
      this.#streams.set(ownerId, stream);
    }
    stream.followers.add(handle);
    let followed = this.#subscribed.get(handle);
    if (!followed) {
      followed = new Set();
      this.#subscribed.set(handle, followed);
    }
    followed.add(ownerId);
    return stream;
  }

  #lag(stream: FollowedStream, handle: number, n: number): void {
    stream.laggards ??= new Map();
    stream.laggards.set(handle, n);
  }

  #catchUp(stream: FollowedStream, handle: number): void {
    if (stream.laggards?.delete(handle) && stream.laggards.size === 0) stream.laggards = null;
  }
}
