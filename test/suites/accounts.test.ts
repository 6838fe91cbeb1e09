// Goal: accounts, logins and sign-ins are read back as written, and a login has one owner, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { opened, signedUp } from '../../engine/account/account.ts';
import type { Account, SignIn } from '../../engine/account/facts.ts';
import { nameLogin } from '../../engine/account/logins.ts';
import type { UserId } from '../../protocol/ids.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

describe.each(databases())('accounts on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  let last = 5_000;
  const store = () => fresh.storage.accounts;
  const write = (userId: UserId, ...facts: Parameters<typeof commit>[2][]) =>
    commit(fresh.storage.writer, userId, ...facts);
  const person = () => id<UserId>(++last);
  const signUp = (userId: UserId, username: string) =>
    write(userId, ...signedUp(userId, { username, email: 'a@b.co', password: '' }, '$argon2id$', 1_000));

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  test('a sign-up makes user, account and login in one commit', async () => {
    const userId = person();
    await signUp(userId, 'anna');
    const account: Account = {
      userId,
      loginName: 'anna',
      email: null,
      claimedEmail: 'a@b.co',
      passwordHash: '$argon2id$',
      factor: null,
      createdMs: 1_000,
    };
    expect(await store().get(userId)).toEqual(account);
    expect(await store().byLogin(nameLogin('anna'))).toBe(userId);
    expect(await fresh.storage.users.get([userId])).toMatchObject([{ id: userId, username: 'anna' }]);
    const factor = { sealed: 'x', lastStep: 7, recoveryHashes: ['ab'] };
    await write(userId, { type: 'accountWritten', account: { ...account, factor } });
    expect(await store().get(userId)).toEqual({ ...account, factor });
    expect(await store().get(person())).toBeNull();
    expect(await store().byLogin(nameLogin('nobody'))).toBeNull();
  });

  test('a login that is taken fails the whole commit, also beside others in its group', async () => {
    const [first, second, third] = [person(), person(), person()];
    const attempts = [signUp(first, 'taken'), signUp(second, 'taken'), signUp(third, 'free')];
    const outcomes = await Promise.allSettled(attempts);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store().byLogin(nameLogin('taken'))).toBe(first);
    expect(await store().get(second)).toBeNull();
    expect(await fresh.storage.users.get([second])).toEqual([]);
    await write(first, { type: 'loginReleased', login: nameLogin('taken') });
    await write(second, ...opened(second, 'taken', { claimedEmail: null, passwordHash: null, createdMs: 0 }));
    expect(await store().byLogin(nameLogin('taken'))).toBe(second);
  });

  test('browser sessions are listed oldest first, and updated and ended only by their owner', async () => {
    const [userId, other] = [person(), person()];
    const signIn = (n: number): SignIn => ({
      ...{ id: id(n), userId, hash: `hash ${n}`, seenMs: n, agent: 'Browser \u0000 "1"', address: '::1' },
    });
    await write(userId, { type: 'signInStarted', signIn: signIn(20) });
    await write(userId, { type: 'signInStarted', signIn: signIn(10) });
    const shown = { agent: 'Browser \uFFFD "1"' };
    expect(await store().signIns(userId)).toEqual([
      { ...signIn(10), ...shown },
      { ...signIn(20), ...shown },
    ]);
    await write(userId, { type: 'signInSeen', signInId: id(10), seenMs: 1_700_000_000_000 });
    await write(other, { type: 'signInEnded', signInId: id(10) });
    await write(other, { type: 'signInSeen', signInId: id(20), seenMs: 5 });
    await write(userId, { type: 'signInEnded', signInId: id(20) });
    expect(await store().signIns(userId)).toEqual([{ ...signIn(10), ...shown, seenMs: 1_700_000_000_000 }]);
    expect(await store().signIns(other)).toEqual([]);
  });
});
