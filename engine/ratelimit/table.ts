import { type Rule, take, type Window, type WindowResult } from './window.ts';

/** Number of oldest windows examined to make room: enough to find a nearly empty one, few enough to be cheap. */
const VICTIMS_LOOKED_AT = 16;

interface LimiterEntry {
  window: Window;
  /** Share of the window that is used up, 0 to 1. */
  share: number;
  /** Calls of the window that are reported to the owner of the key. */
  reported: number;
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
    if (entry && entry.window.endMs === taken.window.endMs) {
      entry.window = taken.window;
      entry.share = taken.window.used / rule.limit;
    } else this.#append(key, taken.window, rule, 0, nowMs);
    return taken;
  }

  /** Counts calls that were admitted elsewhere, also beyond the limit. */
  add(key: string, rule: Rule, calls: number, nowMs: number): void {
    if (calls === 0) return;
    const { endMs, used } = this.peek(key, nowMs) ?? { endMs: nowMs + rule.windowMs, used: 0 };
    this.#append(key, { endMs, used: used + calls }, rule, 0, nowMs);
  }

  /** The calls under `key` that are not reported to its owner yet; from now on they are. */
  report(key: string): number {
    const entry = this.#entries.get(key);
    if (!entry) return 0;
    const calls = entry.window.used - entry.reported;
    entry.reported = entry.window.used;
    return calls;
  }

  /** Applies the window of the owner of `key`, which may end at another time. */
  learn(key: string, rule: Rule, { endMs, used }: Window, nowMs: number): void {
    const entry = this.#entries.get(key);
    const unreported = entry && entry.window.endMs > nowMs ? entry.window.used - entry.reported : 0;
    this.#append(key, { endMs, used: used + unreported }, rule, used, nowMs);
  }

  /** The current window under `key`, without counting a call. */
  peek(key: string, nowMs: number): Window | undefined {
    const window = this.#entries.get(key)?.window;
    return window && window.endMs > nowMs ? window : undefined;
  }

  /** Appends a window, so that the map stays in the order of window starts. */
  #append(key: string, window: Window, rule: Rule, reported: number, nowMs: number): void {
    this.#entries.delete(key);
    this.#makeRoom(nowMs);
    this.#entries.set(key, { window, share: window.used / rule.limit, reported });
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
