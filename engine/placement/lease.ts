/** Two clocks that run for the time of a lease may differ by this share of it; the worst oscillators are hundreds of times better. */
const DRIFT_SHARE = 0.02;
/** And the timers of the directory may fire early by this much. */
const ROUGHNESS_MS = 100;

/** How far before its end a lease is taken for over by who holds it. */
export const leaseMarginMs = (ttlMs: number): number => ttlMs * DRIFT_SHARE + ROUGHNESS_MS;

/**
 * Until when nobody else can have what the lease holds, on the clock of its holder. It counts from when the renewal was
 * sent: the directory cannot have begun to count earlier than that.
 *
 * @param sentMs Monotonic milliseconds at which the last renewal that was answered had been sent.
 * @param ttlMs  What the directory granted in its answer.
 */
export const safeUntilMs = (sentMs: number, ttlMs: number): number => sentMs + ttlMs - leaseMarginMs(ttlMs);

/** Three renewals may be lost before a lease is. */
export const renewalEveryMs = (ttlMs: number): number => ttlMs / 4;
