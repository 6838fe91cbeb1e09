const DIGITS_END = 0x20;
const ZERO = 0x30;
const NUMBER_DIGITS_MAX = 16;

/**
 * The content of a message of a run: the run, the message's index and its scheduled time. It is plain ASCII without
 * characters that JSON escapes, so that it is found in a payload without parsing.
 */
export const stampOf = (runId: string, index: number, intendedMicros: number): string =>
  `${markOf(runId)}${index} ${intendedMicros} `;

/** The prefix of a run's messages. */
export const markOf = (runId: string): string => `guildhall-bench ${runId} `;

interface Stamp {
  readonly index: number;
  /** Monotonic microseconds of the sending machine. */
  readonly intendedMicros: number;
}

/** Finds the stamp in a payload; null without one. */
export function findStamp(payload: Buffer, mark: Buffer): Stamp | null {
  const found = payload.indexOf(mark);
  if (found < 0) return null;
  const indexAt = found + mark.length;
  const index = numberAt(payload, indexAt);
  const gap = payload.indexOf(DIGITS_END, indexAt);
  const intendedMicros = gap < 0 ? -1 : numberAt(payload, gap + 1);
  return index < 0 || intendedMicros < 0 ? null : { index, intendedMicros };
}

/** The number before the next space; -1 without one, or when it is too large. */
function numberAt(payload: Buffer, from: number): number {
  let value = 0;
  for (let at = from; at <= from + NUMBER_DIGITS_MAX && at < payload.length; at += 1) {
    const byte = payload[at] ?? 0;
    if (byte === DIGITS_END) return at === from ? -1 : value;
    const digit = byte - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return -1;
}
