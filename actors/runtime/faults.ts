import { NotServed } from '../../protocol/faults.ts';
import type { Lifetime } from './clock.ts';

interface FaultLog {
  error(details: object, line: string): void;
}

/** Faults of work that no caller awaits. */
interface Faults {
  /** Number of faults by place, for metrics. */
  readonly faults: Map<string, number>;
  /** Counts and logs a fault; `details` are added to the log line. */
  readonly onFault: (error: unknown, where: string, details?: object) => void;
}

export function createFaults(log: FaultLog, lifetime: Pick<Lifetime, 'over'>): Faults {
  const faults = new Map<string, number>();
  return {
    faults,
    onFault(error, where, details) {
      // Once the engine closes it serves nothing more; this fault ended its background work.
      if (lifetime.over && error instanceof NotServed) return;
      faults.set(where, (faults.get(where) ?? 0) + 1);
      log.error({ ...details, err: error, where }, 'Background work failed.');
    },
  };
}
