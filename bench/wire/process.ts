import { readFileSync } from 'node:fs';

/** Clock ticks of /proc in a second; Linux has used 100 on every architecture Node runs on. */
const TICKS_PER_SECOND = 100;

export interface Usage {
  /** User and system time since the process began. */
  readonly cpuMicros: number;
  readonly rssBytes: number;
}

/** What a process of this machine has used, all threads; null where there is no /proc or no such process. */
export function usageOf(pid: number): Usage | null {
  try {
    // The name in the second field may contain anything but ends with the last parenthesis.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return { cpuMicros: (ticks * 1e6) / TICKS_PER_SECOND, rssBytes: Number(rss?.[1] ?? 0) * 1024 };
  } catch {
    return null;
  }
}
