import { isRecord } from '../../protocol/json.ts';

/** A call that Stripe refused or did not answer; the message quotes neither the key nor what was sent. */
export class StripeFault extends Error {
  override readonly name = 'StripeFault';
  /** Stripe's code of its refusal; null for anything else. */
  readonly code: string | null;

  constructor(message: string, code: string | null = null) {
    super(message);
    this.code = code;
  }
}

export type StripeObject = Readonly<Record<string, unknown>>;

export type StripeCall = (
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  fields?: Readonly<Record<string, string | number | boolean>>,
  /** Repeating a call with the same key does nothing more. */
  idempotencyKey?: string,
) => Promise<StripeObject>;

const STRIPE_URL = 'https://api.stripe.com';
/** The version whose objects are read here. */
const VERSION = '2025-03-31.basil';
const TIMEOUT_MS = 20_000;
const ANSWER_BYTES_MAX = 1 << 20;
const UNDER_WAY_MAX = 64;

/**
 * Calls of Stripe's API. Redirects are not followed; time, size and concurrent calls are bounded.
 *
 * @source https://docs.stripe.com/api; https://github.com/stripe/openapi
 */
export function stripeCalls({ url, key }: { readonly url: string | null; readonly key: string }): StripeCall {
  let underWay = 0;
  return async (method, path, fields = {}, idempotencyKey) => {
    if (underWay >= UNDER_WAY_MAX) throw new StripeFault('Too many calls of Stripe are under way.');
    underWay += 1;
    try {
      const form = new URLSearchParams();
      for (const [name, value] of Object.entries(fields)) form.set(name, String(value));
      const inUrl = method === 'GET' && form.size > 0 ? `?${form}` : '';
      const answer = await fetch(`${url ?? STRIPE_URL}${path}${inUrl}`, {
        method,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          authorization: `Bearer ${key}`,
          'stripe-version': VERSION,
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(method === 'POST' && { body: form.toString() }),
      }).catch((error: unknown) => {
        throw new StripeFault(`Stripe was not reached: ${error instanceof Error ? error.name : 'unknown'}.`);
      });
      return objectOf(answer.status, await textOf(answer));
    } finally {
      underWay -= 1;
    }
  };
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new StripeFault('The answer of Stripe is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function objectOf(status: number, text: string): StripeObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StripeFault(`The answer of Stripe is not JSON; its status is ${status}.`);
  }
  if (!isRecord(value)) throw new StripeFault('The answer of Stripe is no object.');
  if (status === 200) return value;
  const { code, type } = isRecord(value.error) ? value.error : {};
  const name = String(code ?? type ?? status).slice(0, 64);
  throw new StripeFault(`Stripe refused a call: ${name}.`, name);
}
