// Goal: what is bought gives access as long as it is paid, however the provider's messages come.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { givesAccess } from '../../../engine/premium/premium.ts';
import { decidePremium, type PremiumCommand } from '../../../engine/premium/rules.ts';
import { type ApplicationId, type SkuId, snowflakeOf, type UserId } from '../../../protocol/ids.ts';
import {
  type Billing,
  type Entitlement,
  type Order,
  SKU_FLAG,
  SKU_TYPE,
  type Sku,
  SUBSCRIPTION_STATUS as STATUS,
  type Subscription,
} from '../../../protocol/premium.ts';
import { id } from '../../support/guild.ts';

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const PERIOD_MS = 30 * DAY_MS;
/** How long access outlasts a period while its renewal is collected. */
const GRACE_MS = 3 * 3_600_000;
const applicationId: ApplicationId = snowflakeOf(7n);
const [payerId, friendId]: UserId[] = [snowflakeOf(8n), snowflakeOf(9n)];
const price = { amount: 499, currency: 'eur', days: 30 };

const skuOf = (skuId: string, type: Sku['type'], flags: number, priced = true): Sku => ({
  ...{
    id: id<SkuId>(skuId),
    application_id: applicationId,
    type,
    name: skuId,
    slug: skuId,
    flags: flags | SKU_FLAG.AVAILABLE,
  },
  ...(priced && { price }),
});
const SKUS = [
  skuOf('1', SKU_TYPE.SUBSCRIPTION, SKU_FLAG.USER),
  skuOf('2', SKU_TYPE.SUBSCRIPTION, SKU_FLAG.USER),
  skuOf('3', SKU_TYPE.CONSUMABLE, 0),
  skuOf('4', SKU_TYPE.DURABLE, 0),
  skuOf('5', SKU_TYPE.DURABLE, 0, false),
];

/** Everything that commands have written, as a database keeps it. */
class Kept {
  readonly entitlements = new Map<string, Entitlement>();
  readonly subscriptions = new Map<string, Subscription>();
  readonly orders = new Map<string, Order>();
  readonly changes: string[] = [];
  rulesMs = START_MS;
  skus: readonly Sku[] = SKUS;
  #id = 100n;

  /** @param isKept Whether its facts become durable; a crash before loses all of them. @returns the code of a refusal. */
  run(command: PremiumCommand, nowMs: number, isKept = true): number | null {
    const open = [...this.orders.values()].findLast(({ state }) => state === 'open') ?? null;
    const order =
      'orderId' in command
        ? (this.orders.get(command.orderId) ?? null)
        : command.kind === 'order'
          ? open
          : null;
    const subscriptionId = 'subscriptionId' in command ? command.subscriptionId : order?.subscriptionId;
    const subscription = this.subscriptions.get(subscriptionId ?? '') ?? null;
    const lastId = subscription?.entitlementIds.at(-1) ?? order?.entitlementId ?? '';
    const skuId = 'skuId' in command ? command.skuId : order?.skuId;
    const nextId = () => {
      this.#id += 1n;
      return snowflakeOf(this.#id);
    };
    const outcome = decidePremium(
      {
        ...{
          applicationId,
          skus: this.skus,
          order,
          subscription,
          entitlement: this.entitlements.get(lastId) ?? null,
        },
        held: [...this.entitlements.values()].filter((each) => each.skuId === skuId && !each.deleted),
      },
      command,
      { nowMs, nextId, rulesMs: this.rulesMs },
    );
    if (!outcome.ok) return outcome.refusal.code;
    for (const fact of isKept ? outcome.facts : []) {
      if (fact.type === 'entitlementWritten') this.entitlements.set(fact.entitlement.id, fact.entitlement);
      if (fact.type === 'subscriptionWritten')
        this.subscriptions.set(fact.subscription.id, fact.subscription);
      if (fact.type === 'orderWritten') this.orders.set(fact.order.id, fact.order);
      if ('change' in fact && fact.change) this.changes.push(`${fact.type} ${fact.change}`);
    }
    return null;
  }

  access(nowMs: number): string[] {
    return [...this.entitlements.values()]
      .filter((each) => givesAccess(each, nowMs))
      .map(({ skuId }) => skuId);
  }

  order(skuId: string, nowMs = START_MS): string {
    const to = { userId: payerId!, guildId: null };
    expect(this.run({ kind: 'order', skuId: id(skuId), to, payerId: payerId! }, nowMs)).toBeNull();
    return [...this.orders.keys()].at(-1) ?? '';
  }
}

const firstPeriod: Billing = {
  ...{
    id: 'sub_1',
    state: 'running',
    skuId: id('1'),
    periodStartMs: START_MS,
    periodEndMs: START_MS + PERIOD_MS,
  },
  ...{ paidUntilMs: START_MS + PERIOD_MS, endedMs: null },
};

/** The payment provider's state. It collects or does not, and ends unpaid subscriptions. */
class Provider {
  billing = firstPeriod;

