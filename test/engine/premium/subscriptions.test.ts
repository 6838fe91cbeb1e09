// Goal: a subscription gives access as long as it is paid, never longer nor shorter, whatever its clock does.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { givesAccess } from '../../../engine/premium/premium.ts';
import { decidePremium, type PremiumCommand } from '../../../engine/premium/rules.ts';
import type { Shelf } from '../../../engine/premium/shelf.ts';
import {
  type ApplicationId,
  type EntitlementId,
  isUserId,
  type SkuId,
  type SubscriptionId,
  snowflakeOf,
} from '../../../protocol/ids.ts';
import {
  type Entitlement,
  SKU_FLAG,
  SKU_TYPE,
  type Sku,
  SUBSCRIPTION_STATUS as STATUS,
  type Subscription,
} from '../../../protocol/premium.ts';
import { id } from '../../support/guild.ts';

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const applicationId: ApplicationId = snowflakeOf(7n);
const userId = snowflakeOf(8n);
/** The shelf holds the subscription already. */
const NONE = id<SubscriptionId>('');

const skuOf = (skuId: string, type: Sku['type'], flags: number): Sku => ({
  ...{ id: id<SkuId>(skuId), application_id: applicationId, type, name: skuId, slug: skuId },
  flags: flags | SKU_FLAG.AVAILABLE,
});
const SKUS = [
  skuOf('1', SKU_TYPE.SUBSCRIPTION, SKU_FLAG.USER),
  skuOf('2', SKU_TYPE.SUBSCRIPTION, SKU_FLAG.USER),
  skuOf('3', SKU_TYPE.CONSUMABLE, 0),
  skuOf('4', SKU_TYPE.DURABLE, 0),
  skuOf('5', SKU_TYPE.SUBSCRIPTION, SKU_FLAG.GUILD),
  skuOf('6', SKU_TYPE.GROUP, SKU_FLAG.USER),
];

/** Everything that commands have written, as a database keeps it. */
class Kept {
  readonly entitlements = new Map<EntitlementId, Entitlement>();
  skus: readonly Sku[] = SKUS;
  subscription: Subscription | null = null;
  readonly changes: string[] = [];
  rulesMs = START_MS;
  #id = 100n;

