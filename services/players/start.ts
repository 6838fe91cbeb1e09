import type { Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { Provisional } from './ports.ts';
import { createProvisional, type ProvisionalPorts } from './provisional.ts';

interface StartPorts extends Omit<ProvisionalPorts, 'schedule'> {
  readonly wheel: Pick<Wheel, 'after'>;
  readonly scope: Pick<Lifetime, 'over'>;
}

/**
 * Provisional accounts. Moves that an earlier run left unfinished are resumed once the caller has
 * returned.
 */
export function startProvisional(ports: StartPorts): Provisional {
  const { wheel, scope, onFault } = ports;
  const { resume, ...provisional } = createProvisional({
    ...ports,
    schedule(run, delayMs) {
      if (!scope.over) wheel.after(run, delayMs);
    },
  });
  queueMicrotask(() => {
    resume().catch((error: unknown) => scope.over || onFault(error));
  });
  return provisional;
}
