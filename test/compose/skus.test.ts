// Goal: the owner of an application and the developers of its team manage its SKUs without the operator, who alone sets prices.
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createEngine } from '../../compose/engine.ts';
import type { Engine, NewApplication } from '../../embedding.ts';
import type { UserId } from '../../protocol/ids.ts';
import { Visitor } from '../transports/pages/arrange.ts';

const PASSWORD = 'correct horse battery';
const NO = 20_012;
const [AVAILABLE, USER] = [1 << 2, 1 << 8];
const ROLES = ['owner', 'admin', 'developer', 'reader', 'invited', 'stranger'] as const;

interface Answer {
  readonly status: number;
  readonly body: { readonly id: string; readonly code: number; readonly message: string };
}
interface SkuBody {
  readonly id: string;
  readonly name: string;
  readonly flags: number;
}

let engine: Engine;
let origin: string;
let shop: NewApplication;
const people: Record<string, { readonly id: UserId; readonly token: string }> = {};
const lines: string[] = [];

const path = () => `/applications/${shop.application.id}/skus`;

async function ask(authorization: string, request: string, body?: object): Promise<Answer> {
  const [method = '', rest = ''] = request.split(' ');
  const headers = { authorization, 'content-type': 'application/json' };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(`${origin}/api/v10${path()}${rest}`, init);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}
const as = (who: string) => `Bearer ${people[who]!.token}`;
const listed = async (who: string, query = '') =>
  (await ask(as(who), `GET ${query}`)).body as unknown as readonly SkuBody[];
const create = (who: string, body: object) => ask(as(who), 'POST ', { type: 'durable', ...body });
/** The log lines about changes by owners. */
const trail = () =>
  lines.flatMap((line) => {
    const { event, user_id, application_id, sku_id, what } = JSON.parse(line);
    return event === 'security.sku_changed' ? [{ user_id, application_id, sku_id, what }] : [];
  });

const config = { listen_port: 0, voice: false, rate_limits: false } as const;

beforeAll(async () => {
  engine = await createEngine({
    config,
    logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
  });
  origin = (await engine.listen()).cdn;
  for (const name of ROLES) {
    const { user, token } = await engine.admin.createUser({ username: `sku.${name}`, password: PASSWORD });
    people[name] = { id: user.id as UserId, token };
  }
  const team = await engine.admin.createTeam({ name: 'Crew', ownerId: people.owner!.id });
  for (const [name, role, isInvited] of [
    ['admin', 'admin', false],
    ['developer', 'developer', false],
    ['reader', 'read_only', false],
    ['invited', 'admin', true],
  ] as const)
    await engine.admin.changeTeam(team.id, { kind: 'setMember', userId: people[name]!.id, role, isInvited });
  shop = await engine.admin.createApplication({ name: 'Shop', ownerId: people.owner!.id });
  await engine.admin.changeTeam(team.id, { kind: 'adopt', applicationId: shop.application.id });
}, 60_000);
afterAll(() => engine?.close());

