import { createHmac, timingSafeEqual } from 'node:crypto';

/** Tolerance for a message's age, in both directions. Others are refused as possible replays. */
const TOLERANCE_SEC = 300;
/** Signatures that are read of one message: one for each secret while secrets are rotated. */
const SIGNATURES_MAX = 8;
const HEADER_CHARACTERS_MAX = 2_048;

/**
 * Whether Stripe signed this message within the last minutes. The header is `t=<Unix seconds>,v1=<hex>[,v1=<hex>…]`, and what is
 * signed is the time, a full stop and the body as it was sent.
 *
 * @source https://docs.stripe.com/webhooks#verify-manually
 */
export function isSigned(
  body: Uint8Array,
  header: string,
  { secret, nowMs }: { readonly secret: string; readonly nowMs: number },
): boolean {
  if (header.length > HEADER_CHARACTERS_MAX) return false;
  const pairs = header.split(',').map((pair) => pair.trim().split('='));
  const times = pairs.filter(([name]) => name === 't').map(([, value = '']) => value);
  const [time = ''] = times;
  if (times.length !== 1 || !/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(nowMs / 1_000 - Number(time)) > TOLERANCE_SEC) return false;
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest();
  const given = pairs.filter(([name, value = '']) => name === 'v1' && /^[0-9a-f]{64}$/.test(value));
  // Each is compared, so that the time taken does not reveal which one is right.
  return given
    .slice(0, SIGNATURES_MAX)
    .map(([, hex = '']) => timingSafeEqual(Buffer.from(hex, 'hex'), expected))
    .includes(true);
}
