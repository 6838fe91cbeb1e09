import type { Logger } from 'pino';
import { WindowTable } from '../engine/ratelimit/table.ts';
import { SECURITY_EVENTS, type SecurityEvent, type SecurityTrail } from '../protocol/security.ts';
import type { Figure } from './figures.ts';

/** Lines of one event a minute: beyond it the event is counted only, so that no attacker fills the disk. */
const LINES = { limit: 600, windowMs: 60_000 };

/** The trail of security events: at info in the log, as `security.<event>`, and counted in metrics. */
export function createSecurityTrail(
  logger: Pick<Logger, 'info'>,
  figures: Figure[],
  monotonic: () => number,
): SecurityTrail {
  const names = Object.keys(SECURITY_EVENTS) as SecurityEvent[];
  const counts = new Map(names.map((name) => [name, 0]));
  const lines = new WindowTable(names.length);
  for (const event of names)
    figures.push({
      name: 'guildhall_security_events',
      help: 'Security events since the start, by event.',
      labels: { event },
      read: () => counts.get(event) ?? 0,
    });
  return (event, fields) => {
    counts.set(event, (counts.get(event) ?? 0) + 1);
    if (!lines.take(event, LINES, monotonic()).allowed) return;
    const line: object = { event: `security.${event}`, ...fields };
    logger.info(line, SECURITY_EVENTS[event].about);
  };
}
