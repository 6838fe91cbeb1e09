/** Failed attempts in a row. */
export interface Failures {
  readonly count: number;
  /** Monotonic milliseconds of the latest failure. */
  readonly lastMs: number;
}

/** Failures without a wait, and the wait after more: doubled by each failure, up to a bound. */
export interface LockoutPolicy {
  readonly free: number;
  readonly firstWaitMs: number;
  readonly waitMaxMs: number;
  /**
   * Failures are forgotten after this long without another; must exceed `waitMaxMs`, or the longest wait would reset
   * the count.
   */
  readonly memoryMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Against guessing one person's password from one network or device. One guess per quarter of an hour finds no
 * password.
 */
export const OF_LOGIN: LockoutPolicy = {
  free: 5,
  firstWaitMs: 15_000,
  waitMaxMs: 15 * MINUTE_MS,
  memoryMs: 24 * HOUR_MS,
};
/**
 * Against guessing one person's password from many networks. It begins after the free failures of four networks, so
 * that fewer cannot lock the owner out of an unknown network; networks that the account knows never wait for it.
 */
export const OF_EVERYWHERE: LockoutPolicy = { ...OF_LOGIN, free: 20 };
/** Second-factor codes have six digits, and three codes are valid at any time: fewer guesses, longer waits. */
export const OF_FACTOR: LockoutPolicy = {
  free: 5,
  firstWaitMs: 30_000,
  waitMaxMs: HOUR_MS,
  memoryMs: 24 * HOUR_MS,
};
/**
 * Against trying many names from one address; a household or school behind one address fails more often than one
 * person.
 */
export const OF_ADDRESS: LockoutPolicy = {
  free: 30,
  firstWaitMs: 15_000,
  waitMaxMs: HOUR_MS,
  memoryMs: 6 * HOUR_MS,
};

/** Milliseconds until the next attempt is accepted; 0 when it is accepted now. */
export function waitMs(failures: Failures | undefined, policy: LockoutPolicy, nowMs: number): number {
  if (failures === undefined || isForgotten(failures, policy, nowMs)) return 0;
  const over = failures.count - policy.free;
  if (over < 0) return 0;
  const wholeMs = Math.min(policy.waitMaxMs, policy.firstWaitMs * 2 ** Math.min(over, 30));
  return Math.max(0, failures.lastMs + wholeMs - nowMs);
}

export function failed(failures: Failures | undefined, policy: LockoutPolicy, nowMs: number): Failures {
  const before =
    failures === undefined || isForgotten(failures, policy, nowMs) ? 0 : Math.min(failures.count, 1_000);
  return { count: before + 1, lastMs: nowMs };
}

export const isForgotten = (failures: Failures, { memoryMs }: LockoutPolicy, nowMs: number): boolean =>
  failures.lastMs + memoryMs <= nowMs;

export { networkOf } from '../../protocol/addresses.ts';
