import { readdirSync, readFileSync } from 'node:fs';

/** The limit of open files of this process, of which each connection takes one; infinite where the system does not say. */
export function openFilesMax(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** The files that this process has open; 0 where the system does not say. */
export function openFilesCount(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return 0;
  }
}

/** Kept for all but WebSockets: at most so many files, and at most this share of the limit. */
const RESERVED_MAX = 500;
const RESERVED_SHARE = 0.25;
/**
 * Counting 20,000 files takes milliseconds. It is done again after so many sockets, or this share of the free files if that is more:
 * other files may be opened in between. Where no socket may be opened, it is done again after so long.
 */
const PER_COUNT = 100;
const PER_COUNT_SHARE = 0.1;
const COUNT_AGAIN_MS = 50;

interface OpenFilesPorts {
  readonly max: number;
  readonly count: () => number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

/** Lets WebSockets in only while the process has files left for everything else: the database, journals, HTTP. */
export class OpenFiles {
  readonly #ports: OpenFilesPorts;
  readonly #usable: number;
  #left = 0;
  /** When a count found no room; negative infinity while there is room. */
  #fullMs = Number.NEGATIVE_INFINITY;

  constructor(ports: OpenFilesPorts) {
    this.#ports = ports;
    const { max } = ports;
    this.#usable = max - Math.min(RESERVED_MAX, Math.floor(max * RESERVED_SHARE));
  }

  /** Counts a further socket. @returns false when it must be refused. */
  take(): boolean {
    if (this.#usable === Number.POSITIVE_INFINITY) return true;
    if (this.#left === 0) this.#recount();
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }

  #recount(): void {
    const { count, nowMs } = this.#ports;
    if (nowMs() - this.#fullMs < COUNT_AGAIN_MS) return;
    const free = Math.max(0, this.#usable - count());
    this.#left = Math.min(free, Math.max(PER_COUNT, Math.floor(free * PER_COUNT_SHARE)));
    this.#fullMs = this.#left === 0 ? nowMs() : Number.NEGATIVE_INFINITY;
  }
}
