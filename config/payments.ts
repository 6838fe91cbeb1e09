import { boolean, optional } from './kinds.ts';

/** Settings of sales by applications, and of the payment provider. */
export const PAYMENTS = {
  owners_manage_skus: boolean(
    true,
    'Whether the owners of applications, and the developers of their teams, add, rename, publish and withdraw what their applications sell. Prices and perks are set by the operator alone.',
  ),
  stripe_key: optional(
    'a secret key such as sk_live_…',
    '^[\\x21-\\x7e]{8,}$',
    'Secret key of the account at Stripe that takes the money for what applications sell. With stripe_webhook_secret people can buy in the stores of applications; when either is null, the operator gives by hand what was sold.',
    true,
  ),
  stripe_webhook_secret: optional(
    'a signing secret such as whsec_…',
    '^[\\x21-\\x7e]{8,}$',
    'Signing secret of the webhook endpoint that Stripe calls: this server at /payments/stripe.',
    true,
  ),
  stripe_url: optional(
    'a URL such as https://api.stripe.com without a trailing slash',
    '^(https://[^\\s/?#]+|http://(localhost|127\\.0\\.0\\.1)(:\\d{1,5})?)$',
    'URL of something that speaks as Stripe does, for tests; without TLS only on this machine. When null it is Stripe.',
  ),
};
