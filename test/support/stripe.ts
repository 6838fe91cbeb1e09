import { createHmac, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { STRIPE_OPERATIONS, type StripeField } from './stripe.description.ts';

type Thing = Record<string, unknown> & { readonly id: string; metadata: Record<string, string> };

export interface BilledSubscription extends Thing {
  status: string;
  cancel_at_period_end: boolean;
  ended_at: number | null;
  current_period_start: number;
  current_period_end: number;
  days: number;
  unit_amount: number;
  invoice: { readonly id: string; status: string; readonly payment: string };
}

class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

const DAY_SEC = 86_400;

/**
 * Speaks as Stripe does, as far as this server asks: the calls and objects of its published description, idempotency keys,
 * and signed events. What a person does on its pages, tests do with `pay` and the like.
 *
 * @source https://github.com/stripe/openapi
 */
export class StripeStandIn {
  readonly key = 'sk_test_standin';
  readonly secret = 'whsec_standin';
  readonly sessions = new Map<string, Thing>();
  readonly subscriptions = new Map<string, BilledSubscription>();
  readonly refunds: string[] = [];
  readonly products = new Set<string>();
  /** Every call, as `METHOD path`. */
  readonly calls: string[] = [];
  /** While true, every call is answered 500. */
  isDown = false;
  /** Called before each call is answered, with what is in `calls`. */
  onCall: (call: string) => void = () => undefined;
  /** Unix milliseconds. */
  nowMs = (): number => Date.now();
  readonly #answers = new Map<string, { readonly form: string; readonly value: object }>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #number = 0;

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get #nowSec(): number {
    return Math.floor(this.nowMs() / 1_000);
  }

  #id(prefix: string): string {
    this.#number += 1;
    return `${prefix}_${this.#number}${randomBytes(6).toString('hex')}`;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    try {
      const value = this.#answer(request, Buffer.concat(chunks).toString('utf8'));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    } catch (error) {
      const { status, code } = error instanceof Refused ? error : new Refused(500, String(error));
      const body = { error: { code, type: 'invalid_request_error', message: 'Refused.' } };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
  }

  #answer({ method = '', url = '', headers }: IncomingMessage, body: string): object {
    const { pathname, searchParams } = new URL(url, 'http://stripe');
    this.calls.push(`${method} ${pathname}`);
    this.onCall(`${method} ${pathname}`);
    if (this.isDown) throw new Refused(500, 'api_error');
    if (headers.authorization !== `Bearer ${this.key}`) throw new Refused(401, 'invalid_api_key');
    const form = method === 'POST' ? new URLSearchParams(body) : searchParams;
    const route = `${method} ${pathname.replace(/\/(cs|sub|ch)_\w+$/, '/*')}`;
    checkForm(route, form);
    const idempotencyKey = headers['idempotency-key'];
    if (method !== 'POST' || typeof idempotencyKey !== 'string') return this.#do(route, pathname, form);
    const before = this.#answers.get(idempotencyKey);
    if (before && before.form !== form.toString()) throw new Refused(400, 'idempotency_key_in_use');
    const value = before?.value ?? this.#do(route, pathname, form);
    this.#answers.set(idempotencyKey, { form: form.toString(), value });
    return value;
  }

  #do(route: string, path: string, form: URLSearchParams): object {
    const id = path.split('/').at(-1) ?? '';
    switch (route) {
      case 'POST /v1/checkout/sessions':
        return this.#begin(form);
      case 'GET /v1/checkout/sessions/*':
        return this.sessions.get(id) ?? missing();
      case 'GET /v1/subscriptions/*':
        return subscriptionObject(this.#subscription(id), form.get('expand[]') === 'latest_invoice');
      case 'POST /v1/subscriptions/*':
        return this.#change(this.#subscription(id), form);
      case 'DELETE /v1/subscriptions/*':
        return this.end(this.#subscription(id));
      case 'POST /v1/products':
        if (this.products.has(form.get('id') ?? '')) throw new Refused(400, 'resource_already_exists');
        this.products.add(form.get('id') ?? '');
        return { object: 'product', id: form.get('id'), name: form.get('name') };
      case 'GET /v1/invoice_payments':
        return { object: 'list', data: this.#payments(form.get('invoice') ?? '') };
      case 'GET /v1/charges/*':
        return { object: 'charge', id, refunded: this.refunds.includes(id.replace('ch_', 'pi_')) };
      default:
        return this.#refund(form.get('payment_intent') ?? '');
    }
  }

  #subscription(id: string): BilledSubscription {
    return this.subscriptions.get(id) ?? missing();
  }

  #begin(form: URLSearchParams): Thing {
    const id = this.#id('cs');
    const session: Thing = {
      ...{
        object: 'checkout.session',
        id,
        url: `https://checkout.stripe.test/c/${id}`,
        mode: form.get('mode'),
      },
      ...{ status: 'open', payment_status: 'unpaid', payment_intent: null, subscription: null },
      metadata: marks(form, 'metadata'),
      client_reference_id: form.get('client_reference_id'),
      amount: Number(form.get('line_items[0][price_data][unit_amount]')),
      days: Number(form.get('line_items[0][price_data][recurring][interval_count]') ?? 0),
    };
    this.sessions.set(id, session);
    return session;
  }

  #change(subscription: BilledSubscription, form: URLSearchParams): object {
    if (subscription.status === 'canceled') throw new Refused(404, 'resource_missing');
    if (form.has('cancel_at_period_end'))
      subscription.cancel_at_period_end = form.get('cancel_at_period_end') === 'true';
    const amount = form.get('items[0][price_data][unit_amount]');
    if (amount !== null) {
      if (!this.products.has(form.get('items[0][price_data][product]') ?? '')) missing();
      if (form.get('items[0][id]') !== `si_${subscription.id}`) missing();
      subscription.unit_amount = Number(amount);
    }
    Object.assign(subscription.metadata, marks(form, 'metadata'));
    return subscriptionObject(subscription, false);
  }

  #payments(invoiceId: string): object[] {
    const found = [...this.subscriptions.values()].find(({ invoice }) => invoice.id === invoiceId);
    return found ? [{ payment: { type: 'payment_intent', payment_intent: found.invoice.payment } }] : [];
  }

  #refund(payment: string): object {
    if (this.refunds.includes(payment)) throw new Refused(400, 'charge_already_refunded');
    this.refunds.push(payment);
    return { object: 'refund', id: this.#id('re'), payment_intent: payment, status: 'succeeded' };
  }

  /** Somebody pays on the page. @returns the event of it, which is not sent yet. */
  pay(sessionId: string): object {
    const session = this.sessions.get(sessionId) ?? missing();
    Object.assign(session, { status: 'complete', payment_status: 'paid' });
    if (session.mode === 'subscription') {
      const id = this.#id('sub');
      session.subscription = id;
      const days = Number(session.days);
      this.subscriptions.set(id, {
        ...{
          id,
          metadata: { ...session.metadata },
          status: 'active',
          cancel_at_period_end: false,
          ended_at: null,
        },
        ...{ days, unit_amount: Number(session.amount), current_period_start: this.#nowSec },
        current_period_end: this.#nowSec + days * DAY_SEC,
        invoice: { id: this.#id('in'), status: 'paid', payment: this.#id('pi') },
      });
    } else session.payment_intent = this.#id('pi');
    return this.event('checkout.session.completed', session);
  }

  /** The period is over: the next one begins, and is paid or not. */
  renew(subscription: BilledSubscription, isPaid: boolean): void {
    if (subscription.cancel_at_period_end) {
      this.end(subscription, subscription.current_period_end);
      return;
    }
    subscription.current_period_start = subscription.current_period_end;
    subscription.current_period_end += subscription.days * DAY_SEC;
    subscription.status = isPaid ? 'active' : 'past_due';
    subscription.invoice = { id: this.#id('in'), status: isPaid ? 'paid' : 'open', payment: this.#id('pi') };
  }

  end(subscription: BilledSubscription, atSec = this.#nowSec): object {
    if (subscription.status === 'canceled') throw new Refused(404, 'resource_missing');
    Object.assign(subscription, { status: 'canceled', ended_at: atSec });
    return subscriptionObject(subscription, false);
  }

  event(type: string, object: object): object {
    return { id: this.#id('evt'), object: 'event', type, created: this.#nowSec, data: { object } };
  }

  changed(subscription: BilledSubscription): object {
    const type = subscription.status === 'canceled' ? 'deleted' : 'updated';
    return this.event(`customer.subscription.${type}`, subscriptionObject(subscription, false));
  }

  /** Sends an event. @returns the status of the answer. */
  async send(
    server: string,
    event: object,
    given: { readonly secret?: string; readonly atMs?: number } = {},
  ) {
    const body = JSON.stringify(event);
    const signature = signatureOf(body, given.secret ?? this.secret, given.atMs ?? Date.now());
    const response = await fetch(`${server}/payments/stripe`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
    });
    return response.status;
  }
}

export function signatureOf(body: string, secret: string, atMs: number): string {
  const time = Math.floor(atMs / 1_000);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
}

const isValue = (field: StripeField, value: string): boolean => {
  if (typeof field !== 'string') return field.includes(value);
  if (field === 'integer') return /^-?\d+$/.test(value);
  return field === 'string' ? value.length <= 5_000 : value === 'true' || value === 'false';
};

/** The parameter's name in Stripe's description: list indices and metadata keys (at most 40 characters) become placeholders. */
const described = (name: string): string =>
  name.replaceAll(/\[\d+\]/g, '[]').replace(/(^|\[)(metadata\]?)\[\w{1,40}\]$/, '$1$2[*]');

/** @throws Refused for an operation, a parameter or a value that Stripe's published description does not have. */
export function checkForm(route: string, form: URLSearchParams): void {
  const operation = STRIPE_OPERATIONS[route];
  if (!operation) throw new Refused(404, `unknown route ${route}`);
  const given = new Set<string>();
  for (const [name, value] of form) {
    const field = operation.fields[described(name)];
    if (!field) throw new Refused(400, `parameter_unknown ${name}`);
    if (!isValue(field, value)) throw new Refused(400, `parameter_invalid ${name}`);
    given.add(described(name));
  }
  for (const name of operation.required) {
    const parent = name.replace(/\[\w+\]$/, '');
    const isWanted = parent === name || [...given].some((each) => each.startsWith(`${parent}[`));
    const isGiven = [...given].some((each) => each === name || each.startsWith(`${name}[`));
    if (isWanted && !isGiven) throw new Refused(400, `parameter_missing ${name}`);
  }
}

function missing(): never {
  throw new Refused(404, 'resource_missing');
}

const marks = (form: URLSearchParams, at: string): Record<string, string> =>
  Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const [, mark] = new RegExp(`^${at}\\[(\\w+)\\]$`).exec(name) ?? [];
      return mark === undefined ? [] : [[mark, value]];
    }),
  );

function subscriptionObject(subscription: BilledSubscription, isExpanded: boolean): object {
  const { id, metadata, status, cancel_at_period_end, ended_at, invoice } = subscription;
  const { current_period_start, current_period_end } = subscription;
  return {
    ...{ object: 'subscription', id, metadata, status, cancel_at_period_end, ended_at, cancel_at: null },
    latest_invoice: isExpanded ? { object: 'invoice', id: invoice.id, status: invoice.status } : invoice.id,
    items: { object: 'list', data: [{ id: `si_${id}`, current_period_start, current_period_end }] },
  };
}