describe('SKUs', () => {
  test('are managed only by the owner, the admins and the developers of a team', async () => {
    const outcomes = [];
    for (const who of ROLES) {
      const { status, body } = await create(who, { name: `Of ${who}` });
      outcomes.push(status === 201 ? 'ok' : body.code);
    }
    expect(outcomes).toEqual(['ok', 'ok', 'ok', NO, NO, NO]);
    const bot = await ask(`Bot ${shop.botToken}`, 'POST ', { name: 'Of the bot', type: 'durable' });
    expect(bot.status).toBeGreaterThanOrEqual(400);
    for (const who of ['reader', 'stranger']) {
      expect((await ask(as(who), 'GET ?withdrawn=true')).body.code).toBe(NO);
      const [sku] = await listed('owner', '?withdrawn=true');
      expect((await ask(as(who), `PATCH /${sku!.id}`, { name: 'Mine' })).body.code).toBe(NO);
    }
  });

  test('are for sale after they are published, and not after they are withdrawn', async () => {
    const { body: sku } = await create('developer', { name: 'Lantern', type: 'subscription' });
    expect(sku).toMatchObject({ name: 'Lantern', slug: 'lantern', type: 5, flags: USER, price: null });
    const shown = async () => (await listed('stranger')).map(({ name }) => name);
    expect(await shown()).toEqual([]);
    const edit = (change: object) => ask(as('admin'), `PATCH /${sku.id}`, change);
    expect((await edit({ available: true })).body).toMatchObject({ flags: USER | AVAILABLE });
    expect(await shown()).toEqual(['Lantern']);
    expect((await edit({ name: 'Lighthouse' })).body).toMatchObject({
      name: 'Lighthouse',
      slug: 'lighthouse',
    });
    expect((await edit({ available: false, name: 'Beacon' })).body).toMatchObject({
      name: 'Beacon',
      flags: USER,
    });
    expect(await shown()).toEqual([]);
    const all = (await listed('owner', '?withdrawn=true')).map(({ name }) => name);
    expect(all).toEqual(expect.arrayContaining(['Beacon', 'Of owner']));
  });

  test('are not edited through another application, under an unknown id, or as the group of a subscription', async () => {
    const other = await engine.admin.createApplication({ name: 'Other', ownerId: people.stranger!.id });
    const command = { kind: 'createSku', name: 'Foreign', type: 'subscription', owner: 'user' } as const;
    const { skus } = await engine.admin.premium(other.application.id, command);
    for (const { id } of [...skus, { id: '123' }])
      expect((await ask(as('owner'), `PATCH /${id}`, { name: 'Mine' })).body.code).toBe(10_027);
    const group = (await listed('owner', '?withdrawn=true')).find(
      (each) => 'type' in each && each.type === 6,
    )!;
    expect((await ask(as('owner'), `PATCH /${group.id}`, { available: true })).body.code).toBe(10_027);
  });

  test('are rejected with an empty, deceptive or too long name, and with the type of a group', async () => {
    for (const name of ['', ' ', '\u202eevil', 'a\u200bb', 'x'.repeat(81)])
      expect((await create('owner', { name })).body.code, JSON.stringify(name)).toBe(50_035);
    expect((await create('owner', { name: 'x', type: 'group' })).body.code).toBe(50_035);
  });

  test('keep no price, perks and flags that their owner sends', async () => {
    const more = { price: { amount: 1, currency: 'eur' }, perks: { premiumType: 2 }, flags: 4 };
    const { body } = await create('owner', { name: 'Ring', ...more });
    expect(body).toMatchObject({ price: null, flags: 0 });
    await ask(as('owner'), `PATCH /${body.id}`, more);
    expect((await listed('owner', '?withdrawn=true')).find(({ id }) => id === body.id)).toMatchObject({
      ...{ price: null, flags: 0 },
    });
  });

  test('leave a log line for each change, with its author and without the typed text', async () => {
    lines.length = 0;
    const { body } = await create('developer', { name: 'Secret plan' });
    await ask(as('admin'), `PATCH /${body.id}`, { available: true, name: 'Plan' });
    await ask(as('admin'), `PATCH /${body.id}`, { available: true });
    await ask(as('reader'), `PATCH /${body.id}`, { available: false });
    const where = { application_id: shop.application.id, sku_id: body.id };
    expect(trail()).toEqual([
      { user_id: people.developer!.id, ...where, what: 'created' },
      { user_id: people.admin!.id, ...where, what: 'available,name' },
    ]);
    expect(lines.join()).not.toContain('Secret plan');
  });
});

