import type { Price } from '../../protocol/premium.ts';

/** Currencies without a smaller unit have no digits after the point; the runtime's own table says which. */
export function priceWords({ amount, currency, days }: Price, isSubscription: boolean): string {
  const code = currency.toUpperCase();
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: code, currencyDisplay: 'code' });
  const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
  const words = format.format(amount / 10 ** digits).replaceAll('\u00a0', ' ');
  if (!isSubscription) return words;
  return days === 1 ? `${words} every day` : `${words} every ${days} days`;
}
