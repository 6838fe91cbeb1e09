// Goal: an embedding program calls operations as a user of this server, at the cost of one lookup for calls made at once.
import { expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import { embeddedCalls } from '../../../transports/rest/embedded.ts';
import { op } from '../../../transports/rest/operation.ts';
import { Obj } from '../../../transports/rest/schema.ts';
import { fullMember } from '../../support/people.ts';
import { pipelineOf } from '../../support/rest.ts';

const ADA = '1';
const BO = '2';
const NOBODY = '3';

function embedded() {
  const looked: string[] = [];
  const operation = op({
    ...{ method: 'GET', path: '/users/@me', auth: 'any', body: Obj({}), status: 200 },
    bucket: { per: null, limit: 50, windowMs: 1_000 },
    handle: ({ caller }) => ({ ok: true, body: { id: caller.userId, kind: caller.kind } }),
  });
  const { pipeline } = pipelineOf({ get_my_user: operation });
  const api = embeddedCalls({
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
  const whoAmI = (as: string | null) => api.get_my_user({}, { as });
  return { whoAmI, looked };
}

test('calls made at once as the same user share one lookup, and a later call makes its own', async () => {
  const { whoAmI, looked } = embedded();
  const replies = await Promise.all([whoAmI(ADA), whoAmI(BO), whoAmI(ADA)]);
  expect(replies.map((reply) => (reply as { id: string }).id)).toEqual([ADA, BO, ADA]);
  expect(looked).toEqual([ADA, BO]);
  await whoAmI(ADA);
  expect(looked).toEqual([ADA, BO, ADA]);
});

test('a call as a user who does not exist is refused by name, and so is what is no id', async () => {
  const { whoAmI, looked } = embedded();
  const refused = Promise.all([whoAmI(NOBODY), whoAmI(NOBODY)]);
  await expect(refused).rejects.toThrow('Unknown user: 3.');
  await expect(whoAmI(NOBODY)).rejects.toThrow('Unknown user: 3.');
  expect(looked).toEqual([NOBODY, NOBODY]);
  await expect(whoAmI('ada')).rejects.toThrow('Expected a user id (a snowflake), got "ada".');
});