describe('the page to manage SKUs', () => {
  const store = () => `/store/${shop.application.id}`;
  async function signedIn(who: string): Promise<Visitor> {
    const visitor = new Visitor(origin);
    await visitor.get('/login');
    expect((await visitor.post('/login', { login: `sku.${who}`, password: PASSWORD })).status).toBe(303);
    return visitor;
  }

  test('is linked from the store for people who manage SKUs, and rejects all others', async () => {
    const link = `href="${store()}/manage"`;
    for (const [who, isTheirs] of [
      ['developer', true],
      ['reader', false],
      ['stranger', false],
    ] as const) {
      const visitor = await signedIn(who);
      await visitor.get(store());
      expect(visitor.text.includes(link), who).toBe(isTheirs);
      expect((await visitor.get(`${store()}/manage`)).status).toBe(isTheirs ? 200 : 403);
    }
    expect((await new Visitor(origin).get(`${store()}/manage`)).headers.get('location')).toContain('/login?');
  });

  test('adds, renames, publishes and withdraws SKUs, and shows the error at the field of a wrong name', async () => {
    const visitor = await signedIn('developer');
    const act = (fields: Readonly<Record<string, string>>) => visitor.post(`${store()}/manage`, fields);
    await visitor.get(`${store()}/manage`);
    const added = await act({ do: 'add', name: 'Crown <b>', type: 'durable', owner: 'user' });
    expect([added.status, added.headers.get('location')]).toEqual([303, `${store()}/manage?added=1`]);
    await visitor.get(`${store()}/manage?added=1`);
    expect(visitor.text).toContain('Crown &lt;b&gt;');
    expect(visitor.text).not.toContain('Crown <b>');
    const sku = (await listed('owner', '?withdrawn=true')).find(({ name }) => name === 'Crown <b>')!;
    expect((await act({ do: 'publish', sku: sku.id })).status).toBe(303);
    expect((await act({ do: 'rename', sku: sku.id, name: 'Crown' })).status).toBe(303);
    expect(await listed('stranger')).toContainEqual(expect.objectContaining({ id: sku.id, name: 'Crown' }));
    await visitor.get(`${store()}/manage`);
    expect((await act({ do: 'rename', sku: sku.id, name: 'a\u200bb' })).status).toBe(422);
    expect(visitor.text).toContain(`href="#name-${sku.id}"`);
    expect(visitor.text.match(new RegExp(`id="name-${sku.id}"`, 'g'))).toHaveLength(1);
    expect((await act({ do: 'withdraw', sku: sku.id })).status).toBe(303);
    expect((await listed('stranger')).map(({ id }) => id)).not.toContain(sku.id);
    await visitor.get(`${store()}/manage`);
    for (const wrong of [
      { do: 'price' },
      { do: 'publish', sku: 'x' },
      { do: 'add', name: 'x', type: '__proto__', owner: 'user' },
    ])
      expect((await act(wrong)).status).toBe(404);
  });

  test('rejects a form with a wrong CSRF token', async () => {
    const visitor = await signedIn('developer');
    await visitor.get(`${store()}/manage`);
    const before = (await listed('owner', '?withdrawn=true')).length;
    const body = 'csrf=wrong&do=add&name=Forged&type=durable&owner=user';
    expect((await visitor.send(`${store()}/manage`, body)).status).toBe(403);
    expect(await listed('owner', '?withdrawn=true')).toHaveLength(before);
  });
});

test('a server whose operator manages all SKUs rejects owners with the reason', async () => {
  const closed = await createEngine({
    config: { ...config, log_level: 'silent', owners_manage_skus: false },
  });
  const { api } = await closed.listen();
  const { user, token } = await closed.admin.createUser({ username: 'owner' });
  const { application } = await closed.admin.createApplication({ name: 'Shop', ownerId: user.id as UserId });
  const response = await fetch(`${api}/v10/applications/${application.id}/skus`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Lantern', type: 'durable' }),
  });
  expect(response.status).toBe(403);
  expect(await response.json()).toEqual({
    code: NO,
    message: 'The operator of this server manages what applications sell.',
  });
  await closed.close();
});