  run(command: PremiumCommand, nowMs: number): number | null {
    const lastId = this.subscription?.entitlementIds.at(-1) ?? id<EntitlementId>('');
    const named = 'entitlementId' in command ? command.entitlementId : lastId;
    const shelf: Shelf = {
      ...{ applicationId, skus: this.skus, entitlement: this.entitlements.get(named) ?? null },
      ...{ subscription: this.subscription, order: null },
      held:
        'to' in command ? [...this.entitlements.values()].filter(({ skuId }) => skuId === command.skuId) : [],
    };
    const nextId = () => {
      this.#id += 1n;
      return snowflakeOf(this.#id);
    };
    const outcome = decidePremium(shelf, command, { nowMs, nextId, rulesMs: this.rulesMs });
    if (!outcome.ok) return outcome.refusal.code;
    for (const fact of outcome.facts) {
      if (fact.type === 'entitlementWritten') this.entitlements.set(fact.entitlement.id, fact.entitlement);
      if (fact.type === 'subscriptionWritten') this.subscription = fact.subscription;
      if ('change' in fact && fact.change) this.changes.push(`${fact.type} ${fact.change}`);
    }
    return null;
  }

  access(nowMs: number): string[] {
    return [...this.entitlements.values()]
      .filter((each) => givesAccess(each, nowMs))
      .map(({ skuId }) => skuId);
  }
}

const grant = (skuId: string, days = 30): PremiumCommand => ({
  ...{ kind: 'grant', skuId: id(skuId), to: { userId, guildId: null }, gifterId: null, days },
});
const settle: PremiumCommand = { kind: 'settle', subscriptionId: NONE };
const cancel = (atOnce = false): PremiumCommand => ({ kind: 'cancel', subscriptionId: NONE, atOnce });
const toGold: PremiumCommand = { kind: 'change', subscriptionId: NONE, skuId: id('2') };

test('the person of these tests has an id', () => {
  expect(isUserId(userId)).toBe(true);
});

describe('a table of dates', () => {
  const END_MS = START_MS + 30 * DAY_MS;
  test.each([
    ['runs on', [], START_MS + 400 * DAY_MS, { status: STATUS.ACTIVE, access: ['1'], ends: null }],
    [
      'was cancelled, before its end',
      [cancel()],
      END_MS - 1,
      { status: STATUS.ENDING, access: ['1'], ends: null },
    ],
    ['was cancelled, at its end', [cancel()], END_MS, { status: STATUS.INACTIVE, access: [], ends: END_MS }],
    [
      'ended at once',
      [cancel(true)],
      START_MS + DAY_MS,
      { status: STATUS.INACTIVE, access: [], ends: START_MS },
    ],
    ['changes, before its end', [toGold], END_MS - 1, { status: STATUS.ACTIVE, access: ['1'], ends: null }],
    ['changed, at its end', [toGold], END_MS, { status: STATUS.ACTIVE, access: ['2'], ends: END_MS }],
  ] as const)(
    'a subscription that %s has the access and the end of its dates',
    (_, asked, atMs, expected) => {
      const kept = new Kept();
      kept.run(grant('1'), START_MS);
      const [first] = kept.entitlements.keys();
      for (const command of asked) kept.run(command, START_MS);
      kept.run(settle, atMs);
      const { status, access, ends } = expected;
      expect(kept.subscription?.status).toBe(status);
      expect(kept.access(atMs)).toEqual(access);
      expect(kept.entitlements.get(first!)?.endsMs).toBe(ends);
    },
  );
});

describe('the rules of the days around the migration', () => {
  const [BEFORE_MS, WINDOW_MS, AFTER_MS] = [
    Date.UTC(2024, 8, 30),
    Date.UTC(2024, 9, 1),
    Date.UTC(2024, 10, 1),
  ];
  const endOf = (period: number) => START_MS + period * 30 * DAY_MS;
  const granted = (rulesMs: number) => {
    const kept = new Kept();
    kept.rulesMs = rulesMs;
    kept.run(grant('1'), START_MS);
    kept.changes.length = 0;
    const ends = () => [...kept.entitlements.values()].map(({ endsMs }) => endsMs);
    const told = () => kept.changes.splice(0).filter((one) => one.startsWith('entitlement'));
    return { kept, ends, told };
  };

  test('2024-09-30: an entitlement ends with its period, renewals are announced, and its end is not', () => {
    const { kept, ends, told } = granted(BEFORE_MS);
    expect(ends()).toEqual([endOf(1)]);
    kept.run(settle, endOf(1));
    expect([ends(), told(), kept.access(endOf(2) - 1)]).toEqual([
      [endOf(2)],
      ['entitlementWritten UPDATE'],
      ['1'],
    ]);
    kept.run(cancel(), endOf(1));
    kept.run(settle, endOf(2));
    expect([ends(), told(), kept.access(endOf(2))]).toEqual([[endOf(2)], [], []]);
  });

  test.each([
    ['2024-10-01', WINDOW_MS],
    ['2024-11-01', AFTER_MS],
  ])('%s: a new entitlement has no end until its subscription ends, which is dispatched', (_, rulesMs) => {
    const { kept, ends, told } = granted(rulesMs);
    expect(ends()).toEqual([null]);
    kept.run(settle, endOf(1));
    expect([ends(), told()]).toEqual([[null], []]);
    kept.run(cancel(), endOf(1));
    kept.run(settle, endOf(2));
    expect([ends(), told()]).toEqual([[endOf(2)], ['entitlementWritten UPDATE']]);
  });

  test('an entitlement from before is migrated by its first renewal, and its application receives a CREATE', () => {
    const { kept, ends, told } = granted(BEFORE_MS);
    kept.rulesMs = WINDOW_MS;
    kept.run(settle, endOf(1) - 1);
    expect(ends()).toEqual([endOf(1)]);
    kept.run(settle, endOf(1));
    expect([ends(), told(), kept.entitlements.size]).toEqual([[null], ['entitlementWritten CREATE'], 1]);
  });

  test('an entitlement that was to end in the window ends without an event', () => {
    const { kept, ends, told } = granted(BEFORE_MS);
    kept.run(cancel(), START_MS);
    kept.rulesMs = WINDOW_MS;
    kept.run(settle, endOf(1));
    expect([ends(), told(), kept.access(endOf(1))]).toEqual([[endOf(1)], [], []]);
    expect(kept.subscription?.status).toBe(STATUS.INACTIVE);
  });

  test('a change to another SKU sets the end of its period before the migration, and no end after it', () => {
    for (const [rulesMs, end] of [
      [BEFORE_MS, endOf(2)],
      [WINDOW_MS, null],
    ] as const) {
      const { kept, ends } = granted(rulesMs);
      kept.run(toGold, START_MS);
      kept.run(settle, endOf(1));
      expect(ends()).toEqual([endOf(1), end]);
    }
  });
});

const steps = fc.array(
  fc.record({
    command: fc.constantFrom<PremiumCommand>(settle, settle, cancel(), toGold),
    // The clock may be moved, back too.
    byMs: fc.integer({ min: -3 * DAY_MS, max: 45 * DAY_MS }),
  }),
  { maxLength: 30 },
);

test('access lasts to the end of the period of the cancellation, whenever the clock runs', () => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 60 }), (all, days) => {
      const kept = new Kept();
      kept.run(grant('1', days), START_MS);
      let nowMs = START_MS;
      for (const { command, byMs } of all) {
        nowMs = Math.max(START_MS, nowMs + byMs);
        kept.run(command, nowMs);
        const { status, periodStartMs, periodEndMs } = kept.subscription!;
        expect(periodEndMs - periodStartMs).toBe(days * DAY_MS);
        expect((periodStartMs - START_MS) % (days * DAY_MS)).toBe(0);
        // Nothing but the two dates decides, so a clock that never looks changes nothing.
        if (nowMs >= periodStartMs) expect(kept.access(nowMs)).toHaveLength(1);
        if (status !== STATUS.ACTIVE) {
          expect(kept.access(periodEndMs - 1)).toHaveLength(1);
          expect(kept.access(periodEndMs)).toEqual([]);
          break;
        }
      }
    }),
  );
});

