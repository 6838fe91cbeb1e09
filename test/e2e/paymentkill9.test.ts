// Goal: what was paid is given once, and access ends when the payments do, whenever the server is killed. KILLS sets the number of kills.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServer, type TestServer } from '../support/server.ts';
import { StripeStandIn } from '../support/stripe.ts';
import { Visitor } from '../transports/pages/arrange.ts';

const KILLS = Number(process.env.KILLS ?? 2);
const KILL_WITHIN_MS = 80;
/** A restart takes some seconds. */
const KILL_TIMEOUT_MS = 40_000;
const PASSWORD = 'correct horse battery';
const TYPES = ['durable', 'consumable', 'subscription'] as const;

interface Owned {
  readonly sku_id: string;
  readonly deleted: boolean;
  readonly starts_at: string | null;
  readonly ends_at: string | null;
}

const stripe = new StripeStandIn();
let dataDir: string;
let server: TestServer;
let start: () => Promise<TestServer>;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guildhall-payments-'));
  const set = {
    stripe_key: stripe.key,
    stripe_webhook_secret: stripe.secret,
    stripe_url: await stripe.listen(),
  };
  start = () => startServer({ dataDir, relayed: false, set });
  server = await start();
});
afterAll(async () => {
  await server?.stop();
  stripe.close();
  await rm(dataDir, { recursive: true, force: true });
});

const origin = () => `http://127.0.0.1:${server.port}`;
const applicationId = () => server.info.application.id;

async function skuOf(type: (typeof TYPES)[number]): Promise<string> {
  const path = `/applications/${applicationId()}/skus`;
  const { skus } = await server.admin<{ skus: { id: string }[] }>(path, { name: `A ${type}`, type });
  const skuId = skus[0]!.id;
  await server.admin(`${path}/price`, { sku_id: skuId, price: { amount: 499, currency: 'eur', days: 30 } });
  return skuId;
}

/** A new person, who has begun to pay for each SKU. @returns the pages of the payments. */
async function begin(name: string, skuIds: readonly string[]) {
  const { user } = await server.admin<{ user: { id: string } }>('/users', {
    username: name,
    password: PASSWORD,
  });
  const visitor = new Visitor(origin());
  await visitor.get('/login');
  expect((await visitor.post('/login', { login: name, password: PASSWORD })).status).toBe(303);
  const pages: string[] = [];
  for (const sku of skuIds) {
    await visitor.get(`/store/${applicationId()}`);
    await visitor.post(`/store/${applicationId()}`, { do: 'buy', sku });
    pages.push(/checkout\.stripe\.test\/c\/(cs_\w+)/.exec(visitor.text)?.[1] ?? '');
  }
  expect(pages).not.toContain('');
  return { userId: user.id, pages };
}

const owned = (userId: string) =>
  server.bot().call<Owned[]>('get_entitlements', {
    params: { application_id: applicationId() },
    query: { user_id: userId, exclude_deleted: false },
  });

/** Kills the server while it receives these events, and then sends them again, as Stripe does until they are answered. */
async function killedDuring(events: readonly object[]): Promise<void> {
  const sent = events.map((event) => stripe.send(origin(), event).catch(() => null));
  await delay(Math.random() * KILL_WITHIN_MS);
  await server.kill9();
  await Promise.all(sent);
  server = await start();
  const again = [...events, ...events].map((event) => stripe.send(origin(), event));
  expect(new Set(await Promise.all(again))).toEqual(new Set([200]));
}

test(
  'a payment grants one entitlement, and its end revokes it, over kills between Stripe’s events',
  async () => {
    const skuIds = [];
    for (const type of TYPES) skuIds.push(await skuOf(type));
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { userId, pages } = await begin(`payer_${kill}_${Date.now()}`, skuIds);
      await killedDuring(pages.map((page) => stripe.pay(page)));
      const given = await owned(userId);
      expect(given.map(({ sku_id }) => sku_id).sort()).toEqual([...skuIds].sort());
      expect(given.every(({ deleted, ends_at }) => !deleted && ends_at === null)).toBe(true);
      const billed = stripe.subscriptions.get(String(stripe.sessions.get(pages[2]!)!.subscription))!;
      stripe.end(billed);
      await killedDuring([stripe.changed(billed)]);
      const left = await owned(userId);
      expect(left).toHaveLength(skuIds.length);
      // Stripe's times are whole seconds; access does not end before it began.
      const endOf = ({ starts_at }: Owned) => Math.max(billed.ended_at! * 1_000, Date.parse(starts_at ?? ''));
      for (const one of left)
        expect(one.ends_at && Date.parse(one.ends_at)).toBe(one.sku_id === skuIds[2] ? endOf(one) : null);
    }
    // Nothing was paid twice, so nothing was paid back.
    expect(stripe.refunds).toEqual([]);
  },
  KILLS * 2 * KILL_TIMEOUT_MS,
);
