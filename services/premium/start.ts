import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { SubscriptionClock } from './clock.ts';
import { byHand, byProvider, type PaymentProvider, type Payments } from './payments.ts';
import { createPremium, type Premium, type PremiumPorts } from './premium.ts';

interface StartPorts extends Omit<PremiumPorts, 'nowMs' | 'routing'> {
  readonly routing: Routing;
  readonly wheel: Wheel;
  readonly clock: Pick<Clock, 'now'>;
  /** Null: nobody pays here, and the operator gives by hand what was sold. */
  readonly provider: PaymentProvider | null;
  readonly onFault: (error: unknown, where: string) => void;
}

/** What applications sell, with the clock of subscriptions. */
export interface ServedPremium extends Premium {
  readonly payments: Payments;
  /** Looks for what is due: the time was moved. */
  look(): void;
  close(): void;
}

export function startPremium(ports: StartPorts): ServedPremium {
  const nowMs = () => ports.clock.now();
  const premium = createPremium({ ...ports, nowMs });
  const { routing, wheel, storage, provider } = ports;
  const payments = provider === null ? byHand(premium) : byProvider({ ...ports, premium, provider, nowMs });
  const clock = new SubscriptionClock({
    ...{ store: storage.premium, settle: payments.settle, routing, wheel, nowMs },
    onFault: (error) => ports.onFault(error, 'subscriptions'),
  });
  clock.start();
  return { ...premium, payments, look: () => clock.look(), close: () => clock.stop() };
}
