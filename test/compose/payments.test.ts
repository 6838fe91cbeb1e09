// Goal: in the store of an application people buy, gift, change and cancel, against a stand-in for Stripe, and the
// application sees these entitlements like those that the operator grants.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { movableClock } from '../../actors/runtime/clock.ts';
import { createEngine } from '../../compose/engine.ts';
import type { Engine, NewApplication } from '../../embedding.ts';
import type { EntitlementId, UserId } from '../../protocol/ids.ts';
import { type BilledSubscription, StripeStandIn } from '../support/stripe.ts';
import { Visitor } from '../transports/pages/arrange.ts';

const PASSWORD = 'correct horse battery';
const DAY_MS = 86_400_000;

const stripe = new StripeStandIn();
const clock = movableClock();
stripe.nowMs = () => clock.now();
let engine: Engine;
let origin: string;
let application: NewApplication;
const people: { id: UserId; name: string; visitor: Visitor }[] = [];

async function signedIn(name: string): Promise<Visitor> {
  const visitor = new Visitor(origin);
  await visitor.get('/login');
  expect((await visitor.post('/login', { login: name, password: PASSWORD })).status).toBe(303);
  return visitor;
}

beforeAll(async () => {
  const stripeUrl = await stripe.listen();
  engine = await createEngine({
    clock,
    config: {
      ...{ listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
      ...{ stripe_key: stripe.key, stripe_webhook_secret: stripe.secret, stripe_url: stripeUrl },
    },
  });
  origin = (await engine.listen()).cdn;
  for (const name of ['ada', 'grace']) {
    const { user } = await engine.admin.createUser({ username: name, password: PASSWORD });
    const visitor = await signedIn(name);
    people.push({ id: user.id as UserId, name, visitor });
  }
  application = await engine.admin.createApplication({ name: 'Tavern of Dice', ownerId: people[0]!.id });
}, 60_000);
afterAll(async () => {
  await engine?.close();
  stripe.close();
});

const store = () => `/store/${application.application.id}`;
const admin = (command: Parameters<Engine['admin']['premium']>[1]) =>
  engine.admin.premium(application.application.id, command);

async function sku(name: string, type: 'durable' | 'consumable' | 'subscription', amount: number | null) {
  const { skus } = await admin({ kind: 'createSku', name, type, owner: 'user' });
  const skuId = skus[0]!.id;
  const price = amount === null ? null : { amount, currency: 'eur', days: 30 };
  await admin({ kind: 'setPrice', skuId, price });
  return skuId;
}

type Owned = { id: EntitlementId; sku_id: string; deleted: boolean; ends_at: string | null };
const owned = async (who: number): Promise<readonly Owned[]> => {
  const call = {
    params: { application_id: application.application.id },
    query: { user_id: people[who]!.id, exclude_deleted: false },
  };
  return (await engine.api.get_entitlements!(call, {
    as: application.bot.id,
  })) as unknown as readonly Owned[];
};
const has = async (who: number) =>
  (await owned(who))
    .filter(({ deleted, ends_at }) => !deleted && (ends_at === null || Date.parse(ends_at) > clock.now()))
    .map(({ sku_id }) => sku_id);

/** Presses a button of the store. @returns the id of the page where it is paid. */
async function order(who: number, fields: Record<string, string>): Promise<string> {
  const { visitor } = people[who]!;
  await visitor.get(store());
  const response = await visitor.post(store(), { do: 'buy', ...fields });
  expect(response.status).toBe(200);
  return /checkout\.stripe\.test\/c\/(cs_\w+)/.exec(visitor.text)?.[1] ?? '';
}

async function buySubscription(who: number, skuId: string): Promise<BilledSubscription> {
  const before = new Set(stripe.subscriptions.keys());
  expect(await stripe.send(origin, stripe.pay(await order(who, { sku: skuId })))).toBe(200);
  return [...stripe.subscriptions.values()].find(({ id }) => !before.has(id))!;
}

interface Subscribed {
  readonly id: string;
  readonly status: number;
  readonly entitlement_ids: readonly EntitlementId[];
}
const subscriptionOf = async (who: number, skuId: string): Promise<Subscribed> => {
  const call = { params: { sku_id: skuId }, query: { user_id: people[who]!.id } };
  const found = await engine.api.get_sku_subscriptions!(call, { as: application.bot.id });
  return (found as unknown as readonly Subscribed[])[0]!;
};

describe('a one-time purchase', () => {
  test('is granted once when it is paid, despite a second click and a repeated webhook', async () => {
    const lantern = await sku('Lantern', 'durable', 499);
    const page = await order(0, { sku: lantern });
    expect(await order(0, { sku: lantern })).toBe(page);
    expect(people[0]!.visitor.text).toContain('checkout.stripe.test');
    expect(await has(0)).not.toContain(lantern);
    const event = stripe.pay(page);
    expect([await stripe.send(origin, event), await stripe.send(origin, event)]).toEqual([200, 200]);
    expect((await has(0)).filter((id) => id === lantern)).toHaveLength(1);
    await people[0]!.visitor.get(`${store()}?paid=1`);
    expect(people[0]!.visitor.text).toMatch(/Thank you[\s\S]*<strong>Lantern<\/strong>/);
  });

  test('is not granted for an unsigned or an old event', async () => {
    const map = await sku('Map', 'durable', 100);
    const event = stripe.pay(await order(0, { sku: map }));
    expect(await stripe.send(origin, event, { secret: 'whsec_wrong' })).toBe(400);
    expect(await stripe.send(origin, event, { atMs: Date.now() - 400_000 })).toBe(400);
    expect((await fetch(`${origin}/payments/stripe`, { method: 'POST', body: '{}' })).status).toBe(400);
    expect(await has(0)).not.toContain(map);
  });

  test('is not granted for a signed event of an unpaid checkout', async () => {
    const rope = await sku('Rope', 'durable', 100);
    const page = await order(0, { sku: rope });
    const forged = stripe.event('checkout.session.completed', stripe.sessions.get(page)!);
    expect(await stripe.send(origin, forged)).toBe(200);
    expect(await has(0)).not.toContain(rope);
  });

  test('is granted to the friend whose username is given, and rejected for an unknown username', async () => {
    const ring = await sku('Ring', 'durable', 100);
    expect(await stripe.send(origin, stripe.pay(await order(0, { sku: ring, friend: 'grace' })))).toBe(200);
    expect([(await has(0)).includes(ring), (await has(1)).includes(ring)]).toEqual([false, true]);
    await people[0]!.visitor.get(store());
    const unknown = await people[0]!.visitor.post(store(), { do: 'buy', sku: ring, friend: 'nobody_here' });
    expect([unknown.status, people[0]!.visitor.text]).toEqual([
      422,
      expect.stringContaining('No user has this username'),
    ]);
    // Only the field of that form shows the message, and the ids of elements are unique.
    expect(people[0]!.visitor.text).toContain(`<a href="#friend-${ring}">`);
    const ids = [...people[0]!.visitor.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(new Set(ids).size);
  });

  test('is revoked when the operator or Stripe refunds it', async () => {
    const [bow, axe] = [await sku('Bow', 'durable', 100), await sku('Axe', 'durable', 100)];
    const pages = [await order(0, { sku: bow }), await order(0, { sku: axe })];
    for (const page of pages) expect(await stripe.send(origin, stripe.pay(page))).toBe(200);
    const entitlements = await owned(0);
    await admin({ kind: 'refund', entitlementId: entitlements.find(({ sku_id }) => sku_id === bow)!.id });
    const payment = String(stripe.sessions.get(pages[0]!)!.payment_intent);
    expect(stripe.refunds).toContain(payment);
    const session = stripe.sessions.get(pages[1]!)!;
    stripe.refunds.push(String(session.payment_intent));
    const charge = { id: String(session.payment_intent).replace('pi_', 'ch_'), metadata: session.metadata };
    expect(await stripe.send(origin, stripe.event('charge.refunded', charge))).toBe(200);
    const left = await has(0);
    expect([left.includes(bow), left.includes(axe)]).toEqual([false, false]);
  });

  test('is kept while its refund fails or is partial, and not granted again after the refund', async () => {
    const shield = await sku('Shield', 'durable', 100);
    const page = await order(0, { sku: shield });
    expect(await stripe.send(origin, stripe.pay(page))).toBe(200);
    const { id: entitlementId } = (await owned(0)).find(({ sku_id }) => sku_id === shield)!;
    stripe.isDown = true;
    await expect(admin({ kind: 'refund', entitlementId })).rejects.toThrow();
    stripe.isDown = false;
    const session = stripe.sessions.get(page)!;
    const charge = { id: String(session.payment_intent).replace('pi_', 'ch_'), metadata: session.metadata };
    expect(await stripe.send(origin, stripe.event('charge.refunded', charge))).toBe(200);
    expect(await has(0)).toContain(shield);
    await admin({ kind: 'refund', entitlementId });
    expect([await has(0), stripe.refunds]).toEqual([
      expect.not.arrayContaining([shield]),
      expect.arrayContaining([session.payment_intent]),
    ]);
    // The signed event of the payment is sent again: a refunded payment grants nothing.
    expect(await stripe.send(origin, stripe.event('checkout.session.completed', session))).toBe(200);
    expect(await has(0)).not.toContain(shield);
  });

  test('is granted once when two checkouts of one SKU are paid, and the second payment is refunded', async () => {
    const helmet = await sku('Helmet', 'durable', 100);
    const first = await order(0, { sku: helmet });
    await admin({ kind: 'setPrice', skuId: helmet, price: { amount: 200, currency: 'eur', days: 30 } });
    const second = await order(0, { sku: helmet });
    expect(second).not.toBe(first);
    for (const page of [first, second]) expect(await stripe.send(origin, stripe.pay(page))).toBe(200);
    expect((await has(0)).filter((id) => id === helmet)).toHaveLength(1);
    const [kept, surplus] = [first, second].map((page) => stripe.sessions.get(page)!.payment_intent);
    expect([stripe.refunds.includes(String(kept)), stripe.refunds.includes(String(surplus))]).toEqual([
      false,
      true,
    ]);
  });

  test('is rejected for a SKU of another application, and for a guild that the buyer is not in', async () => {
    const other = await engine.admin.createApplication({ name: 'Elsewhere', ownerId: people[0]!.id });
    const { skus } = await engine.admin.premium(other.application.id, {
      ...{ kind: 'createSku', name: 'Foreign', type: 'durable', owner: 'user' },
    });
    const { visitor } = people[0]!;
    await visitor.get(store());
    expect((await visitor.post(store(), { do: 'buy', sku: skus[0]!.id })).status).toBeGreaterThanOrEqual(400);
    const { skus: guildSkus } = await admin({
      kind: 'createSku',
      name: 'Hall',
      type: 'subscription',
      owner: 'guild',
    });
    const skuId = guildSkus[0]!.id;
    await admin({ kind: 'setPrice', skuId, price: { amount: 100, currency: 'eur', days: 30 } });
    const guild = await engine.admin.createGuild({ name: 'Closed', ownerId: people[1]!.id });
    for (const [who, status] of [
      [0, 404],
      [1, 200],
    ] as const) {
      await people[who]!.visitor.get(store());
      const asked = await people[who]!.visitor.post(store(), { do: 'buy', sku: skuId, guild: guild.id });
      expect([who, asked.status]).toEqual([who, status]);
    }
  });

  test('is granted when Stripe sends the event again after an outage', async () => {
    const boat = await sku('Boat', 'durable', 100);
    const event = stripe.pay(await order(0, { sku: boat }));
    stripe.isDown = true;
    expect(await stripe.send(origin, event)).toBe(503);
    stripe.isDown = false;
    expect(await stripe.send(origin, event)).toBe(200);
    expect(await has(0)).toContain(boat);
  });

  test('is rejected for a SKU without a price, which only the operator grants', async () => {
    const crown = await sku('Crown', 'durable', null);
    await people[0]!.visitor.get(store());
    expect(people[0]!.visitor.text).toMatch(/Crown<\/h3>[\s\S]*?Whoever runs this server gives it/);
    const refused = await people[0]!.visitor.post(store(), { do: 'buy', sku: crown });
    expect(refused.status).toBe(422);
  });
});

describe('a subscription', () => {
  const forward = async (days: number) => {
    await engine.admin.moveClock(days * DAY_MS);
    // A browser is signed out after a month.
    for (const person of people) person.visitor = await signedIn(person.name);
  };

  test('is renewed by its payment, changes with the next period and ends when it is cancelled', async () => {
    const [silver, gold] = [await sku('Silver', 'subscription', 500), await sku('Gold', 'subscription', 900)];
    const billed = await buySubscription(1, silver);
    expect(await has(1)).toContain(silver);
    // The event of the renewal is lost: the server polls Stripe at the end of the period.
    stripe.renew(billed, true);
    await forward(30.01);
    await expect.poll(async () => (await subscriptionOf(1, silver)).status).toBe(0);
    expect(await has(1)).toContain(silver);
    await people[1]!.visitor.get(store());
    const id = /name="subscription" value="(\d+)"/.exec(people[1]!.visitor.text)![1]!;
    expect(
      (await people[1]!.visitor.post(store(), { do: 'change', subscription: id, sku: gold })).status,
    ).toBe(303);
    expect(await subscriptionOf(1, silver)).toMatchObject({ renewal_sku_ids: [gold] });
    expect(billed.unit_amount).toBe(900);
    stripe.renew(billed, true);
    await forward(30);
    expect(await stripe.send(origin, stripe.changed(billed))).toBe(200);
    const kept = await has(1);
    expect([kept.includes(silver), kept.includes(gold)]).toEqual([false, true]);
    await people[1]!.visitor.get(store());
    const cancelled = await people[1]!.visitor.post(store(), { do: 'cancel', subscription: id });
    expect(cancelled.status).toBe(303);
    expect(billed.cancel_at_period_end).toBe(true);
    expect(await subscriptionOf(1, gold)).toMatchObject({ status: 2, renewal_sku_ids: null });
    stripe.renew(billed, true);
    await forward(30);
    await expect.poll(async () => (await subscriptionOf(1, gold)).status, { timeout: 5_000 }).toBe(1);
    expect(await has(1)).not.toContain(gold);
  });

  test('ends without payment, whatever the order of events, and resumes after a late payment', async () => {
    const bronze = await sku('Bronze', 'subscription', 300);
    const billed = await buySubscription(0, bronze);
    const [early] = [stripe.changed(billed)];
    stripe.renew(billed, false);
    await forward(30.5);
    // The current state at Stripe counts, and not the content of an old event.
    expect(await stripe.send(origin, stripe.changed(billed))).toBe(200);
    expect(await stripe.send(origin, early)).toBe(200);
    expect(await has(0)).not.toContain(bronze);
    Object.assign(billed, { status: 'active' });
    billed.invoice.status = 'paid';
    const details = { metadata: billed.metadata, subscription: billed.id };
    const invoice = { id: billed.invoice.id, parent: { subscription_details: details } };
    expect(await stripe.send(origin, stripe.event('invoice.paid', invoice))).toBe(200);
    expect(await has(0)).toContain(bronze);
  });

  test('is polled every ten minutes while Stripe does not answer', async () => {
    const billed = await buySubscription(0, await sku('Nickel', 'subscription', 300));
    const asked = () => stripe.calls.filter((call) => call === `GET /v1/subscriptions/${billed.id}`).length;
    const before = asked();
    stripe.isDown = true;
    await engine.admin.moveClock(30 * DAY_MS + 60_000);
    await expect.poll(asked, { timeout: 10_000 }).toBe(before + 1);
    // The event polls Stripe after the failed poll has ended; moving the clock earlier would change what that poll writes.
    expect(await stripe.send(origin, stripe.changed(billed))).toBe(503);
    for (let look = 0; look < 3; look += 1) await engine.admin.moveClock(60_000);
    expect(asked()).toBe(before + 2);
    await engine.admin.moveClock(10 * 60_000);
    await expect.poll(asked, { timeout: 10_000 }).toBe(before + 3);
    stripe.isDown = false;
    for (const person of people) person.visitor = await signedIn(person.name);
  });

  test('can be neither cancelled nor changed by somebody else', async () => {
    const iron = await sku('Iron', 'subscription', 300);
    await buySubscription(0, iron);
    const { id } = await subscriptionOf(0, iron);
    const { visitor } = people[1]!;
    await visitor.get(store());
    for (const what of ['cancel', 'change'])
      expect((await visitor.post(store(), { do: what, subscription: id, sku: iron })).status).toBe(404);
  });

  test('is cancelled by its payer when it is a gift, and not by the recipient', async () => {
    const copper = await sku('Copper', 'subscription', 300);
    expect(await stripe.send(origin, stripe.pay(await order(0, { sku: copper, friend: 'grace' })))).toBe(200);
    const { id } = await subscriptionOf(1, copper);
    for (const [who, status] of [
      [1, 404],
      [0, 303],
    ] as const) {
      await people[who]!.visitor.get(store());
      const asked = await people[who]!.visitor.post(store(), { do: 'cancel', subscription: id });
      expect([who, asked.status]).toEqual([who, status]);
    }
  });

  test('is not changed to another period or a withdrawn SKU, nor at all when the operator granted it', async () => {
    const [lead, long] = [await sku('Lead', 'subscription', 300), await sku('Long', 'subscription', 600)];
    await admin({ kind: 'setPrice', skuId: long, price: { amount: 600, currency: 'eur', days: 60 } });
    const billed = await buySubscription(0, lead);
    const { id } = await subscriptionOf(0, lead);
    await people[0]!.visitor.get(store());
    const longer = await people[0]!.visitor.post(store(), { do: 'change', subscription: id, sku: long });
    expect([longer.status, billed.unit_amount]).toEqual([422, 300]);
    const gone = await sku('Gone', 'subscription', 1);
    await admin({ kind: 'editSku', skuId: gone, available: false });
    const forged = await people[0]!.visitor.post(store(), { do: 'change', subscription: id, sku: gone });
    expect([forged.status, billed.unit_amount]).toEqual([422, 300]);
    const gifts = { kind: 'grant', skuId: lead, gifterId: null, days: 30 } as const;
    await admin({ ...gifts, to: { userId: people[1]!.id, guildId: null } });
    const given = await subscriptionOf(1, lead);
    await people[1]!.visitor.get(store());
    const free = await people[1]!.visitor.post(store(), { do: 'change', subscription: given.id, sku: long });
    expect(free.status).toBe(404);
  });

  test('refunds a renewal that is paid during its refund, and stays ended', async () => {
    const zinc = await sku('Zinc', 'subscription', 300);
    const billed = await buySubscription(0, zinc);
    const { entitlement_ids: ids } = await subscriptionOf(0, zinc);
    // Stripe renews just before it receives the cancellation.
    stripe.onCall = (call) => {
      if (call.startsWith('DELETE /v1/subscriptions/')) stripe.renew(billed, true);
    };
    await admin({ kind: 'refund', entitlementId: ids[0]! });
    stripe.onCall = () => undefined;
    expect(stripe.refunds).toContain(billed.invoice.payment);
    const details = { metadata: billed.metadata, subscription: billed.id };
    const invoice = { id: billed.invoice.id, parent: { subscription_details: details } };
    for (const event of [stripe.event('invoice.paid', invoice), stripe.changed(billed)])
      expect(await stripe.send(origin, event)).toBe(200);
    expect(await has(0)).not.toContain(zinc);
  });

  test('is canceled at Stripe when its last payment is refunded', async () => {
    const tin = await sku('Tin', 'subscription', 300);
    const billed = await buySubscription(0, tin);
    const { entitlement_ids: ids } = await subscriptionOf(0, tin);
    await admin({ kind: 'refund', entitlementId: ids[0]! });
    expect(stripe.refunds).toContain(billed.invoice.payment);
    expect([billed.status, (await has(0)).includes(tin)]).toEqual(['canceled', false]);
  });
});

test('the store redirects a signed-out visitor to the sign-in page, which leads back to the store', async () => {
  const response = await new Visitor(origin).get(store());
  expect([response.status, response.headers.get('location')]).toEqual([
    303,
    `/login?next=${encodeURIComponent(store())}`,
  ]);
  expect((await people[0]!.visitor.get('/store/123')).status).toBe(404);
  await people[0]!.visitor.get(store());
  expect(people[0]!.visitor.text).not.toMatch(/<script/);
});
