import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Provisional } from './ports.ts';
import { createProvisional, type ProvisionalPorts } from './provisional.ts';

interface StartPorts extends Omit<ProvisionalPorts, 'schedule'> {
  readonly wheel: Pick<Wheel, 'after'>;
}

/**
 * Provisional accounts until `close`. Moves that an earlier run left unfinished are resumed once the caller has
 * returned.
 */
export function startProvisional(ports: StartPorts): Provisional {
  let closed = false;
  const { resume, ...provisional } = createProvisional({
    ...ports,
    schedule(run, delayMs) {
      if (!closed) ports.wheel.after(run, delayMs);
    },
  });
  queueMicrotask(() => {
    resume().catch((error: unknown) => closed || ports.onFault(error));
  });
  return {
    ...provisional,
    close() {
      closed = true;
    },
  };
}
