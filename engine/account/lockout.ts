/** Attempts that failed in a row. */
export interface Failures {
  readonly count: number;
  /** Monotonic milliseconds of the last one. */
  readonly lastMs: number;
}

/** How many failures are free, and how the wait grows after them: doubled by each, up to a bound. */
export interface LockoutPolicy {
  readonly free: number;
  readonly firstWaitMs: number;
  readonly waitMaxMs: number;
  /** Failures are forgotten when none came for so long; more than `waitMaxMs`, or the last wait would forgive all. */
  readonly memoryMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Against guessing one person's password from one network or device. At one guess in a quarter of an hour no password
 * is guessed.
 */
export const OF_LOGIN: LockoutPolicy = {
  free: 5,
  firstWaitMs: 15_000,
  waitMaxMs: 15 * MINUTE_MS,
  memoryMs: 24 * HOUR_MS,
};
/**
 * Against guessing one person's password from many networks. It begins behind what four networks have free, so that
 * nobody keeps the owner out of an unknown network with less; networks that the account knows never wait for it.
 */
export const OF_EVERYWHERE: LockoutPolicy = { ...OF_LOGIN, free: 20 };
/** Codes of a second factor have six digits, three of them right at any time: fewer guesses, longer waits. */
export const OF_FACTOR: LockoutPolicy = {
  free: 5,
  firstWaitMs: 30_000,
  waitMaxMs: HOUR_MS,
  memoryMs: 24 * HOUR_MS,
};
/** Against trying many names from one place; a household or school behind one address fails more often than a person. */
export const OF_ADDRESS: LockoutPolicy = {
  free: 30,
  firstWaitMs: 15_000,
  waitMaxMs: HOUR_MS,
  memoryMs: 6 * HOUR_MS,
};

/** Milliseconds until another attempt is listened to; 0 when one is now. */
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
