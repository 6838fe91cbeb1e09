// Goal: an unknown id is answered by the admin API with 404 and the id, on every route, and nothing is written.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Guilds } from '../../../actors/guild/guilds.ts';
import { systemClock } from '../../../actors/runtime/clock.ts';
import { DEFAULTS } from '../../../config/config.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { joiningOf } from '../../../services/operator/joining.ts';
import { granted } from '../../../services/operator/operator.ts';
import { ADMIN_ROUTES } from '../../../transports/admin/routes.ts';
import { type AdminServer, openAdminServer } from '../../../transports/admin/server.ts';
import { openInstance } from '../../support/instance.ts';

const TOKEN = 'the-admin-token-of-this-test';
const NOBODY = '4242424242424242';

let instance: Awaited<ReturnType<typeof openInstance>>;
let server: AdminServer;
let userId: string;
let guilds: number;
beforeAll(async () => {
  instance = await openInstance({});
  const engine = {
    ...{ admin: instance.operator, config: DEFAULTS },
    calls: { list: async () => [], setAudibility: () => false },
    cluster: { status: () => Promise.reject(new Error('none')), drain: async () => undefined },
    ...{ api: {} as never, interact: () => Promise.reject(new Error('none')) },
    ...{ metrics: async () => '', unready: async () => ({}) },
  };
  server = await openAdminServer({ engine, clock: systemClock, host: '127.0.0.1', port: 0, token: TOKEN });
  guilds = (await everyGuild()).length;
  userId = (await instance.operator.createUser({ username: 'juniper' })).user.id;
}, 60_000);
afterAll(async () => {
  await server.close();
  await instance.close();
});

async function ask(path: string, body: object) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  const response = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  const answer = text === '' ? {} : JSON.parse(text);
  return { status: response.status, answer, error: answer.error ?? null };
}

/** All pages: the database is shared with the test files that ran before this one. */
async function everyPage<Item extends { id: string }>(read: (after: string | null) => Promise<Item[]>) {
  const items: Item[] = [];
  for (let page = await read(null); page.length > 0; page = await read(items.at(-1)?.id as string))
    items.push(...page);
  return items;
}
const everyone = () => everyPage((after) => instance.operator.listUsers(after as UserId | null, 1_000));
const everyGuild = () => everyPage((after) => instance.operator.listGuilds(after as GuildId | null, 1_000));

/** POST routes that take no id. */
const WITHOUT_ID = ['/clock', '/database/copy', '/chaos', '/chaos/clear', '/chaos/remove'];

/** Every POST route that takes an id of something, with a body that is right but for the id. */
const UNKNOWN: readonly (readonly [string, object])[] = [
  ['/applications', { name: 'Beacon', owner_id: NOBODY }],
  ['/applications', { name: 'Beacon', guild_id: NOBODY, permissions: '8' }],
  ['/users', { username: 'ash', guild_id: NOBODY }],
  ['/users', { username: 'ash', password: 'correct horse battery', guild_id: NOBODY }],
  ['/applications/:id/oauth2', { public_client: true }],
  ['/applications/:id/activity', { url_mappings: [] }],
  ['/applications/:id/identity-providers', { type: 'APPLE', client_id: 'game' }],
  ['/applications/:id/identity-providers/remove', { type: 'APPLE' }],
  ['/applications/:id/parent', { parent_id: NOBODY }],
  ['/applications/:id/skus', { name: 'Sail', type: 'durable' }],
  ['/applications/:id/skus/available', { sku_id: NOBODY, available: true }],
  ['/applications/:id/skus/name', { sku_id: NOBODY, name: 'Sail' }],
  ['/applications/:id/skus/perks', { sku_id: NOBODY, guild_tier: 1, premium_type: 0 }],
  ['/applications/:id/skus/price', { sku_id: NOBODY, price: null }],
  ['/applications/:id/grants', { sku_id: NOBODY, user_id: NOBODY }],
  ['/applications/:id/refunds', { entitlement_id: NOBODY }],
  ['/applications/:id/subscriptions/cancel', { subscription_id: NOBODY }],
  ['/applications/:id/subscriptions/change', { subscription_id: NOBODY, sku_id: NOBODY }],
  ['/applications/:id/owner', { user_id: NOBODY }],
  ['/teams', { name: 'Crew', owner_id: NOBODY }],
  ['/teams/:id/members', { user_id: NOBODY, role: 'developer' }],
  ['/teams/:id/members/remove', { user_id: NOBODY }],
  ['/teams/:id/applications', { application_id: NOBODY }],
  ['/teams/:id/delete', {}],
  ['/users/:id/password', {}],
  ['/users/:id/ban', {}],
  ['/users/:id/unban', {}],
  ['/guilds', { name: 'Harbour', owner_id: NOBODY }],
  ['/guilds/:id/members', { user_id: NOBODY }],
  ['/guilds/:id/delete', {}],
  ['/guilds/:id/premium-tier', { premium_tier: 2 }],
  ['/tokens/rotate', { user_id: NOBODY }],
  ['/tokens/revoke', { user_id: NOBODY }],
  ['/interactions', { bot: NOBODY, text: '/ping' }],
];