  /** @param pays Whether a renewal that is due by then is paid. */
  advance(nowMs: number, pays: boolean): void {
    const { billing } = this;
    if (billing.state === 'over') return;
    if (billing.state === 'ending' && nowMs >= billing.periodEndMs)
      this.billing = { ...billing, state: 'over', endedMs: billing.periodEndMs };
    else if (nowMs >= billing.periodEndMs) {
      const periodStartMs = billing.periodEndMs;
      const periodEndMs = periodStartMs + PERIOD_MS;
      const paidUntilMs = pays ? periodEndMs : periodStartMs;
      this.billing = { ...billing, periodStartMs, periodEndMs, paidUntilMs };
    } else if (pays) this.billing = { ...billing, paidUntilMs: billing.periodEndMs };
  }
}

const steps = fc.array(
  fc.record({
    byMs: fc.integer({ min: 0, max: 20 * DAY_MS }),
    pays: fc.boolean(),
    cancels: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    /** How often what is true at the provider is heard of: lost, once, twice. */
    heard: fc.integer({ min: 0, max: 2 }),
    crashes: fc.boolean(),
  }),
  { maxLength: 25 },
);

test('access is as long as what was paid, over lost and repeated messages, crashes and renewals that fail', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const [kept, provider] = [new Kept(), new Provider()];
      const orderId = kept.order('1');
      kept.run({ kind: 'paid', orderId, paymentId: null, billing: provider.billing }, START_MS);
      let nowMs = START_MS;
      for (const { byMs, pays, cancels, heard, crashes } of all) {
        nowMs += byMs;
        // A renewal cannot be skipped over: the provider acts at the end of each period.
        nowMs = Math.min(nowMs, provider.billing.periodEndMs);
        provider.advance(nowMs, pays);
        if (cancels && provider.billing.state === 'running')
          provider.billing = { ...provider.billing, state: 'ending' };
        const follow: PremiumCommand = { kind: 'follow', orderId, billing: provider.billing };
        if (crashes) kept.run(follow, nowMs, false);
        for (let n = 0; n < heard; n += 1) kept.run(follow, nowMs);
        const { paidUntilMs } = provider.billing;
        // Never longer, not even where nothing was heard of; by the time of collecting alone.
        if (kept.access(nowMs).length > 0) expect(nowMs).toBeLessThan(paidUntilMs + GRACE_MS);
        if (provider.billing.state !== 'running' && heard > 0)
          expect(kept.access(Math.max(nowMs, paidUntilMs))).toEqual([]);
        // Never shorter, once it was heard of.
        if (heard > 0 && nowMs < paidUntilMs) expect(kept.access(nowMs)).toEqual(['1']);
        expect(kept.access(nowMs).length).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 500 },
  );
});

test('following twice changes nothing the second time', () => {
  const kept = new Kept();
  const orderId = kept.order('1');
  kept.run({ kind: 'paid', orderId, paymentId: null, billing: firstPeriod }, START_MS);
  const ending: PremiumCommand = { kind: 'follow', orderId, billing: { ...firstPeriod, state: 'ending' } };
  kept.run(ending, START_MS + DAY_MS);
  const told = kept.changes.length;
  kept.run(ending, START_MS + 2 * DAY_MS);
  expect(kept.changes).toHaveLength(told);
});

