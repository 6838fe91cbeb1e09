import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Lifetime } from './clock.ts';

/** Bytes that a heap occupies, and bytes of them in use. */
interface HeapUse {
  readonly occupiedBytes: number;
  readonly usedBytes: number;
}

/** The part of V8's heap that holds what has lived for a while. */
export interface Heap {
  use(): HeapUse;
  /** Share of the time since the last call in which the event loop ran code: 0 to 1. */
  utilization(): number;
  /** Moves what is in use together, so that free pages return to the system. Nothing else runs meanwhile. */
  compact(): void;
}

interface IdleHeapPorts {
  readonly isEnabled: boolean;
  readonly scope: Pick<Lifetime, 'pause' | 'run' | 'monotonic'>;
  readonly heap: Heap;
  readonly onCompacted: (done: Compaction) => void;
  readonly onFault: (error: unknown) => void;
}

interface Compaction {
  readonly beforeBytes: number;
  readonly afterBytes: number;
  readonly pauseMs: number;
}

const LOOK_MS = 10_000;
/** A pause costs about five milliseconds for a megabyte in use, so it must be worth it, and rare. */
const REST_MS = 60_000;
const FREE_BYTES_MIN = 16 * 2 ** 20;
const FREE_SHARE_MIN = 0.25;
const UTILIZATION_MAX = 0.1;

/**
 * Compacts the heap of a process that is idle. V8 compacts pages only when hardly anything on them is in use, so that a server
 * at which many sessions have begun or ended keeps up to twice the memory that it uses.
 */
export function keepHeapCompact(ports: IdleHeapPorts): void {
  if (ports.isEnabled) void ports.scope.run(compactingLoop(ports).catch(ports.onFault));
}

async function compactingLoop({ scope, heap, onCompacted }: IdleHeapPorts): Promise<void> {
  let waitMs = LOOK_MS;
  while (await scope.pause(waitMs)) {
    waitMs = LOOK_MS;
    const before = heap.use();
    if (heap.utilization() > UTILIZATION_MAX || !isWorthIt(before)) continue;
    const beganMs = scope.monotonic();
    heap.compact();
    const pauseMs = scope.monotonic() - beganMs;
    onCompacted({ beforeBytes: before.occupiedBytes, afterBytes: heap.use().occupiedBytes, pauseMs });
    waitMs = REST_MS;
  }
}

function isWorthIt({ occupiedBytes, usedBytes }: HeapUse): boolean {
  const free = occupiedBytes - usedBytes;
  return free >= FREE_BYTES_MIN && free >= occupiedBytes * FREE_SHARE_MIN;
}

/** The heap of this thread. @param loopUse Reads the use of its event loop, since an earlier reading where one is given. */
export function processHeap(
  loopUse: (since?: EventLoopUtilization) => EventLoopUtilization = performance.eventLoopUtilization,
): Heap {
  let since = loopUse();
  let collect: unknown = null;
  return {
    use: () => {
      const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
      return { occupiedBytes: old?.physical_space_size ?? 0, usedBytes: old?.space_used_size ?? 0 };
    },
    utilization: () => {
      const { utilization } = loopUse(since);
      since = loopUse();
      return utilization;
    },
    compact: () => {
      if (collect === null) {
        setFlagsFromString('--expose-gc');
        collect = runInNewContext('gc');
      }
      setFlagsFromString('--compact-on-every-full-gc');
      try {
        if (typeof collect === 'function') collect();
      } finally {
        setFlagsFromString('--no-compact-on-every-full-gc');
      }
    },
  };
}
