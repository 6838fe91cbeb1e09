// Goal: SKUs, entitlements and subscriptions are read only with the right to them, and each change is sent as an event of the application.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { verifyKey } from 'discord-interactions';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Engine, NewApplication } from '../../embedding.ts';
import type { SkuId, UserId } from '../../protocol/ids.ts';

const REDIRECT = 'http://127.0.0.1/callback';
let engine: Engine;
let api: string;
let shop: NewApplication;
let other: NewApplication;
let ada: { readonly id: UserId; readonly token: string };
let grace: { readonly id: UserId; readonly token: string };
let sold: SkuId;
let withdrawn: SkuId;
let subscription: SkuId;
let hook: Server;
/** Events that the application has received. */
const events: { readonly event?: { readonly type: string; readonly data: { readonly id: string } } }[] = [];

const run = (command: Parameters<Engine['admin']['premium']>[1]) =>
  engine.admin.premium(shop.application.id, command);
const sku = async (type: 'durable' | 'consumable' | 'subscription') =>
  (await run({ kind: 'createSku', name: 'Thing', type, owner: 'user' })).skus[0]!.id;
const grant = (skuId: SkuId, userId: UserId) =>
  run({ kind: 'grant', skuId, to: { userId, guildId: null }, gifterId: null, days: 30 });

async function ask(authorization: string, path: string, method = 'GET') {
  const response = await fetch(`${api}${path}`, { method, headers: { authorization } });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as unknown };
}
const idsOf = ({ body }: { readonly body: unknown }) =>
  (body as { readonly id: string }[]).map(({ id }) => id);

/** An access token with which the shop acts for a person. */
async function actingFor(person: { readonly token: string }): Promise<string> {
  const query = new URLSearchParams({
    ...{ client_id: shop.application.id, response_type: 'code', redirect_uri: REDIRECT },
    scope: 'identify applications.entitlements',
  });
  const agreed = await fetch(`${api}/oauth2/authorize?${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ authorize: true }),
  });
  const { location } = (await agreed.json()) as { location: string };
  const exchanged = await fetch(`${api}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      ...{ grant_type: 'authorization_code', redirect_uri: REDIRECT },
      ...{ client_id: shop.application.id, client_secret: shop.clientSecret },
      code: new URL(location).searchParams.get('code') ?? '',
    }),
  });
  return `Bearer ${((await exchanged.json()) as { access_token: string }).access_token}`;
}

beforeAll(async () => {
  engine = await createEngine({
    config: { listen_port: 0, voice: false, log_level: 'silent', rate_limits: false },
  });
  api = `${(await engine.listen()).api}/v10`;
  const person = async (username: string) => {
    const { user, token } = await engine.admin.createUser({ username });
    return { id: user.id as UserId, token };
  };
  [ada, grace] = [await person('ada'), await person('grace')];
  const owner = await person('owner');
  shop = await engine.admin.createApplication({ name: 'Shop', ownerId: owner.id });
  other = await engine.admin.createApplication({ name: 'Other', ownerId: ada.id });
  await engine.admin.configureClient({ applicationId: shop.application.id, redirectUris: [REDIRECT] });
  [sold, withdrawn, subscription] = [await sku('durable'), await sku('durable'), await sku('subscription')];
  for (const { id } of [ada, grace]) await grant(sold, id);
  await grant(subscription, grace.id);
  await run({ kind: 'editSku', skuId: withdrawn, available: false });
  hook = createServer(async (asked, answer) => {
    const [bytes, header] = [await buffer(asked), (name: string) => String(asked.headers[name] ?? '')];
    const key = shop.application.verify_key;
    const [signature, time] = [header('x-signature-ed25519'), header('x-signature-timestamp')];
    if (!(await verifyKey(bytes, signature, time, key))) return void answer.writeHead(401).end();
    events.push(JSON.parse(String(bytes)));
    answer.writeHead(204).end();
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
}, 60_000);
afterAll(async () => {
  hook?.close();
  await engine?.close();
});

describe('entitlements', () => {
  const path = () => `/applications/${shop.application.id}/entitlements`;

  test('are all listed for the bot of their application, and none for another bot', async () => {
    expect(idsOf(await ask(`Bot ${shop.botToken}`, path()))).toHaveLength(3);
    expect((await ask(`Bot ${other.botToken}`, path())).status).toBe(403);
  });

  test('are limited to one person’s own for an application that acts for that person', async () => {
    const [all, own] = [await ask(`Bot ${shop.botToken}`, path()), await ask(await actingFor(ada), path())];
    expect(own.body).toEqual((all.body as { user_id: string }[]).filter((each) => each.user_id === ada.id));
    expect(idsOf(own)).toHaveLength(1);
    const acting = await actingFor(ada);
    expect((await ask(acting, `${path()}?user_id=${grace.id}`)).body).toEqual([]);
    const ofGrace = (all.body as { id: string; user_id: string }[]).find(
      (each) => each.user_id === grace.id,
    )!;
    expect((await ask(acting, `${path()}/${ofGrace.id}`)).status).toBe(404);
    expect((await ask(acting, `${path()}/${ofGrace.id}/consume`, 'POST')).status).toBe(404);
    expect((await ask(acting, `${path()}/${ofGrace.id}`, 'DELETE')).status).toBe(403);
  });
});

describe('subscriptions', () => {
  const path = (userId: UserId) => `/skus/${subscription}/subscriptions?user_id=${userId}`;

  test('are listed by user for the bot of their application, and for no other bot', async () => {
    expect(idsOf(await ask(`Bot ${shop.botToken}`, path(grace.id)))).toHaveLength(1);
    expect(idsOf(await ask(`Bot ${shop.botToken}`, path(ada.id)))).toEqual([]);
    expect((await ask(`Bot ${other.botToken}`, path(grace.id))).status).toBe(403);
  });

  test('are listed for a person only when they are their own', async () => {
    expect(idsOf(await ask(`Bearer ${ada.token}`, path(grace.id)))).toEqual([]);
    const [id] = idsOf(await ask(`Bearer ${grace.token}`, path(grace.id)));
    const one = `/skus/${subscription}/subscriptions/${id}`;
    expect((await ask(`Bearer ${grace.token}`, one)).status).toBe(200);
    expect((await ask(`Bearer ${ada.token}`, one)).status).toBe(404);
  });
});

test('SKUs that are withdrawn are shown to the bot and not to people', async () => {
  const path = `/applications/${shop.application.id}/skus`;
  expect(idsOf(await ask(`Bot ${shop.botToken}`, path))).toContain(withdrawn);
  const seen = idsOf(await ask(`Bearer ${ada.token}`, path));
  expect([seen.includes(sold), seen.includes(withdrawn)]).toEqual([true, false]);
});

test('an application receives the entitlement events that it subscribed to, and no others', async () => {
  const response = await fetch(`${api}/applications/@me`, {
    method: 'PATCH',
    headers: { authorization: `Bot ${shop.botToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      event_webhooks_url: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
      event_webhooks_types: ['ENTITLEMENT_CREATE', 'ENTITLEMENT_DELETE'],
      event_webhooks_status: 2,
    }),
  });
  expect(response.status).toBe(200);
  const { entitlements } = await grant(await sku('consumable'), ada.id);
  const id = entitlements[0]!.id;
  await run({ kind: 'consume', entitlementId: id });
  await run({ kind: 'refund', entitlementId: id });
  const told = () => events.flatMap(({ event }) => (event?.data.id === id ? [event.type] : []));
  await expect.poll(told, { timeout: 10_000 }).toEqual(['ENTITLEMENT_CREATE', 'ENTITLEMENT_DELETE']);
});
