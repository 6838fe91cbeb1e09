// Goal: an embedding program calls operations as a user of this server, at the cost of one lookup for calls made at once.
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { nearest } from '../../../config/nearest.ts';
import type { UserId } from '../../../protocol/ids.ts';
import { Obj } from '../../../protocol/schemas/request.ts';
import { anything } from '../../../protocol/schemas/schema.ts';
import { embeddedCalls } from '../../../transports/rest/embedded.ts';
import { op } from '../../../transports/rest/operation.ts';
import { fullMember } from '../../support/people.ts';
import { pipelineOf } from '../../support/rest.ts';

const ADA = '1';
const BO = '2';
const NOBODY = '3';

function embedded() {
  const looked: string[] = [];
  const operation = op({
    ...{ method: 'GET', path: '/users/@me', auth: 'any', body: Obj({}), status: 200, reply: anything },
    bucket: { per: null, limit: 50, windowMs: 1_000 },
    handle: ({ caller }) => ({ ok: true, value: { id: caller.userId, kind: caller.kind } }),
  });
  const { pipeline } = pipelineOf({ get_my_user: operation });
  const { api } = embeddedCalls({
    nearest,
    pipeline,
    operationIds: ['get_my_user'],
    publicUrl: () => 'http://127.0.0.1',
    storage: {
      users: {
        get: async (userIds: readonly UserId[]) => {
          looked.push(...userIds);
          return userIds.filter((id) => id !== NOBODY).map((id) => fullMember(id).user);
        },
      } as never,
      applications: {} as never,
    },
  });
  const whoAmI = (as: string) => api.get_my_user({}, { as });
  return { api, whoAmI, looked };
}

test('calls made at once as the same user share one lookup, and a later call makes its own', async () => {
  const { whoAmI, looked } = embedded();
  const replies = await Promise.all([whoAmI(ADA), whoAmI(BO), whoAmI(ADA)]);
  expect(replies.map(({ id }) => id)).toEqual([ADA, BO, ADA]);
  expect(looked).toEqual([ADA, BO]);
  await whoAmI(ADA);
  expect(looked).toEqual([ADA, BO, ADA]);
});

test('snake_case and camelCase names call the same operation', async () => {
  const { api } = embedded();
  expect(await api.getMyUser({ as: ADA })).toEqual(await api.get_my_user({}, { as: ADA }));
  expect(Object.keys(api)).toEqual(['get_my_user']);
});

test.each([
  ['get_my_usr', 'Unknown operation: "get_my_usr". Did you mean "get_my_user"?'],
  ['getMyUsr', 'Unknown operation: "getMyUsr". Did you mean "getMyUser"?'],
  ['constructor', 'Unknown operation: "constructor".'],
])('an operation of the name %s throws and suggests the closest one', (name, said) => {
  const { api } = embedded();
  expect(() => Reflect.get(api, name)).toThrow(said);
});

test('a call without a caller throws an error that asks for one', async () => {
  const { api, looked } = embedded();
  const untyped = api as unknown as Record<string, (...given: object[]) => Promise<unknown>>;
  for (const given of [[], [{}], [{ query: {} }, { reason: 'none' }]])
    await expect(untyped.getMyUser?.(...given)).rejects.toThrow('get_my_user needs "as"');
  expect(looked).toEqual([]);
});

test('an object of operations can be awaited and printed', async () => {
  const { api } = embedded();
  expect(await api).toBe(api);
  expect(JSON.stringify(api)).toBe('{}');
  expect(String(inspect(api))).toContain('get_my_user');
});

test('a call as an unknown user throws an error with the id, as does a malformed id', async () => {
  const { whoAmI, looked } = embedded();
  const refused = Promise.all([whoAmI(NOBODY), whoAmI(NOBODY)]);
  await expect(refused).rejects.toThrow('Unknown user: 3.');
  await expect(whoAmI(NOBODY)).rejects.toThrow('Unknown user: 3.');
  expect(looked).toEqual([NOBODY, NOBODY]);
  await expect(whoAmI('ada')).rejects.toThrow('Expected a user id (a snowflake), got "ada".');
});
