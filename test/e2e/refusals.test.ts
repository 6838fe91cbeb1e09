// Goal: every operation of the published file refuses strangers, ids of nothing and callers who lack a permission, without a fault,
// in the published form, which the relay compares. docs/conformance.md names what this test drew.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { operations } from '../../transports/rest/resources/index.ts';
import { dataUri, pngOf } from '../support/media.ts';
import type { ErrorBody, RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const built = Object.entries<AnyOperation>(operations);
/** Operations that need no token. */
const OPEN = built.filter(([, { auth }]) => auth === 'none').map(([id]) => id);
/** Without the operation by which the caller leaves the guild. */
const STAYING = built.filter(([id]) => id !== 'leave_guild');
const NOTHING = '99';

let server: TestServer;
/** A member of the guild without any permission beyond everyone's. */
let guest: RestClient;
beforeAll(async () => {
  server = await startServer();
  guest = server.restOf(`Bot ${(await server.newBot('Guest')).token}`);
});
afterAll(() => server?.finish());

/** Asks an operation with one id for all of its path, unless others are given by name. */
function ask(client: RestClient, id: string, ids: Readonly<Record<string, string>> = {}, body: unknown = {}) {
  const { method } = (operations as Readonly<Record<string, AnyOperation>>)[id]!;
  const params = new Proxy(ids, { get: (target, name) => target[String(name)] ?? NOTHING });
  return client.ask<ErrorBody | undefined>(id, { params, ...(method !== 'GET' && { body }) });
}

/** Answers by operation. */
async function answersOf(
  client: RestClient,
  ids: Readonly<Record<string, string>> = {},
  body: unknown = {},
  asked = built,
) {
  const answers = await Promise.all(
    asked.map(async ([id]) => ({ id, ...(await ask(client, id, ids, body)) })),
  );
  expect(answers.filter(({ status }) => status >= 500).map(({ id }) => id)).toEqual([]);
  return answers;
}

describe('every operation', () => {
  test('refuses a caller without a token, and one with a wrong token', async () => {
    for (const authorization of [null, 'Bot nobody', 'Bearer nobody']) {
      const answers = await answersOf(server.restOf(authorization));
      const let_in = answers.filter(({ status }) => status !== 401).map(({ id }) => id);
      expect(let_in.filter((id) => !OPEN.includes(id))).toEqual([]);
    }
  });

  test('succeeds under an unknown id only when it is idempotent', async () => {
    const withId = built.filter(([, { path }]) => path.includes('_id')).map(([id]) => id);
    for (const body of [{}, { name: 7, content: {}, type: 'none', flags: 'many' }, []]) {
      const answers = await answersOf(server.bot(), {}, body);
      const accepted = answers.filter(({ id, status }) => withId.includes(id) && status < 300);
      expect(accepted.map(({ id }) => id)).toEqual(IDEMPOTENT);
    }
  });

  test('refuses callers who lack the permission that it needs in a guild', async () => {
    const { guild, users } = server.info;
    const ids = { guild_id: guild.id, channel_id: guild.text_channel_id, user_id: users[0]!.id };
    const answers = await answersOf(guest, ids, {}, STAYING);
    const lacking = answers.filter(({ body }) => body?.code === 50013);
    expect(lacking.length).toBeGreaterThan(25);
  });
});

describe('under the path of one guild', () => {
  test('no object of another guild is found or changed, even by an administrator of both', async () => {
    const own = server.info.guild.id;
    const bot = server.bot();
    const owner = await server.admin<{ user: { id: string } }>('/users', { username: 'two.guilds' });
    const other = await server.admin<{ guild: { id: string } }>('/guilds', {
      ...{ name: 'Other', owner_id: owner.user.id },
    });
    const guild_id = other.guild.id;
    await server.admin(`/guilds/${guild_id}/members`, {
      ...{ user_id: server.info.bot.id, permissions: '8' },
    });
    const made = async (id: string, body: object) => {
      const answer = await bot.ask<{ id?: string; code?: string }>(id, { params: { guild_id }, body });
      expect([id, answer.status < 300]).toEqual([id, true]);
      return answer.body?.id ?? answer.body?.code ?? '';
    };
    const image = dataUri(pngOf(8, 8));
    const start = new Date(Date.now() + 3_600_000).toISOString();
    const ids = {
      user_id: owner.user.id,
      role_id: await made('create_guild_role', { name: 'Far' }),
      emoji_id: await made('create_guild_emoji', { name: 'far', image }),
      rule_id: await made('create_auto_moderation_rule', {
        ...{ name: 'Far', event_type: 1, trigger_type: 1, actions: [{ type: 1 }] },
        trigger_metadata: { keyword_filter: ['far'] },
      }),
      guild_scheduled_event_id: await made('create_guild_scheduled_event', {
        ...{ name: 'Far', privacy_level: 2, entity_type: 3, entity_metadata: { location: 'Far' } },
        ...{ scheduled_start_time: start, scheduled_end_time: new Date(Date.parse(start) + 1_000) },
      }),
      code: await made('create_guild_template', { name: 'Far' }),
    };
    const within = built.filter(
      ([, { path }]) => path.startsWith('/guilds/:guild_id/') && /:(?!guild_id\b)\w+/.test(path),
    );
    // One after the other, as the answer of an unban depends on a ban before it.
    const answers = [];
    for (const operation of within)
      answers.push(...(await answersOf(bot, { ...ids, guild_id: own }, {}, [operation])));
    const through = answers.filter(({ status }) => status < 300).map(({ id }) => id);
    // A user who is no member can be banned.
    expect(through).toEqual(['ban_user_from_guild', 'unban_user_from_guild']);
    const kept = await bot.ask<{ name: string }[]>('list_guild_roles', { params: { guild_id } });
    expect(kept.body.map(({ name }) => name)).toContain('Far');
  });
});

/** Operations that change nothing where there is nothing, and say so with success. */
const IDEMPOTENT: readonly string[] = ['delete_lobby'];
