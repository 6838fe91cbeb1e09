import { type Rule, take, type Window, type WindowResult } from './window.ts';

/** Number of oldest windows examined to make room: enough to find a nearly empty one, few enough to be cheap. */
const VICTIMS_LOOKED_AT = 16;

interface LimiterEntry {
  window: Window;
  /** Share of the window that is used up, 0 to 1. */
  share: number;
}

/**
 * Windows by key, at most `entriesMax`. Expired windows are evicted first, oldest first. If the table is still full,
 * the emptiest of the oldest windows is evicted, so that a client close to its limit is not forgotten in favour of one
 * that barely called. Cost: O(1) a call.
 */
export class WindowTable {
  readonly #entries = new Map<string, LimiterEntry>();
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts one call under `key`. `nowMs` is monotonic. */
  take(key: string, rule: Rule, nowMs: number): WindowResult {
    const entry = this.#entries.get(key);
    const taken = take(entry?.window, rule, nowMs);
    const share = taken.window.used / rule.limit;
    if (entry && entry.window.endMs === taken.window.endMs) {
      entry.window = taken.window;
      entry.share = share;
      return taken;
    }
    this.#append(key, taken.window, share, nowMs);
    return taken;
  }

  /** Admits no more calls under `key` until `endMs`. */
  fill(key: string, { limit }: Rule, endMs: number, nowMs: number): void {
    this.#append(key, { endMs, used: limit }, 1, nowMs);
  }

  /** The current window under `key`, without counting a call. */
  peek(key: string, nowMs: number): Window | undefined {
    const window = this.#entries.get(key)?.window;
    return window && window.endMs > nowMs ? window : undefined;
  }

  /** Appends a new window, so that the map stays in the order of window starts. */
  #append(key: string, window: Window, share: number, nowMs: number): void {
    this.#entries.delete(key);
    this.#makeRoom(nowMs);
    this.#entries.set(key, { window, share });
  }

  #makeRoom(nowMs: number): void {
    let looked = 0;
    let victim: string | undefined;
    let victimShare = Number.POSITIVE_INFINITY;
    for (const [key, entry] of this.#entries) {
      if (looked++ >= VICTIMS_LOOKED_AT) break;
      if (entry.window.endMs <= nowMs) this.#entries.delete(key);
      else if (entry.share < victimShare) [victim, victimShare] = [key, entry.share];
    }
    if (this.#entries.size >= this.#entriesMax && victim !== undefined) this.#entries.delete(victim);
  }
}
