// Goal: who is banned from the server has no token and no browser left, and no way of signing in brings one back.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { UserId } from '../../../protocol/ids.ts';
import type { ClientInfo } from '../../../services/accounts/ports.ts';
import { openHouse } from '../../support/house.ts';

const PLACE: ClientInfo = { address: null, agent: 'test' };
const HOUR_MS = 3_600_000;
const form = { login: 'outlaw', password: 'correct horse battery' };

let house: Awaited<ReturnType<typeof openHouse>>;
beforeAll(async () => {
  house = await openHouse();
}, 60_000);
afterAll(() => house.close());

test('a ban revokes all sessions at once, and ends at its time', async () => {
  const { accounts } = house.features;
  const { user } = await house.operator.createUser({ username: 'outlaw' });
  const userId = user.id as UserId;
  await house.operator.setPassword({ userId, password: form.password });
  const token = (await accounts.issueToken(userId)).reveal();
  const cookie = (await accounts.open(userId, PLACE)).reveal();
  const { sink } = await house.connect(token);
  expect(await accounts.browserSession(cookie)).toMatchObject({ userId });

  await house.operator.banUser(userId, house.clock.now() + HOUR_MS);
  expect(sink.closed?.code).toBe(4004);
  expect(await house.authenticate(token)).toBeNull();
  expect(await accounts.browserSession(cookie)).toBeNull();
  expect(await accounts.signIn(form, PLACE)).toMatchObject({ ok: false, refusal: { code: 40_007 } });
  const fresh = (await accounts.open(userId, PLACE)).reveal();
  expect(await accounts.browserSession(fresh)).toBeNull();
  const late = (await accounts.issueToken(userId)).reveal();
  expect(await house.authenticate(late)).toBeNull();
  await expect(house.operator.rotateToken(userId)).rejects.toThrow('is banned from this server');

  house.clock.advance(HOUR_MS);
  expect(await accounts.signIn(form, PLACE)).toEqual({ ok: true, value: { kind: 'signedIn', userId } });
});

test('a wrong password does not reveal a ban, and an unknown user cannot be banned', async () => {
  const { user } = await house.operator.createUser({ username: 'rogue' });
  const userId = user.id as UserId;
  await house.operator.setPassword({ userId, password: form.password });
  await house.operator.banUser(userId, null);
  const wrong = { login: 'rogue', password: 'wrong horse battery' };
  const nobody = { login: 'nobody', password: 'wrong horse battery' };
  const { accounts } = house.features;
  expect(await accounts.signIn(wrong, PLACE)).toEqual(await accounts.signIn(nobody, PLACE));
  await house.operator.unbanUser(userId);
  expect(await accounts.signIn({ ...form, login: 'rogue' }, PLACE)).toMatchObject({ ok: true });
  await expect(house.operator.banUser('5' as UserId, null)).rejects.toThrow('There is no user 5.');
});
