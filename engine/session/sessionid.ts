import type { SessionId } from '../../protocol/ids.ts';

const WORKER_DIGITS = 3;

/**
 * The id of a session that begins on a shard. Its first digits are the shard's worker number, so that whoever looks for
 * the session knows where to ask first; the others are chance.
 *
 * @param worker Below 4096; null when it is not to be named.
 * @param hex    32 digits of chance.
 */
export function sessionIdAt(worker: number | null, hex: string): SessionId {
  if (worker === null) return hex as SessionId;
  return (worker.toString(16).padStart(WORKER_DIGITS, '0') + hex.slice(WORKER_DIGITS)) as SessionId;
}

/** The worker number that an id names, if it names one. A hint: clients send any text, and sessions move. */
export function workerOf(sessionId: string): number | null {
  const digits = sessionId.slice(0, WORKER_DIGITS);
  return /^[0-9a-f]{3}$/.test(digits) ? Number.parseInt(digits, 16) : null;
}
