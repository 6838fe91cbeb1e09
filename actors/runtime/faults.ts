import { NotServed } from '../../protocol/faults.ts';
import type { Clock, Lifetime } from './clock.ts';

interface FaultLog {
  error(details: object, line: string): void;
  warn(details: object, line: string): void;
}

/** Faults of work that no caller awaits. */
interface Faults {
  /** Number of faults by place, for metrics. */
  readonly faults: Map<string, number>;
  /** Counts and logs a fault; `details` are added to the log line. */
  readonly onFault: (error: unknown, where: string, details?: object) => void;
}

/**
 * Most lines of one place within a window: when a shard dies, the work of thousands of sessions fails in one second, and each line
 * says the same.
 */
const LINES_MAX = 20;
const WINDOW_MS = 10_000;

interface Window {
  readonly startedMs: number;
  lines: number;
  omitted: number;
}

/** Bounds the log lines of each place. */
export class LogWindows {
  readonly #windows = new Map<string, Window>();
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The number of lines that were omitted before this one; null when this one is omitted too. */
  omittedBefore(where: string): number | null {
    const nowMs = this.#clock.monotonic();
    const known = this.#windows.get(where);
    const isOver = known === undefined || nowMs - known.startedMs >= WINDOW_MS;
    const window = isOver ? { startedMs: nowMs, lines: 0, omitted: 0 } : known;
    this.#windows.set(where, window);
    if (window.lines === LINES_MAX) {
      window.omitted += 1;
      return null;
    }
    window.lines += 1;
    return isOver ? (known?.omitted ?? 0) : 0;
  }
}

export function createFaults(
  log: FaultLog,
  lifetime: Pick<Lifetime, 'over'>,
  clock: Pick<Clock, 'monotonic'>,
): Faults {
  const faults = new Map<string, number>();
  const windows = new LogWindows(clock);
  return {
    faults,
    onFault(error, where, details) {
      // Once the engine closes it serves nothing more; this fault ended its background work.
      if (lifetime.over && error instanceof NotServed) return;
      faults.set(where, (faults.get(where) ?? 0) + 1);
      const omitted = windows.omittedBefore(where);
      if (omitted === null) return;
      const line = { ...details, err: error, where, ...(omitted > 0 && { omitted_before: omitted }) };
      // The shard that serves it now continues the work.
      if (error instanceof NotServed) log.warn(line, 'Background work failed.');
      else log.error(line, 'Background work failed.');
    },
  };
}
