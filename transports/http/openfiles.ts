import { readFileSync } from 'node:fs';

/** The limit of open files of this process, of which each connection takes one; infinite where the system does not say. */
export function openFilesMax(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
