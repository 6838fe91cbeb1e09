// Goal: what operations answer that the published file does not list is checked as well: the relay of end-to-end tests
// passes none of them over.
import { describe, expect, test } from 'vitest';
import type { AnyOperation } from '../../transports/rest/operation.ts';
import { unlisted } from '../../transports/rest/resources/index.ts';
import { operationOf } from '../support/relay.ts';
import { isUnlisted, objectionsToUnlisted } from '../support/unlistedschemas.ts';

const built = Object.entries<AnyOperation>(unlisted);

test.each(built)('%s is known to the relay and has an answer for its status', (id, operation) => {
  const { method, path, status } = operation;
  const url = `/api/v10${path.replaceAll(/:\w+/g, '12')}`;
  expect(operationOf(method, url)).toBe(id);
  if (!isUnlisted(id)) expect.unreachable(`${id} has no row`);
  else expect(objectionsToUnlisted(id, status, undefined)).not.toEqual([`${id} ${status}: no such status`]);
});

describe('an answer that the published file does not list', () => {
  const check = (status: number, body: unknown) => objectionsToUnlisted('register', status, body);

  test('is compared whole, with published schemas inside', () => {
    expect(check(201, { token: 'a', user_id: '12' })).toEqual([]);
    for (const wrong of [{ token: 'a' }, { token: 'a', user_id: 12 }, { token: 'a', user_id: '1', more: 1 }])
      expect(check(201, wrong), JSON.stringify(wrong)).not.toEqual([]);
    expect(check(200, { token: 'a', user_id: '12' })).toEqual(['register 200: no such status']);
    expect(objectionsToUnlisted('logout', 204, undefined)).toEqual([]);
    expect(objectionsToUnlisted('logout', 204, {})).toEqual(['logout 204 has a body']);
  });

  test('is a refusal of the published form or of OAuth2', () => {
    expect(check(400, { message: 'Invalid Form Body', code: 50035 })).toEqual([]);
    expect(check(400, { error: 'invalid_request' })).toEqual([]);
    expect(check(400, { reason: 'wrong' })).not.toEqual([]);
  });
});
