// Goal: an id of the admin API that nobody has is answered 404 with the id, whichever route it is given to, and nothing is written.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../config.ts';
import type { UserId } from '../../protocol/ids.ts';
import { ADMIN_ROUTES } from '../../transports/admin/routes.ts';
import { type AdminServer, openAdminServer } from '../../transports/admin/server.ts';
import { openHouse } from '../support/house.ts';

const TOKEN = 'the-admin-token-of-this-test';
const NOBODY = '4242424242424242';

let house: Awaited<ReturnType<typeof openHouse>>;
let server: AdminServer;
let userId: string;
let guilds: number;
beforeAll(async () => {
  house = await openHouse({});
  const engine = {
    ...{ admin: house.operator, config: DEFAULTS },
    calls: { list: async () => [], setAudibility: () => false },
    cluster: { status: () => Promise.reject(new Error('none')), drain: async () => undefined },
    ...{ metrics: async () => '', unready: async () => ({}) },
  };
  server = await openAdminServer({ engine, host: '127.0.0.1', port: 0, token: TOKEN });
  guilds = (await house.operator.listGuilds(null, 10)).length;
  userId = (await house.operator.createUser({ username: 'juniper' })).user.id;
}, 60_000);
afterAll(async () => {
  await server.close();
  await house.close();
});

async function ask(path: string, body: object) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, error: text === '' ? null : JSON.parse(text).error };
}

/** Every POST route that takes an id of something, with a body that is right but for the id. */
const UNKNOWN: readonly (readonly [string, object])[] = [
  ['/applications', { name: 'Beacon', owner_id: NOBODY }],
  ['/applications/:id/oauth2', { public_client: true }],
  ['/applications/:id/identity-providers', { type: 'APPLE', client_id: 'game' }],
  ['/applications/:id/identity-providers/remove', { type: 'APPLE' }],
  ['/applications/:id/parent', { parent_id: NOBODY }],
  ['/users/:id/password', {}],
  ['/users/:id/ban', {}],
  ['/users/:id/unban', {}],
  ['/guilds', { name: 'Harbour', owner_id: NOBODY }],
  ['/guilds/:id/members', { user_id: NOBODY }],
  ['/tokens/rotate', { user_id: NOBODY }],
  ['/tokens/revoke', { user_id: NOBODY }],
];

describe('an unknown id', () => {
  test.each(UNKNOWN)('is answered 404 by POST %s', async (path, body) => {
    const { status, error } = await ask(path.replace(':id', NOBODY), body);
    expect([status, error?.code]).toEqual([404, expect.stringMatching(/^100\d\d$/)]);
    if (error.code === '10013') expect(error.message).toContain(NOBODY);
  });

  test('of a guild is answered 404 for a user that there is', async () => {
    const { status, error } = await ask(`/guilds/${NOBODY}/members`, { user_id: userId });
    expect([status, error?.code]).toEqual([404, '10004']);
  });

  test('leaves nothing behind', async () => {
    const made = (await house.operator.listApplications()).map(({ name }) => name);
    expect(made).not.toContain('Beacon');
    expect((await house.operator.listGuilds(null, 10)).length).toBe(guilds);
  });

  test('is known of every route that takes one', () => {
    const routes = ADMIN_ROUTES.filter(({ method, path }) => method === 'POST' && path !== '/users');
    expect(UNKNOWN.map(([path]) => path).sort()).toEqual(routes.map(({ path }) => path).sort());
  });
});

test('a token for a banned user is refused with the reason, and is no fault', async () => {
  const banned = (await house.operator.createUser({ username: 'rowan' })).user.id as UserId;
  await house.operator.banUser(banned, null);
  const { status, error } = await ask('/tokens/rotate', { user_id: banned });
  expect([status, error.message]).toEqual([403, expect.stringContaining('lift the ban')]);
});
