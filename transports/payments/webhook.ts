import { networkOf } from '../../protocol/addresses.ts';
import type { Payments } from '../../services/premium/payments.ts';
import { BodyMemory, BodyStream } from '../http/body.ts';
import { Exchange } from '../http/exchange.ts';
import type { Installer } from '../http/server.ts';
import { isSigned } from './signature.ts';
import { noticeOf } from './stripe.ts';

interface WebhookDeps {
  readonly notice: Payments['notice'];
  /** Signing secret of the endpoint, as Stripe's dashboard shows it. */
  readonly secret: string;
  readonly requestTimeoutMs: number;
  readonly trustProxy: boolean;
  /** The time of the machine, in Unix milliseconds: also where the time of the server has been moved. */
  readonly nowMs: () => number;
  readonly clock: {
    monotonic(): number;
    setTimer(run: () => void, delayMs: number): { cancel(): void };
  };
  readonly onFault: (error: unknown) => void;
}

const WEBHOOK_PATH = '/payments/stripe';
const BODY_BYTES_MAX = 512 << 10;
const BODIES = {
  bytesMax: 8 << 20,
  reservedBytes: 4 << 20,
  addressBytesMax: 2 << 20,
  userBytesMax: 2 << 20,
} as const;

/**
 * Receives Stripe's events. An unsigned event is refused (400); one that could not be processed is answered 503, so Stripe
 * sends it again, for three days.
 *
 * @source https://docs.stripe.com/webhooks
 */
export function stripeWebhook(deps: WebhookDeps): Installer {
  const memory = new BodyMemory(BODIES, () => deps.clock.monotonic());
  return (app, state) => {
    app.post(WEBHOOK_PATH, (res, req) => {
      const exchange = new Exchange(res, req, state);
      const account = memory.open(networkOf(exchange.address(deps.trustProxy)));
      const bounds = { bytesMax: BODY_BYTES_MAX, timeoutMs: deps.requestTimeoutMs };
      const body = new BodyStream(exchange, bounds, account, deps.clock);
      const answering = answered(exchange, body, deps)
        .catch((error: unknown) => {
          deps.onFault(error);
          return 503;
        })
        .then(async (status) => {
          const after = status === 408 ? 'cut' : (await body.discard()) ? 'stays' : 'unread';
          exchange.send(status, { 'Cache-Control': 'no-store' }, '', after);
        })
        .finally(() => body.release());
      void state.run(answering);
    });
  };
}

async function answered(exchange: Exchange, body: BodyStream, deps: WebhookDeps): Promise<number> {
  const signature = exchange.headers.get('stripe-signature');
  if (signature === undefined) return 400;
  const chunks: Uint8Array[] = [];
  const end = await body.consume((chunk) => chunks.push(chunk));
  if (end === 'tooLarge') return 413;
  if (end === 'timeout' || end === 'aborted') return 408;
  if (end !== 'complete') return 503;
  const bytes = Buffer.concat(chunks);
  if (!isSigned(bytes, signature, { secret: deps.secret, nowMs: deps.nowMs() })) return 400;
  const notice = noticeOf(parsed(bytes));
  if (notice === null) return 200;
  const reply = await deps.notice(notice);
  // A refusal is final: the application or the order is gone.
  return reply.ok || reply.refusal.status < 500 ? 200 : 503;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
