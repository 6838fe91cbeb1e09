/** How much memory request bodies may take together, and each caller of it. */
export interface BodyMemoryBounds {
  /** Bytes of all bodies under way. */
  readonly bytesMax: number;
  /** Part of `bytesMax` that only signed-in callers get. */
  readonly reservedBytes: number;
  /** Bytes of all bodies of one network address that nobody has signed in for. */
  readonly addressBytesMax: number;
  /** Bytes of all bodies of one signed-in user. */
  readonly userBytesMax: number;
}

/** `share`: the caller's other bodies hold what one caller may. `full`: the bodies of all callers hold too much. */
type Taken = 'taken' | 'share' | 'full';

/** One body that is read. */
export interface BodyAccount {
  take(bytes: number): Taken;
  /** From now on the body counts for this user and no longer for the address. */
  signIn(userId: string): void;
  /** The client is expected to send: from now on the body may be ended when memory is short and it does not. */
  reading(evict: (why: Evicted) => void): void;
  /** The body is complete or given up; its bytes stay counted. */
  settled(): void;
  /** Frees the bytes. */
  release(): void;
}

/** When memory is short, a body that brought nothing for this long is ended in favour of one that moves. */
export const STALLED_MS = 2_000;

/** Why a body was ended in favour of another: it had stopped, or its caller held more than the other does. */
type Evicted = 'stalled' | 'outweighed';

/**
 * The memory of request bodies under way.
 *
 * - A caller holds at most a share of its own: a user when signed in, else the network address.
 * - Bodies of callers who are not signed in never reach into the reserve.
 * - When there is no room, a body makes it that brought nothing for a while, longest idle first; else one of the caller who
 *   holds most, if that is more than the one who asks would hold. So whoever comes finds room for as much as the others
 *   have each, however many hold what they may.
 *
 * Cost: O(1) for each chunk while there is room; a look at every body where there is none.
 */
export class BodyMemory {
  readonly #bounds: BodyMemoryBounds;
  readonly #nowMs: () => number;
  /** Bytes by caller; those that hold none are absent. */
  readonly #held = new Map<string, number>();
  /** Bodies that are being sent, least recent progress first. */
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

  /** @param network What the caller counts as until it is signed in. */
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

  /** Where only the bound of strangers is reached, only strangers can make room. */
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

/** All request bodies under way, at least; a larger `request_bytes_max` raises it. */
const BODIES_BYTES_MIN = 256 << 20;
/**
 * A body of the largest size takes as much memory as is left for the others, so there must be room for several. Callers who
 * are not signed in send small bodies only: an eighth of the memory is theirs at most, and an eighth of that one address's.
 */
export function bodyMemoryBounds(requestBytesMax: number): BodyMemoryBounds {
  const bytesMax = Math.max(BODIES_BYTES_MIN, 4 * requestBytesMax);
  const openBytes = bytesMax / 8;
  return {
    bytesMax,
    reservedBytes: bytesMax - openBytes,
    addressBytesMax: openBytes / 8,
    userBytesMax: Math.max(bytesMax / 4, requestBytesMax),
  };
}
