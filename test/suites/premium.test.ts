// Goal: only unpaid orders are deleted by age, and SKUs with perks are found, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { snowflakeAt } from '../../protocol/ids.ts';
import type { Order, Sku } from '../../protocol/premium.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const APPLICATION = id<ApplicationId>('900');
const PAYER = id<UserId>('901');
const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-06-01');

describe.each(databases())('products and orders on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.premium;
  const write = (...facts: Parameters<typeof commit>[2][]) =>
    commit(fresh.storage.writer, APPLICATION, ...facts);
  const ordered = (createdMs: number, state: Order['state']): Order => ({
    ...{
      id: snowflakeAt(createdMs),
      applicationId: APPLICATION,
      skuId: id('910'),
      payerId: PAYER,
      state,
      createdMs,
    },
    ...{ to: { userId: PAYER, guildId: null }, price: { amount: 1, currency: 'eur', days: 30 } },
    ...{ paymentId: null, billingId: null, entitlementId: null, subscriptionId: null },
  });

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  test('unpaid orders are deleted by age, up to a limit at once, and paid orders are kept', async () => {
    const old = [40, 35, 31].map((days) => ordered(NOW_MS - days * DAY_MS, 'open'));
    const kept = [
      ordered(NOW_MS - 29 * DAY_MS, 'open'),
      ordered(NOW_MS - 50 * DAY_MS, 'paid'),
      ordered(NOW_MS - 51 * DAY_MS, 'surplus'),
    ];
    await write(...[...old, ...kept].map((order) => ({ type: 'orderWritten', order }) as const));
    const forget = (limit: number) => store().forgetOrders(NOW_MS - 30 * DAY_MS, limit);
    expect([await forget(2), await forget(2), await forget(2)]).toEqual([2, 1, 0]);
    for (const order of old) expect(await store().order(APPLICATION, order.id)).toBeNull();
    for (const order of kept) expect(await store().order(APPLICATION, order.id)).toEqual(order);
  });

  test('SKUs with perks are listed, and SKUs without perks are not', async () => {
    const sku = (skuId: string): Sku => ({
      ...{ id: id(skuId), application_id: APPLICATION, type: 5, name: 'Patron', slug: 'patron', flags: 4 },
    });
    const gold = { ...sku('911'), perks: { guildTier: 3, premiumType: 0 } } as const;
    await write({ type: 'skuWritten', sku: sku('912') }, { type: 'skuWritten', sku: gold });
    expect(await store().skusWithPerks()).toEqual([gold]);
  });
});
