import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { SubscriptionClock } from './clock.ts';
import { createPremium, type Premium, type PremiumPorts } from './premium.ts';

interface StartPorts extends Omit<PremiumPorts, 'nowMs' | 'routing'> {
  readonly routing: Routing;
  readonly wheel: Wheel;
  readonly clock: Pick<Clock, 'now'>;
  readonly onFault: (error: unknown, where: string) => void;
}

/** What applications sell, with the clock of subscriptions. */
export interface ServedPremium extends Premium {
  close(): void;
}

export function startPremium(ports: StartPorts): ServedPremium {
  const nowMs = () => ports.clock.now();
  const premium = createPremium({ ...ports, nowMs });
  const { routing, wheel, storage } = ports;
  const clock = new SubscriptionClock({
    ...{ store: storage.premium, run: premium.run, routing, wheel, nowMs },
    onFault: (error) => ports.onFault(error, 'subscriptions'),
  });
  clock.start();
  return { ...premium, close: () => clock.stop() };
}