describe('an unknown id', () => {
  test.each(UNKNOWN)('is answered 404 by POST %s', async (path, body) => {
    const { status, error } = await ask(path.replace(':id', NOBODY), body);
    expect([status, error?.code]).toEqual([404, expect.stringMatching(/^(0|100\d\d)$/)]);
    if (error.code === '10013') expect(error.message).toContain(NOBODY);
  });

  test('is answered 404 for a guild, though the user is known', async () => {
    const { status, error } = await ask(`/guilds/${NOBODY}/members`, { user_id: userId });
    expect([status, error?.code]).toEqual([404, '10004']);
  });

  test('leaves nothing behind', async () => {
    const made = (await instance.operator.listApplications(null, 100)).map(({ name }) => name);
    expect(made).not.toContain('Beacon');
    const people = await everyone();
    expect(people.map(({ id }) => id)).toContain(userId);
    expect(people.map(({ username }) => username)).not.toContain('ash');
    expect((await everyGuild()).length).toBe(guilds);
  });

  test('is tested for every route with an id', () => {
    const posts = ADMIN_ROUTES.filter(({ method }) => method === 'POST').map(({ path }) => path);
    const routes = posts.filter((path) => !WITHOUT_ID.includes(path));
    expect([...new Set(UNKNOWN.map(([path]) => path))].sort()).toEqual(routes.sort());
  });
});

describe('a new account that joins a guild', () => {
  test('is a member of it, and a bot has a role of its permissions', async () => {
    const { id: guildId } = await instance.operator.createGuild({
      name: 'Harbour',
      ownerId: userId as UserId,
    });
    const bot = await ask('/applications', { name: 'Tug', guild_id: guildId, permissions: '8' });
    const person = await ask('/users', { username: 'elm', guild_id: guildId });
    expect([bot.status, person.status]).toEqual([201, 201]);
    const named = [bot.answer.bot.id, person.answer.user.id];
    const roles = named.map(async (id) => {
      const input = { userId: id as UserId };
      const member = await instance.guilds.call(guildId as GuildId, 'getMember', input, SYSTEM);
      return member.ok && member.value.roles.length;
    });
    expect(await Promise.all(roles)).toEqual([1, 0]);
  });

  test('is refused before it is made when the guild can make no role for it', async () => {
    const asked: string[] = [];
    const call = async (_: GuildId, type: string) => {
      asked.push(type);
      if (type === 'createRole') return { ok: false, refusal: refusal('MAXIMUM_ROLES') };
      return { ok: true, value: { owner_id: userId } };
    };
    const joining = joiningOf({ call } as unknown as Guilds, granted);
    await expect(joining.prepare('1' as GuildId, 'Dinghy', 8n)).rejects.toThrow('30005');
    expect(asked).toEqual(['getGuild', 'createRole']);
  });
});

describe('a user who joins a guild with permissions', () => {
  const named = async (username: string) =>
    (await instance.operator.createUser({ username })).user.id as UserId;
  const found = async (ownerId: UserId) =>
    (await instance.operator.createGuild({ name: 'Quay', ownerId })).id as GuildId;
  const rolesOf = async (guildId: GuildId) =>
    granted(await instance.guilds.call(guildId, 'listRoles', {}, SYSTEM)).map(({ name }) => name);
  const memberOf = (guildId: GuildId, id: UserId) =>
    instance.guilds.call(guildId, 'getMember', { userId: id }, SYSTEM);
  const join = (guildId: GuildId, id: UserId) =>
    ask(`/guilds/${guildId}/members`, { user_id: id, permissions: '8' });

  test('leaves no role when the guild does not admit the user', async () => {
    const [ownerId, guest] = [await named('pier.owner'), await named('pier.guest')];
    const guildId = await found(ownerId);
    granted(await instance.guilds.call(guildId, 'banUser', { userId: guest }, SYSTEM));
    const { status, error } = await join(guildId, guest);
    expect([status, error?.code]).toEqual([403, '40007']);
    expect(await rolesOf(guildId)).toEqual(['@everyone']);
    expect(await join(guildId, NOBODY as UserId)).toMatchObject({ status: 404 });
    expect(await rolesOf(guildId)).toEqual(['@everyone']);
  });

  test('has the role, also as a member from before', async () => {
    const [ownerId, guest] = [await named('dock.owner'), await named('dock.guest')];
    const guildId = await found(ownerId);
    for (const count of [1, 2]) {
      expect((await join(guildId, guest)).status).toBe(204);
      const reply = await memberOf(guildId, guest);
      expect(reply.ok && reply.value.roles.length).toBe(count);
    }
    expect(await rolesOf(guildId)).toEqual(['@everyone', 'dock.guest', 'dock.guest']);
  });
});

test('a token for a banned user is refused with the reason, and is no fault', async () => {
  const banned = (await instance.operator.createUser({ username: 'rowan' })).user.id as UserId;
  await instance.operator.banUser(banned, null);
  const { status, error } = await ask('/tokens/rotate', { user_id: banned });
  expect([status, error.message]).toEqual([403, expect.stringContaining('lift the ban')]);
});
