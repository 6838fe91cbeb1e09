import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { createSubscriptionClock } from './clock.ts';
import { byHand, byProvider, type PaymentProvider, type Payments } from './payments.ts';
import { createPerks } from './perks.ts';
import { createPremium, type Premium, type PremiumPorts } from './premium.ts';

interface StartPorts extends Omit<PremiumPorts, 'nowMs' | 'routing' | 'perks'> {
  readonly routing: Routing;
  readonly wheel: Wheel;
  /** Ends the work in the background. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Null: no payments are configured, and the operator grants by hand what was sold. */
  readonly provider: PaymentProvider | null;
}

/** The items that applications sell, with the clock of subscriptions. */
export interface ServedPremium extends Premium {
  readonly payments: Payments;
  /** Looks for due subscriptions at once: the clock was moved. */
  look(): void;
}

export function startPremium(ports: StartPorts): ServedPremium {
  const nowMs = () => ports.clock.now();
  const { routing, wheel, scope, storage, provider, guilds } = ports;
  const perks = createPerks({ store: storage.premium, guilds, nowMs });
  const premium = createPremium({ ...ports, nowMs, perks });
  const payments = provider === null ? byHand(premium) : byProvider({ ...ports, premium, provider, nowMs });
  const clock = createSubscriptionClock({
    ...{ store: storage.premium, settle: payments.settle, routing, wheel, scope, nowMs },
    applyPerks: perks.applyAll,
    onFault: (error) => ports.onFault(error, 'subscriptions'),
  });
  clock.start();
  return { ...premium, payments, look: () => clock.look() };
}
