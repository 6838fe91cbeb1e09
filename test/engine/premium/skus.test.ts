// Goal: what an application sells is added, edited, published and withdrawn within bounds; what people have of it is untouched.
import { describe, expect, test } from 'vitest';
import { decidePremium, type PremiumCommand } from '../../../engine/premium/rules.ts';
import { type ApplicationId, snowflakeOf } from '../../../protocol/ids.ts';
import { SKU_FLAG, SKU_TYPE, type Sku } from '../../../protocol/premium.ts';

const applicationId: ApplicationId = snowflakeOf(7n);
const { AVAILABLE, USER, GUILD } = SKU_FLAG;

/** The SKUs of the application after a command; the code of its refusal. */
function after(skus: readonly Sku[], command: PremiumCommand): readonly Sku[] | number {
  let id = 100n;
  const nextId = () => {
    id += 1n;
    return snowflakeOf(id);
  };
  const none = { entitlement: null, subscription: null, held: [], order: null };
  const outcome = decidePremium({ applicationId, skus, ...none }, command, { nowMs: 0, rulesMs: 0, nextId });
  if (!outcome.ok) return outcome.refusal.code;
  return outcome.facts.flatMap((fact) => (fact.type === 'skuWritten' ? [fact.sku] : []));
}

const create = (more: Partial<Extract<PremiumCommand, { kind: 'createSku' }>> = {}) =>
  after([], { kind: 'createSku', name: 'Old Lantern!', type: 'durable', owner: 'user', ...more });
const lantern = (create() as readonly Sku[])[0]!;
const edit = (change: { readonly name?: string; readonly available?: boolean }, skuId = lantern.id) =>
  after([{ ...lantern, price: { amount: 5, currency: 'eur', days: 30 } }], {
    kind: 'editSku',
    skuId,
    ...change,
  });

describe('a new SKU', () => {
  test('is for sale at once, unless it is to be published later', () => {
    expect(create()).toMatchObject([
      { type: SKU_TYPE.DURABLE, flags: AVAILABLE, slug: 'old-lantern', application_id: applicationId },
    ]);
    expect(create({ available: false })).toMatchObject([{ flags: 0 }]);
  });

  test('stores whether a subscription is for users or guilds, and adds a group that is never for sale', () => {
    for (const [owner, flag] of [
      ['user', USER],
      ['guild', GUILD],
    ] as const) {
      expect(create({ type: 'subscription', owner })).toMatchObject([
        { type: SKU_TYPE.SUBSCRIPTION, flags: flag | AVAILABLE },
        { type: SKU_TYPE.GROUP, flags: flag },
      ]);
      expect(create({ type: 'subscription', owner, available: false })).toMatchObject([
        { type: SKU_TYPE.SUBSCRIPTION, flags: flag },
        { type: SKU_TYPE.GROUP, flags: flag },
      ]);
    }
  });

  test.each([
    'Lantern\u001b[31m',
    'Lantern\u009b31m',
    'Lantern\u202e',
    'two\nlines',
    ' \u2800 ',
    'x'.repeat(257),
  ])('is refused with the name %j', (name) => {
    expect(create({ name })).toBe(50_035);
    expect(edit({ name })).toBe(50_035);
  });

  test('is refused beyond 100 of an application, with the groups of subscriptions', () => {
    const of = (count: number) =>
      Array.from({ length: count }, (_, no) => ({ ...lantern, id: snowflakeOf(BigInt(no)) }));
    const command = { kind: 'createSku', name: 'One more', type: 'durable', owner: 'user' } as const;
    expect(after(of(98), command)).toHaveLength(1);
    expect(after(of(99), command)).toBe(50_057);
  });
});

describe('an edit of a SKU', () => {
  test('changes the name with its slug, and keeps id, type, price and whether it is for sale', () => {
    expect(edit({ name: 'New Lantern' })).toEqual([
      {
        ...lantern,
        name: 'New Lantern',
        slug: 'new-lantern',
        price: { amount: 5, currency: 'eur', days: 30 },
      },
    ]);
  });

  test('withdraws and publishes, and keeps the name', () => {
    expect(edit({ available: false })).toMatchObject([{ name: lantern.name, flags: 0 }]);
    expect(
      after([{ ...lantern, flags: 0 }], { kind: 'editSku', skuId: lantern.id, available: true }),
    ).toEqual([lantern]);
  });

  test('writes nothing when it changes nothing', () => {
    expect(edit({})).toEqual([]);
    expect(edit({ name: lantern.name, available: true })).toEqual([]);
  });

  test('is refused for an unknown SKU and for the group of a subscription', () => {
    expect(edit({ name: 'X' }, snowflakeOf(1n))).toBe(10_027);
    const group = { ...lantern, type: SKU_TYPE.GROUP };
    expect(after([group], { kind: 'editSku', skuId: group.id, available: true })).toBe(10_027);
  });
});
