/**
 * Stripe's published description of the operations and fields that this server uses, at version 2025-03-31.basil.
 * Taken on 25 November 2026, by the compiler's own types, from the package `stripe` 18.0.0, which is generated from
 * https://github.com/stripe/openapi at v1642. `[]` is an element of a list, `[*]` any key. A field that is required within an
 * object is required where that object is given.
 */
export type StripeField = 'string' | 'integer' | 'boolean' | readonly string[];

interface Operation {
  readonly fields: Readonly<Record<string, StripeField>>;
  readonly required: readonly string[];
}

export const STRIPE_OPERATIONS: Readonly<Record<string, Operation>> = {
  'POST /v1/checkout/sessions': {
    fields: {
      mode: ['payment', 'setup', 'subscription'],
      client_reference_id: 'string',
      success_url: 'string',
      cancel_url: 'string',
      'line_items[][quantity]': 'integer',
      'line_items[][price_data][currency]': 'string',
      'line_items[][price_data][unit_amount]': 'integer',
      'line_items[][price_data][product_data][name]': 'string',
      'line_items[][price_data][recurring][interval]': ['day', 'month', 'week', 'year'],
      'line_items[][price_data][recurring][interval_count]': 'integer',
      'metadata[*]': 'string',
      'subscription_data[metadata][*]': 'string',
      'payment_intent_data[metadata][*]': 'string',
    },
    required: [
      'line_items[][price_data][currency]',
      'line_items[][price_data][product_data][name]',
      'line_items[][price_data][recurring][interval]',
    ],
  },
  'POST /v1/subscriptions/*': {
    fields: {
      cancel_at_period_end: 'boolean',
      proration_behavior: ['always_invoice', 'create_prorations', 'none'],
      'items[][id]': 'string',
      'items[][price_data][currency]': 'string',
      'items[][price_data][unit_amount]': 'integer',
      'items[][price_data][product]': 'string',
      'items[][price_data][recurring][interval]': ['day', 'month', 'week', 'year'],
      'items[][price_data][recurring][interval_count]': 'integer',
      'metadata[*]': 'string',
    },
    required: [
      'items[][price_data][currency]',
      'items[][price_data][product]',
      'items[][price_data][recurring]',
      'items[][price_data][recurring][interval]',
    ],
  },
  'POST /v1/refunds': {
    fields: {
      payment_intent: 'string',
    },
    required: [],
  },
  'POST /v1/products': {
    fields: {
      id: 'string',
      name: 'string',
    },
    required: ['name'],
  },
  'DELETE /v1/subscriptions/*': {
    fields: {},
    required: [],
  },
  'GET /v1/subscriptions/*': {
    fields: {
      'expand[]': 'string',
    },
    required: [],
  },
  'GET /v1/checkout/sessions/*': {
    fields: {},
    required: [],
  },
  'GET /v1/charges/*': {
    fields: {},
    required: [],
  },
  'GET /v1/invoice_payments': {
    fields: {
      invoice: 'string',
      status: ['canceled', 'open', 'paid'],
    },
    required: [],
  },
};
