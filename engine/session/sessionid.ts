import type { SessionId } from '../../protocol/ids.ts';

const WORKER_DIGITS = 3;

/**
 * The id of a session that starts on a shard. Its first digits are the shard's worker number, so that another shard
 * knows where to look it up first; the others are random.
 *
 * @param worker Below 4096; null to leave it out.
 * @param hex 32 random digits.
 */
export function sessionIdAt(worker: number | null, hex: string): SessionId {
  if (worker === null) return hex as SessionId;
  return (worker.toString(16).padStart(WORKER_DIGITS, '0') + hex.slice(WORKER_DIGITS)) as SessionId;
}

/** The worker number in an id, or null. Only a hint: clients send any text, and sessions move. */
export function workerOf(sessionId: string): number | null {
  const digits = sessionId.slice(0, WORKER_DIGITS);
  return /^[0-9a-f]{3}$/.test(digits) ? Number.parseInt(digits, 16) : null;
}
