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
    const { own } = ticksOf(pid);
    const rss = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return { cpuMicros: microsOf(own), rssBytes: Number(rss?.[1] ?? 0) * 1024 };
  } catch {
    return null;
  }
}

/**
 * Memory that processes of one program take together, where the pages of files that several of them map count once: the sum of what
 * each has alone, and the most that one shares with others. Null without /proc, or when one of them has exited.
 */
export function residentOnce(pids: readonly number[]): number | null {
  try {
    const kibOf = (rollup: string, kind: string): number =>
      [...rollup.matchAll(new RegExp(`^${kind}_(?:Clean|Dirty):\\s+(\\d+) kB`, 'gm'))].reduce(
        (sum, [, kib]) => sum + Number(kib),
        0,
      );
    const rollups = pids.map((pid) => readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
    const own = rollups.reduce((sum, rollup) => sum + kibOf(rollup, 'Private'), 0);
    return (own + Math.max(0, ...rollups.map((rollup) => kibOf(rollup, 'Shared')))) * 1024;
  } catch {
    return null;
  }
}

const microsOf = (ticks: number): number => (ticks * 1e6) / TICKS_PER_SECOND;

function ticksOf(pid: number): { readonly own: number; readonly ofEndedChildren: number } {
  // The name in the second field may contain any character, but ends at the last parenthesis.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const sum = (first: number): number => (fields[first] ?? 0) + (fields[first + 1] ?? 0);
  return { own: sum(11), ofEndedChildren: sum(13) };
}

/**
 * CPU time of a process and of all its descendants, those that have ended included, so that a killed process and its
 * successor both count; null without /proc, or when the process has exited.
 */
export function cpuMicrosOfTree(pid: number): number | null {
  try {
    const { own, ofEndedChildren } = ticksOf(pid);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    const inChildren = children.map((child) => cpuMicrosOfTree(Number(child)) ?? 0);
    return microsOf(own + ofEndedChildren) + inChildren.reduce((sum, each) => sum + each, 0);
  } catch {
    return null;
  }
}
