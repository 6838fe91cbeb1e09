/**
 * Share of a lease's time by which two clocks may drift apart; even the worst oscillators are hundreds of times better.
 */
const DRIFT_SHARE = 0.02;
/** The directory's timers may fire early by this much. */
const ROUGHNESS_MS = 100;

/** How long before its end the holder treats a lease as expired. */
export const leaseMarginMs = (ttlMs: number): number => ttlMs * DRIFT_SHARE + ROUGHNESS_MS;

/**
 * Until this time no other shard can own the leased partitions, on the holder's clock. It counts from the moment the
 * renewal was sent, because the directory cannot have started counting earlier.
 *
 * @param sentMs Monotonic milliseconds at which the last answered renewal was sent.
 * @param ttlMs Lease time that the directory's answer granted.
 */
export const safeUntilMs = (sentMs: number, ttlMs: number): number => sentMs + ttlMs - leaseMarginMs(ttlMs);

/** Three renewals in a row may be lost without losing the lease. */
export const renewalEveryMs = (ttlMs: number): number => ttlMs / 4;
