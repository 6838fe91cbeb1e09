/** Bounds of the memory for request bodies, in total and per caller. */
export interface BodyMemoryBounds {
  /** Bytes of all concurrent bodies. */
  readonly bytesMax: number;
  /** Part of `bytesMax` reserved for authenticated callers. */
  readonly reservedBytes: number;
  /** Bytes of all unauthenticated bodies of one network address. */
  readonly addressBytesMax: number;
  /** Bytes of all bodies of one authenticated user. */
  readonly userBytesMax: number;
}

/** `share`: the caller's bodies would exceed the caller's share. `full`: the bodies of all callers use the memory. */
type Taken = 'taken' | 'share' | 'full';

/** Memory account of one body that is being read. */
export interface BodyAccount {
  take(bytes: number): Taken;
  /** Charges the body to this user instead of the address from now on. */
  signIn(userId: string): void;
  /** The client is expected to send: from now on the body may be evicted while memory is short. */
  reading(evict: (why: Evicted) => void): void;
  /** The body is complete or abandoned; its bytes stay charged until `release`. */
  settled(): void;
  /** Releases the bytes. */
  release(): void;
}

/** While memory is short, a body that received nothing for this long may be evicted. */
export const STALLED_MS = 2_000;

/** Why a body was evicted: it had stalled, or its caller held more than the caller who needs memory. */
type Evicted = 'stalled' | 'outweighed';

/**
 * The memory of all concurrent request bodies.
 *
 * - A caller holds at most its share; the caller is a user when authenticated, else the network address.
 * - Unauthenticated bodies never use the reserved part.
 * - When memory is short, bodies that stalled are evicted, longest idle first; then a body of the caller who holds most, if
 *   that is more than the asking caller would hold. So every caller gets as much memory as each of the others has, however
 *   many of them use their full share.
 *
 * Cost: O(1) for each chunk while memory is free; O(bodies) when it is short.
 */
export class BodyMemory {
  readonly #bounds: BodyMemoryBounds;
  readonly #nowMs: () => number;
  /** Bytes by caller; callers without bytes are absent. */
  readonly #held = new Map<string, number>();
  /** Bodies being received, with the time of their latest progress, oldest first. */
  readonly #sending = new Map<Account, number>();
  #bytes = 0;
  #anonymousBytes = 0;

  /** @param nowMs Monotonic milliseconds. */
  constructor(bounds: BodyMemoryBounds, nowMs: () => number) {
    this.#bounds = bounds;
    this.#nowMs = nowMs;
  }

  /** Bytes of all bodies. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param network Identifies the caller until it is authenticated. */
  open(network: string): BodyAccount {
    return new Account(this, network);
  }

  /** @internal */
  take(account: Account, bytes: number): Taken {
    const share = account.signedIn ? this.#bounds.userBytesMax : this.#bounds.addressBytesMax;
    if (this.#heldBy(account) + bytes > share) return 'share';
    this.#progressed(account);
    while (bytes > this.#freeFor(account))
      if (!this.#evictStalled() && !this.#evictLargest(account, bytes)) return 'full';
    this.#add(account, bytes);
    return 'taken';
  }

  /** @internal */
  moveTo(account: Account, caller: string): void {
    const { bytes } = account;
    this.#add(account, -bytes);
    account.caller = caller;
    account.signedIn = true;
    this.#add(account, bytes);
  }

  /** @internal */
  sends(account: Account): void {
    this.#sending.set(account, this.#nowMs());
  }

  /** @internal */
  settled(account: Account): void {
    this.#sending.delete(account);
  }

  /** @internal */
  release(account: Account): void {
    this.#sending.delete(account);
    this.#add(account, -account.bytes);
  }

  #freeFor({ signedIn }: Account): number {
    const { bytesMax, reservedBytes } = this.#bounds;
    const free = bytesMax - this.#bytes;
    return signedIn ? free : Math.min(free, bytesMax - reservedBytes - this.#anonymousBytes);
  }

  #add(account: Account, bytes: number): void {
    if (bytes === 0) return;
    account.bytes += bytes;
    this.#bytes += bytes;
    if (!account.signedIn) this.#anonymousBytes += bytes;
    const held = (this.#held.get(account.caller) ?? 0) + bytes;
    if (held > 0) this.#held.set(account.caller, held);
    else this.#held.delete(account.caller);
  }

  #heldBy({ caller }: Account): number {
    return this.#held.get(caller) ?? 0;
  }

  #progressed(account: Account): void {
    if (this.#sending.delete(account)) this.#sending.set(account, this.#nowMs());
  }

  #evictStalled(): boolean {
    for (const [account, atMs] of this.#sending) {
      if (this.#nowMs() - atMs < STALLED_MS) return false;
      if (account.bytes > 0) return this.#evict(account, 'stalled');
    }
    return false;
  }

  /** If only the bound for unauthenticated bodies is reached, only such bodies are evicted. */
  #evictLargest(asking: Account, bytes: number): boolean {
    const isAnyones = bytes > this.#bounds.bytesMax - this.#bytes;
    let most = this.#heldBy(asking) + bytes;
    let victim: Account | null = null;
    for (const account of this.#sending.keys()) {
      if (account.caller === asking.caller || account.bytes === 0) continue;
      if ((account.signedIn && !isAnyones) || this.#heldBy(account) <= most) continue;
      most = this.#heldBy(account);
      victim = account;
    }
    return victim !== null && this.#evict(victim, 'outweighed');
  }

  #evict(account: Account, why: Evicted): true {
    account.evict(why);
    this.release(account);
    return true;
  }
}

class Account implements BodyAccount {
  readonly #memory: BodyMemory;
  caller: string;
  signedIn = false;
  bytes = 0;
  evict: (why: Evicted) => void = () => {};

  constructor(memory: BodyMemory, network: string) {
    this.#memory = memory;
    this.caller = `address ${network}`;
  }

  take(bytes: number): Taken {
    return this.#memory.take(this, bytes);
  }

  signIn(userId: string): void {
    this.#memory.moveTo(this, `user ${userId}`);
  }

  reading(evict: (why: Evicted) => void): void {
    this.evict = evict;
    this.#memory.sends(this);
  }

  settled(): void {
    this.#memory.settled(this);
  }

  release(): void {
    this.#memory.release(this);
  }
}

/** Least memory for all concurrent request bodies; a large `request_bytes_max` raises it. */
const BODIES_BYTES_MIN = 256 << 20;
/**
 * The default bounds for a server. One body of the largest size uses much memory, so there must be room for several.
 * Callers without a signed-in user, whom a token in the path may still let send files, together get a quarter of the
 * memory, and one address an eighth of that or one body of the largest size.
 */
export function bodyMemoryBounds(requestBytesMax: number): BodyMemoryBounds {
  const bytesMax = Math.max(BODIES_BYTES_MIN, 4 * requestBytesMax);
  const openBytes = bytesMax / 4;
  return {
    bytesMax,
    reservedBytes: bytesMax - openBytes,
    addressBytesMax: Math.max(openBytes / 8, requestBytesMax),
    userBytesMax: Math.max(bytesMax / 4, requestBytesMax),
  };
}