test('settling twice changes nothing the second time', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const kept = new Kept();
      kept.run(grant('1'), START_MS);
      let nowMs = START_MS;
      for (const { command, byMs } of all) {
        nowMs = Math.max(START_MS, nowMs + byMs);
        kept.run(command, nowMs);
        kept.run(settle, nowMs);
        const told = kept.changes.length;
        kept.run(settle, nowMs);
        expect(kept.changes).toHaveLength(told);
      }
    }),
  );
});

describe('refusals of subscriptions', () => {
  test.each([
    ['a SKU of another application', grant('99'), 10027],
    ['a group', grant('6'), 50057],
    ['a subscription of guilds, for a person', grant('5'), 50057],
    ['deleting what was no test', { kind: 'deleteTest', entitlementId: id<EntitlementId>('101') }, 40019],
    ['consuming what is durable', { kind: 'consume', entitlementId: id<EntitlementId>('101') }, 40018],
    ['consuming what does not exist', { kind: 'consume', entitlementId: id<EntitlementId>('999') }, 10029],
    ['a durable SKU that the person has', grant('4'), 40074],
  ] as const)('%s is refused', (_, command, code) => {
    const kept = new Kept();
    kept.run(grant('4'), START_MS);
    expect(kept.run(command, START_MS)).toBe(code);
  });

  test.each(['3', '4', '5', '6'])(
    'a change of a person’s subscription to SKU %s, which is none for people, is refused',
    (skuId) => {
      const kept = new Kept();
      kept.run(grant('1'), START_MS);
      expect(kept.run({ kind: 'change', subscriptionId: NONE, skuId: id(skuId) }, START_MS)).toBe(50057);
    },
  );

  test('a subscription that is ending keeps the time of its cancellation when it is ended at once', () => {
    const kept = new Kept();
    kept.run(grant('1'), START_MS);
    kept.run(cancel(), START_MS + DAY_MS);
    kept.run(cancel(true), START_MS + 2 * DAY_MS);
    expect(kept.subscription).toMatchObject({
      ...{ status: STATUS.INACTIVE, canceledMs: START_MS + DAY_MS, periodEndMs: START_MS + 2 * DAY_MS },
    });
  });

  test('a change to a withdrawn SKU is refused, except back to the one that the subscription has', () => {
    const kept = new Kept();
    kept.run(grant('1'), START_MS);
    kept.skus = SKUS.map((sku) => ({ ...sku, flags: sku.flags & ~SKU_FLAG.AVAILABLE }));
    expect(kept.run(toGold, START_MS)).toBe(50057);
    kept.skus = SKUS;
    kept.run(toGold, START_MS);
    kept.skus = SKUS.map((sku) => ({ ...sku, flags: sku.flags & ~SKU_FLAG.AVAILABLE }));
    expect(kept.run({ kind: 'change', subscriptionId: NONE, skuId: id('1') }, START_MS)).toBeNull();
    expect(kept.subscription?.renewalSkuId).toBeNull();
  });

  test('more than 100 unused consumables are refused', () => {
    const kept = new Kept();
    for (let n = 0; n < 100; n += 1) expect(kept.run(grant('3'), START_MS)).toBeNull();
    expect(kept.run(grant('3'), START_MS)).toBe(40074);
    const [first] = kept.entitlements.keys();
    kept.run({ kind: 'consume', entitlementId: first! }, START_MS);
    expect(kept.run(grant('3'), START_MS)).toBeNull();
  });

  test('a second consume is accepted without a change, and one after a refund is refused', () => {
    const kept = new Kept();
    kept.run(grant('3'), START_MS);
    const [first] = kept.entitlements.keys();
    for (let n = 0; n < 2; n += 1)
      expect(kept.run({ kind: 'consume', entitlementId: first! }, START_MS)).toBeNull();
    expect(kept.changes).toEqual(['entitlementWritten CREATE', 'entitlementWritten UPDATE']);
    kept.run({ kind: 'refund', entitlementId: first! }, START_MS);
    expect(kept.run({ kind: 'consume', entitlementId: first! }, START_MS)).toBe(10029);
    kept.run(grant('3'), START_MS);
    const unused = [...kept.entitlements.keys()].at(-1)!;
    kept.run({ kind: 'refund', entitlementId: unused }, START_MS);
    expect(kept.run({ kind: 'consume', entitlementId: unused }, START_MS)).toBe(10029);
  });

  test('a refund after an unsettled change of SKU names only entitlements that exist', () => {
    const kept = new Kept();
    kept.run(grant('1'), START_MS);
    kept.run(toGold, START_MS);
    const [first] = kept.entitlements.keys();
    const lateMs = START_MS + 31 * DAY_MS;
    expect(kept.run({ kind: 'refund', entitlementId: first! }, lateMs)).toBeNull();
    expect(kept.subscription).toMatchObject({ status: STATUS.INACTIVE, entitlementIds: [first] });
    kept.run(settle, lateMs + DAY_MS);
    expect(kept.access(lateMs + DAY_MS)).toEqual([]);
  });

  test('a refund of a subscription ends it at once', () => {
    const kept = new Kept();
    kept.run(grant('1'), START_MS);
    const [first] = kept.entitlements.keys();
    expect(kept.run({ kind: 'refund', entitlementId: first! }, START_MS + DAY_MS)).toBeNull();
    expect(kept.subscription?.status).toBe(STATUS.INACTIVE);
    expect(kept.access(START_MS + DAY_MS)).toEqual([]);
    expect(kept.changes.at(-1)).toBe('entitlementWritten DELETE');
  });
});
