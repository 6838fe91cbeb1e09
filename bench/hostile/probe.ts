import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into the measured server (`node --import`). On SIGUSR2 it writes the delays of the event loop since the last signal
 * to the file named by `BENCH_PROBE_FILE`.
 */
const RESOLUTION_MS = 5;
const file = process.env.BENCH_PROBE_FILE;

if (file !== undefined) {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  process.on('SIGUSR2', () => {
    // Each figure of the monitor includes its own interval.
    const msOf = (nanos: number): number => Math.max(0, nanos / 1e6 - RESOLUTION_MS);
    const found = {
      p50: msOf(delays.percentile(50)),
      p99: msOf(delays.percentile(99)),
      max: msOf(delays.max),
    };
    delays.reset();
    writeFileSync(file, JSON.stringify(found));
  });
}
