import { isDirect } from '../fanout/direct.ts';

/** How far a session has the stream of one aggregate: the number of the last dispatch. */
export type Cursor = readonly [ownerId: string, n: number];

interface FollowedStream {
  /** Of the newest dispatch that came here, for whichever session. */
  n: number;
  readonly followers: Set<number>;
  /** Followers that have only what each was told since the stream was interrupted, and how far; null: there are none. */
  laggards: Map<number, number> | null;
}

/**
 * How far the sessions of one shard have the streams that they follow.
 *
 * All that is sent of a stream comes here in order, so whoever follows it has, or may not see, everything up to the
 * newest that came: one number serves all. Only while a stream is interrupted (its owner is another one now) each
 * session has its own, until it is told `following` again. Of what is told people directly each always has its own.
 */
export class StreamCursors {
  readonly #streams = new Map<string, FollowedStream>();
  readonly #followed = new Map<number, Set<string>>();

  /** From here on the session hears the stream; it has everything up to `n`. */
  following(handle: number, ownerId: string, n: number): void {
    const stream = this.#followedBy(handle, ownerId);
    if (n < stream.n || isDirect(ownerId)) this.#lag(stream, handle, n);
    else {
      stream.n = n;
      this.#catchUp(stream, handle);
    }
  }

  /**
   * The session has the stream up to `n`, and from there on what it is told itself. It comes from elsewhere: the others
   * may not have been told as much yet.
   */
  lag(handle: number, ownerId: string, n: number): void {
    this.#lag(this.#followedBy(handle, ownerId), handle, n);
  }

  /** The stream is interrupted: what its followers have of it from here on is what each is told. */
  lagging(ownerId: string): void {
    const stream = this.#streams.get(ownerId);
    if (!stream) return;
    stream.laggards ??= new Map();
    for (const handle of stream.followers)
      if (!stream.laggards.has(handle)) stream.laggards.set(handle, stream.n);
  }

  /**
   * A dispatch of the stream has come. Answers the sessions that must each be noted with `toldOne` when it is for them;
   * null, as nearly always, when there are none.
   */
  told(ownerId: string, n: number): Map<number, number> | null {
    const stream = this.#streams.get(ownerId);
    if (!stream) return null;
    if (n > stream.n) stream.n = n;
    return stream.laggards;
  }

  /** @param laggards What `told` has answered for this dispatch. */
  toldOne(laggards: Map<number, number>, handle: number, n: number): void {
    const has = laggards.get(handle);
    if (has !== undefined && has < n) laggards.set(handle, n);
  }

  /** The session does not follow the stream any more. */
  left(handle: number, ownerId: string): void {
    this.#followed.get(handle)?.delete(ownerId);
    const stream = this.#streams.get(ownerId);
    if (!stream) return;
    stream.followers.delete(handle);
    this.#catchUp(stream, handle);
    if (stream.followers.size === 0) this.#streams.delete(ownerId);
  }

  ended(handle: number): void {
    for (const ownerId of [...(this.#followed.get(handle) ?? [])]) this.left(handle, ownerId);
    this.#followed.delete(handle);
  }

  /** Null: the session does not follow it. */
  cursor(handle: number, ownerId: string): number | null {
    const stream = this.#streams.get(ownerId);
    if (!stream?.followers.has(handle)) return null;
    return stream.laggards?.get(handle) ?? stream.n;
  }

  lags(handle: number, ownerId: string): boolean {
    return this.#streams.get(ownerId)?.laggards?.has(handle) ?? false;
  }

  of(handle: number): Cursor[] {
    return [...(this.#followed.get(handle) ?? [])].map((ownerId) => [
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
    let followed = this.#followed.get(handle);
    if (!followed) {
      followed = new Set();
      this.#followed.set(handle, followed);
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
