import type { Logger } from 'pino';
import type { Metric } from '../../protocol/metrics.ts';
import {
  createSecurityTrail,
  SECURITY_EVENT_NAMES,
  SECURITY_METRIC,
  type SecurityTrail,
} from '../../protocol/security.ts';

/** The trail of security events: logged at info as `security.<event>`, and counted in metrics. */
export function loggedTrail(
  logger: Pick<Logger, 'info'>,
  metrics: Metric[],
  monotonic: () => number,
): SecurityTrail {
  const trail = createSecurityTrail((line, about) => logger.info(line, about), monotonic);
  for (const event of SECURITY_EVENT_NAMES)
    metrics.push({ ...SECURITY_METRIC, labels: { event }, read: () => trail.count(event) });
  return trail.note;
}
