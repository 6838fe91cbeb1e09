// Goal: every operation of the published file refuses strangers, ids of nothing and callers who lack a permission, without a fault,
// in the published form, which the relay compares. docs/conformance.md names what this test drew.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { operations } from '../../transports/rest/resources/index.ts';
import type { ErrorBody, RestClient } from '../support/rest-client.ts';
import { startServer, type TestServer } from '../support/server.ts';

const built = Object.entries<AnyOperation>(operations);
/** What anyone may ask without a token. */
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

/** What was answered, by operation. */
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

  test('finds nothing under an id that nothing has, or says that the caller may not know', async () => {
    const withId = built.filter(([, { path }]) => path.includes('_id')).map(([id]) => id);
    for (const body of [{}, { name: 7, content: {}, type: 'none', flags: 'many' }, []]) {
      const answers = await answersOf(server.bot(), {}, body);
      const accepted = answers.filter(({ id, status }) => withId.includes(id) && status < 300);
      expect(accepted.map(({ id }) => id)).toEqual(IDEMPOTENT);
    }
  });

  test('in a guild asks for the permission that it needs', async () => {
    const { guild, users } = server.info;
    const ids = { guild_id: guild.id, channel_id: guild.text_channel_id, user_id: users[0]!.id };
    const answers = await answersOf(guest, ids, {}, STAYING);
    const lacking = answers.filter(({ body }) => body?.code === 50013);
    expect(lacking.length).toBeGreaterThan(25);
  });
});

/** Operations that change nothing where there is nothing, and say so with success. */
const IDEMPOTENT: readonly string[] = ['delete_lobby'];
