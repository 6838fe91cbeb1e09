import { readFileSync } from 'node:fs';

/** Clock ticks of /proc per second; Linux uses 100 on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface Usage {
  /** User and system time since the process began. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

/** A server of one process, or of several. */
export type Pids = number | readonly number[];

/** Resources used by processes of this machine together; null without /proc, or when one of them has exited. */
export function usageOf(pids: Pids): Usage | null {
  const used = (typeof pids === 'number' ? [pids] : pids).map(usageOfOne);
  return used.reduce(
    (all, one) =>
      all && one && { cpuMicros: all.cpuMicros + one.cpuMicros, rssBytes: all.rssBytes + one.rssBytes },
    { cpuMicros: 0, rssBytes: 0 },
  );
}

function usageOfOne(pid: number): Usage | null {
  try {
    // The name in the second field may contain any character, but ends at the last parenthesis.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return { cpuMicros: (ticks * 1e6) / TICKS_PER_SECOND, rssBytes: Number(rss?.[1] ?? 0) * 1024 };
  } catch {
    return null;
  }
}