describe('a subscription that was bought', () => {
  const begin = () => {
    const kept = new Kept();
    const orderId = kept.order('1');
    kept.run({ kind: 'paid', orderId, paymentId: null, billing: firstPeriod }, START_MS);
    const state = () => kept.subscriptions.values().next().value!;
    return {
      kept,
      orderId,
      state,
      follow: (billing: Billing, nowMs: number) => kept.run({ kind: 'follow', orderId, billing }, nowMs),
    };
  };

  test('changes to another SKU with its next period, not before', () => {
    const { kept, follow, state } = begin();
    follow({ ...firstPeriod, skuId: id('2') }, START_MS + DAY_MS);
    expect(state()).toMatchObject({ skuId: '1', renewalSkuId: '2' });
    const [periodStartMs, periodEndMs] = [START_MS + PERIOD_MS, START_MS + 2 * PERIOD_MS];
    follow(
      { ...firstPeriod, skuId: id('2'), periodStartMs, periodEndMs, paidUntilMs: periodEndMs },
      periodStartMs,
    );
    expect(state()).toMatchObject({ skuId: '2', renewalSkuId: null, status: STATUS.ACTIVE });
    expect(kept.access(periodStartMs - 1)).toEqual(['1']);
    expect(kept.access(periodStartMs)).toEqual(['2']);
  });

  test('gives access again when a failed renewal is paid late', () => {
    const { kept, follow, state } = begin();
    const next = { periodStartMs: START_MS + PERIOD_MS, periodEndMs: START_MS + 2 * PERIOD_MS };
    const lateMs = next.periodStartMs + 5 * DAY_MS;
    follow({ ...firstPeriod, ...next, paidUntilMs: next.periodStartMs }, lateMs - DAY_MS);
    expect([state().status, kept.access(lateMs)]).toEqual([STATUS.INACTIVE, []]);
    follow({ ...firstPeriod, ...next, paidUntilMs: next.periodEndMs }, lateMs);
    expect([state().status, kept.access(lateMs)]).toEqual([STATUS.ACTIVE, ['1']]);
    expect(state().entitlementIds).toHaveLength(2);
  });

  test('ends after its period and grace without a payment provider, however often it is settled', () => {
    const { kept, state } = begin();
    const subscriptionId = state().id;
    const endMs = START_MS + PERIOD_MS + GRACE_MS;
    for (const atMs of [START_MS + PERIOD_MS, endMs - 1]) {
      kept.run({ kind: 'settle', subscriptionId }, atMs);
      expect([state().status, state().checkMs, kept.access(atMs)]).toEqual([STATUS.ACTIVE, endMs, ['1']]);
    }
    kept.run({ kind: 'settle', subscriptionId }, endMs);
    expect([state().status, kept.access(endMs)]).toEqual([STATUS.INACTIVE, []]);
    expect(kept.changes.slice(-2)).toEqual(['subscriptionWritten UPDATE', 'entitlementWritten UPDATE']);
  });

  test('may be resumed before its end', () => {
    const { follow, state } = begin();
    follow({ ...firstPeriod, state: 'ending' }, START_MS + DAY_MS);
    expect(state()).toMatchObject({ status: STATUS.ENDING, canceledMs: START_MS + DAY_MS });
    follow(firstPeriod, START_MS + 2 * DAY_MS);
    expect(state()).toMatchObject({ status: STATUS.ACTIVE, canceledMs: null });
  });

  test('ends at once when it is refunded, and does not come back', () => {
    const { kept, orderId, follow, state } = begin();
    kept.run({ kind: 'refunded', orderId }, START_MS + DAY_MS);
    follow(firstPeriod, START_MS + DAY_MS);
    expect([state().status, kept.access(START_MS + DAY_MS)]).toEqual([STATUS.INACTIVE, []]);
  });
});

