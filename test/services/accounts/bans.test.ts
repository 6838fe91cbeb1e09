// Goal: who is banned from the server has no token and no browser left, and no way of signing in brings one back.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import type { ClientInfo } from '../../../services/accounts/ports.ts';
import { openInstance } from '../../support/instance.ts';

const PLACE: ClientInfo = { address: null, agent: 'test' };
const HOUR_MS = 3_600_000;
const form = { login: 'outlaw', password: 'correct horse battery' };

let instance: Awaited<ReturnType<typeof openInstance>>;
beforeAll(async () => {
  instance = await openInstance();
}, 60_000);
afterAll(() => instance.close());

test('a ban revokes all sessions at once, and ends at its time', async () => {
  const { accounts } = instance.features;
  const { user } = await instance.operator.createUser({ username: 'outlaw' });
  const userId = user.id as UserId;
  await instance.operator.setPassword({ userId, password: form.password });
  const token = (await accounts.issueToken(userId)).reveal();
  const cookie = (await accounts.open(userId, PLACE)).reveal();
  const { sink } = await instance.connect(token);
  expect(await accounts.browserSession(cookie)).toMatchObject({ userId });

  await instance.operator.banUser(userId, instance.clock.now() + HOUR_MS);
  expect(sink.closed?.code).toBe(4004);
  expect(await instance.authenticate(token)).toBeNull();
  expect(await accounts.browserSession(cookie)).toBeNull();
  expect(await accounts.signIn(form, PLACE)).toMatchObject({ ok: false, refusal: { code: 40_007 } });
  const fresh = (await accounts.open(userId, PLACE)).reveal();
  expect(await accounts.browserSession(fresh)).toBeNull();
  const late = (await accounts.issueToken(userId)).reveal();
  expect(await instance.authenticate(late)).toBeNull();
  await expect(instance.operator.rotateToken(userId)).rejects.toThrow('is banned from this server');

  instance.clock.advance(HOUR_MS);
  expect(await accounts.signIn(form, PLACE)).toEqual({ ok: true, value: { kind: 'signedIn', userId } });
});

test('a wrong password does not reveal a ban, and an unknown user cannot be banned', async () => {
  const { user } = await instance.operator.createUser({ username: 'rogue' });
  const userId = user.id as UserId;
  await instance.operator.setPassword({ userId, password: form.password });
  await instance.operator.banUser(userId, null);
  const wrong = { login: 'rogue', password: 'wrong horse battery' };
  const nobody = { login: 'nobody', password: 'wrong horse battery' };
  const { accounts } = instance.features;
  expect(await accounts.signIn(wrong, PLACE)).toEqual(await accounts.signIn(nobody, PLACE));
  await instance.operator.unbanUser(userId);
  expect(await accounts.signIn({ ...form, login: 'rogue' }, PLACE)).toMatchObject({ ok: true });
  await expect(instance.operator.banUser('5' as UserId, null)).rejects.toThrow('There is no user 5.');
});
