import { EPOCH_MS, type FreshId, snowflakeOf } from '../../protocol/ids.ts';
import type { Clock } from './clock.ts';

const SEQUENCE_MAX = 4095;

/** Generates ids, reports the time of the last one, and can be raised above the ids of others. */
export interface SnowflakeSource {
  (): FreshId;
  /** The Unix time in milliseconds of the last id; the time of the first possible id when none was generated. */
  lastMs(): number;
  /** All later ids are above every id of this time (Unix milliseconds), whichever worker generated it. */
  raise(ms: number): void;
}

/**
 * Generates snowflakes that ascend strictly for the life of the source, even when the clock is set back or more than
 * 4,096 are requested in a millisecond (the surplus is dated a little ahead).
 *
 * @param worker Its number is 0 to 1023: the ten bits of worker and process. Two sources of one cluster must never share
 *   it. It may change.
 */
export function snowflakeSource(clock: Clock, worker: { readonly number: number }): SnowflakeSource {
  let current = worker.number;
  let workerBits = BigInt(current & 1023) << 12n;
  let lastMs = 0;
  let sequence = 0;
  const next = (): FreshId => {
    const nowMs = clock.now() - EPOCH_MS;
    if (nowMs > lastMs) {
      lastMs = nowMs;
      sequence = 0;
    } else if (sequence === SEQUENCE_MAX) {
      lastMs += 1;
      sequence = 0;
    } else {
      sequence += 1;
    }
    if (worker.number !== current) {
      current = worker.number;
      workerBits = BigInt(current & 1023) << 12n;
    }
    return snowflakeOf((BigInt(lastMs) << 22n) | workerBits | BigInt(sequence));
  };
  return Object.assign(next, {
    lastMs: () => lastMs + EPOCH_MS,
    raise(ms: number) {
      const raisedMs = ms - EPOCH_MS;
      if (raisedMs < lastMs) return;
      lastMs = raisedMs;
      sequence = SEQUENCE_MAX;
    },
  });
}

/**
 * Least clock lag that is reported. A restart within the second of a crash, or two machines with slightly different
 * clocks, stay below it.
 */
const BEHIND_MS = 5000;

/**
 * The source as the stores raise it above the highest id in the database.
 *
 * @param onBehind Called when the clock lags far behind that id.
 */
export const raisedByStores = (
  ids: SnowflakeSource,
  clock: Pick<Clock, 'now'>,
  worker: { readonly number: number },
  onBehind: (behindMs: number) => void,
) => ({
  lastMs: ids.lastMs,
  worker: () => worker.number,
  raise(ms: number): void {
    const behindMs = ms - clock.now();
    if (behindMs > BEHIND_MS && ms > ids.lastMs()) onBehind(behindMs);
    ids.raise(ms);
  },
});

/** Logged for the operator when the clock is behind the newest ids. */
export const clockBehind = (behindMs: number): string =>
  `The clock is ${Math.ceil(behindMs / 1000)} s behind the newest ids. New ids continue after them, so ids and ` +
  'their times run ahead of the clock until it has caught up. Correct the clock.';
