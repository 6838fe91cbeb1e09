import { LIMITS } from '../../protocol/limits.ts';

interface StartLimits {
  /** Buckets of concurrent starts; a shard's bucket is its id modulo this. */
  readonly maxConcurrency: number;
  readonly perDayMax: number;
}

interface Starts {
  used: number;
  dayEndsMs: number;
  /** When each bucket becomes free. */
  readonly busyUntilMs: Map<number, number>;
}

/** The `session_start_limit` object of a server without a limit of starts: the greatest values of its settings. */
export const UNLIMITED_STARTS = {
  total: 100_000_000,
  remaining: 100_000_000,
  reset_after: 0,
  max_concurrency: 10_000,
} as const;

type StartVerdict = 'ok' | 'tooSoon' | 'tooMany';

/** Number of remembered bots from which expired ones are removed. */
const SWEEP_FROM = 1024;

/**
 * Limits the session starts of one bot: one per bucket in 5 s, and a number per day. Resuming does not count. Holds one
 * small record per bot that identified in the last 24 hours.
 *
 * @source https://docs.discord.com/developers/events/gateway#session-start-limit-object and
 * https://docs.discord.com/developers/events/gateway#sharding-max-concurrency
 */
export class SessionStarts {
  readonly #limits: StartLimits;
  readonly #bots = new Map<string, Starts>();
  #sweepAt = SWEEP_FROM;

  constructor(limits: StartLimits) {
    this.#limits = limits;
  }

  /** Number of bots with a record. */
  get size(): number {
    return this.#bots.size;
  }

  /**
   * Counts a start if it is allowed. `tooSoon` is not counted; `tooMany` lasts until the end of the day.
   *
   * @param shardId Null for a user: only bots have buckets.
   */
  take(userId: string, shardId: number | null, nowMs: number): StartVerdict {
    const starts = this.#of(userId, nowMs);
    if (starts.used >= this.#limits.perDayMax) return 'tooMany';
    if (shardId !== null) {
      const bucket = shardId % this.#limits.maxConcurrency;
      if (nowMs < (starts.busyUntilMs.get(bucket) ?? Number.NEGATIVE_INFINITY)) return 'tooSoon';
      starts.busyUntilMs.set(bucket, nowMs + LIMITS.identify_concurrency_ms);
    }
    starts.used += 1;
    return 'ok';
  }

  /** The `session_start_limit` object of `GET /gateway/bot`. */
  limitOf(userId: string, nowMs: number) {
    const starts = this.#bots.get(userId);
    const open = starts !== undefined && nowMs < starts.dayEndsMs;
    return {
      total: this.#limits.perDayMax,
      remaining: Math.max(0, this.#limits.perDayMax - (open ? starts.used : 0)),
      reset_after: open ? Math.ceil(starts.dayEndsMs - nowMs) : 0,
      max_concurrency: this.#limits.maxConcurrency,
    };
  }

  #of(userId: string, nowMs: number): Starts {
    const known = this.#bots.get(userId);
    if (known && nowMs < known.dayEndsMs) return known;
    if (this.#bots.size >= this.#sweepAt) this.#sweep(nowMs);
    const fresh: Starts = { used: 0, dayEndsMs: nowMs + LIMITS.session_starts_ms, busyUntilMs: new Map() };
    this.#bots.set(userId, fresh);
    return fresh;
  }

  #sweep(nowMs: number): void {
    for (const [userId, starts] of this.#bots) if (nowMs >= starts.dayEndsMs) this.#bots.delete(userId);
    this.#sweepAt = Math.max(SWEEP_FROM, this.#bots.size * 2);
  }
}
