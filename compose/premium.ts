import { oauthGuilds } from '../services/oauth/guilds.ts';
import { startPremium } from '../services/premium/start.ts';
import { createStore } from '../services/premium/store.ts';
import { stripeCalls } from '../transports/payments/stripe.http.ts';
import { createStripe } from '../transports/payments/stripe.ts';
import type { Features, ServiceContext } from './context.ts';

/** What applications sell, with the payment provider where one is configured, and their stores. */
export function createPremium(context: ServiceContext): Pick<Features, 'premium' | 'store'> {
  const { config, storage, guilds, clock, publicUrl } = context;
  const { stripe_key: key, stripe_webhook_secret: secret, stripe_url: url } = config;
  const isConfigured = key !== null && secret !== null;
  const provider = isConfigured ? createStripe({ call: stripeCalls({ url, key }), publicUrl }) : null;
  const premium = startPremium({ ...context, provider });
  const store = createStore({
    storage,
    payments: premium.payments,
    guildsOf: oauthGuilds(guilds, storage.users).guildsOf,
    nowMs: () => clock.now(),
  });
  return { premium, store };
}