describe('an order', () => {
  test('grants its entitlement once, however often its payment is reported', () => {
    const kept = new Kept();
    const orderId = kept.order('3');
    for (let n = 0; n < 3; n += 1)
      kept.run({ kind: 'paid', orderId, paymentId: 'pi_1', billing: null }, START_MS);
    expect(kept.access(START_MS)).toEqual(['3']);
    expect(kept.changes).toEqual(['entitlementWritten CREATE']);
  });

  test('grants nothing when its refund is reported before its payment', () => {
    const kept = new Kept();
    const orderId = kept.order('4');
    kept.run({ kind: 'refunded', orderId }, START_MS);
    kept.run({ kind: 'paid', orderId, paymentId: 'pi_1', billing: null }, START_MS);
    expect([kept.access(START_MS), kept.changes]).toEqual([[], []]);
  });

  test('is reused when it is repeated within a day, and created again afterwards', () => {
    const kept = new Kept();
    const first = kept.order('4');
    expect(kept.order('4', START_MS + DAY_MS / 2)).toBe(first);
    expect(kept.order('4', START_MS + DAY_MS)).not.toBe(first);
  });

  test.each([
    ['amount', { amount: 500 }],
    ['currency', { currency: 'usd' }],
    ['length of its periods', { days: 31 }],
  ])('is another one once the SKU has another %s', (_, change) => {
    const kept = new Kept();
    const first = kept.order('1');
    kept.skus = SKUS.map((sku) => (sku.id === '1' ? { ...sku, price: { ...price, ...change } } : sku));
    const second = kept.order('1');
    expect(second).not.toBe(first);
    expect(kept.orders.get(second)?.price).toEqual({ ...price, ...change });
  });

  test('gives nothing, and is to be paid back, when the receiver has the SKU by then', () => {
    const kept = new Kept();
    const [first, second] = [kept.order('4'), kept.order('4', START_MS + DAY_MS)];
    for (const orderId of [first, second])
      kept.run({ kind: 'paid', orderId, paymentId: 'pi_1', billing: null }, START_MS + DAY_MS);
    expect(kept.access(START_MS + DAY_MS)).toEqual(['4']);
    expect(kept.orders.get(second)?.state).toBe('surplus');
  });

  test('grants the entitlement as a gift of the payer if it is for a friend', () => {
    const kept = new Kept();
    const to = { userId: friendId!, guildId: null };
    kept.run({ kind: 'order', skuId: id('4'), to, payerId: payerId! }, START_MS);
    kept.run(
      { kind: 'paid', orderId: [...kept.orders.keys()][0]!, paymentId: 'pi_1', billing: null },
      START_MS,
    );
    expect([...kept.entitlements.values()]).toMatchObject([{ userId: friendId, gifterId: payerId }]);
  });

  test.each([
    ['of what has no price', '5'],
    ['of what does not exist', '99'],
  ])('%s is refused', (_, skuId) => {
    const to = { userId: payerId!, guildId: null };
    expect(
      new Kept().run({ kind: 'order', skuId: id(skuId), to, payerId: payerId! }, START_MS),
    ).toBeGreaterThan(0);
  });
});

describe('the rules of the days around the migration', () => {
  const BEFORE_MS = Date.UTC(2024, 8, 30);
  const [second, third] = [1, 2].map((n) => ({
    ...firstPeriod,
    periodStartMs: START_MS + n * PERIOD_MS,
    ...{ periodEndMs: START_MS + (n + 1) * PERIOD_MS, paidUntilMs: START_MS + (n + 1) * PERIOD_MS },
  })) as [Billing, Billing];
  const bought = (rulesMs: number) => {
    const kept = new Kept();
    kept.rulesMs = rulesMs;
    const orderId = kept.order('1');
    kept.run({ kind: 'paid', orderId, paymentId: null, billing: firstPeriod }, START_MS);
    kept.changes.length = 0;
    const ends = () => [...kept.entitlements.values()].map(({ endsMs }) => endsMs);
    const follow = (billing: Billing) =>
      kept.run({ kind: 'follow', orderId, billing }, billing.periodStartMs);
    return { kept, ends, follow };
  };

  test('an entitlement bought before has an end that renewals extend; the first renewal after migrates it', () => {
    const { kept, ends, follow } = bought(BEFORE_MS);
    expect(ends()).toEqual([firstPeriod.periodEndMs]);
    follow(second);
    expect(ends()).toEqual([second.periodEndMs]);
    kept.rulesMs = BEFORE_MS + DAY_MS;
    follow({ ...second, paidUntilMs: second.periodEndMs });
    expect(ends()).toEqual([second.periodEndMs]);
    follow(third);
    expect([ends(), kept.changes.filter((one) => one.startsWith('entitlement'))]).toEqual([
      [null],
      ['entitlementWritten UPDATE', 'entitlementWritten CREATE'],
    ]);
    expect(kept.access(third.periodEndMs - 1)).toEqual(['1']);
  });

  test('an entitlement bought after has no end, and a renewal sends no entitlement event', () => {
    const { kept, ends, follow } = bought(BEFORE_MS + DAY_MS);
    follow(second);
    expect(ends()).toEqual([null]);
    expect(kept.changes).toEqual(['subscriptionWritten UPDATE']);
  });
});

test('a consumable is bought again while the first one is not consumed, and another thing is not', () => {
  for (const [skuId, access, state] of [
    ['3', ['3', '3'], 'paid'],
    ['4', ['4'], 'surplus'],
  ] as const) {
    const kept = new Kept();
    const first = kept.order(skuId);
    // The second page was opened before the first one was paid, when the price was another.
    const second = { ...kept.orders.get(first)!, id: '99' };
    kept.orders.set('99', second);
    for (const orderId of [first, '99'])
      kept.run({ kind: 'paid', orderId, paymentId: 'pi_1', billing: null }, START_MS);
    expect([kept.access(START_MS), kept.orders.get('99')?.state]).toEqual([access, state]);
  }
});
