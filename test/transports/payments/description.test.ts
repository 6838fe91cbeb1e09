// Goal: the stand-in refuses what Stripe's published description does not have, so that a wrong call of ours fails a test.
import { describe, expect, test } from 'vitest';
import { checkForm } from '../../support/stripe.ts';

const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields);
const SESSIONS = 'POST /v1/checkout/sessions';
const price = (fields: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [`line_items[0][price_data]${name}`, value]),
  );
const GOOD = {
  ...{ mode: 'payment', client_reference_id: '1', 'metadata[guildhall_order]': '1' },
  ...price({ '[currency]': 'eur', '[unit_amount]': '499', '[product_data][name]': 'Lantern' }),
};

describe('the stand-in of Stripe', () => {
  test.each([
    [SESSIONS, GOOD],
    ['POST /v1/refunds', { payment_intent: 'pi_1' }],
    ['POST /v1/subscriptions/*', { cancel_at_period_end: 'true' }],
    ['GET /v1/invoice_payments', { invoice: 'in_1', status: 'paid' }],
  ])('takes %s with %j', (route, fields) => {
    expect(() => checkForm(route, form(fields))).not.toThrow();
  });

  test.each([
    ['GET /v1/customers', {}, 'unknown route'],
    [SESSIONS, { ...GOOD, card_number: '4242' }, 'parameter_unknown card_number'],
    [SESSIONS, { ...GOOD, mode: 'gift' }, 'parameter_invalid mode'],
    [SESSIONS, { ...GOOD, 'line_items[0][quantity]': '1.5' }, 'parameter_invalid'],
    [SESSIONS, { ...GOOD, [`metadata[${'x'.repeat(41)}]`]: '1' }, 'parameter_unknown'],
    [SESSIONS, price({ '[unit_amount]': '499' }), 'parameter_missing line_items[][price_data][currency]'],
    [SESSIONS, { ...GOOD, ...price({ '[recurring][interval_count]': '3' }) }, 'parameter_missing'],
    [SESSIONS, { ...GOOD, ...price({ '[recurring][interval]': 'hour' }) }, 'parameter_invalid'],
    ['POST /v1/subscriptions/*', { cancel_at_period_end: '1' }, 'parameter_invalid cancel_at_period_end'],
    ['POST /v1/products', { id: 'x' }, 'parameter_missing name'],
  ])('refuses %s with %j: %s', (route, fields, message) => {
    expect(() => checkForm(route, form(fields))).toThrow(message);
  });
});
