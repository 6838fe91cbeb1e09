import { snowflakeMs, type UserId } from '../../protocol/ids.ts';
import type { UserFact } from '../user/facts.ts';
import { newUser } from '../user/user.ts';
import type { Account, AccountFact, SecondFactor, SignIn } from './facts.ts';
import { type Founding, mailLogin, nameLogin } from './logins.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** How long a browser stays signed in: without use, and in total. */
export const SIGN_IN_IDLE_MS = 14 * DAY_MS;
export const SIGN_IN_AGE_MS = 90 * DAY_MS;
/** Signed-in browsers of one account; one more ends the oldest. */
export const SIGN_INS_MAX = 50;
/** How far `seenMs` may lag behind, so that not every request is a write. */
export const SEEN_EVERY_MS = 10 * 60_000;

/** The facts of a sign-up. The e-mail address is only claimed until its owner confirms it. */
export function signedUp(
  userId: UserId,
  { username, email, globalName }: Founding,
  passwordHash: string | null,
  nowMs: number,
): readonly (UserFact | AccountFact)[] {
  const user = newUser({ id: userId, username, globalName: globalName ?? null, bot: false });
  return [
    { type: 'userCreated', user },
    ...opened(userId, username, { claimedEmail: email, passwordHash, createdMs: nowMs }),
  ];
}

/** The facts that let an existing user sign in. */
export function opened(
  userId: UserId,
  username: string,
  given: Pick<Account, 'claimedEmail' | 'passwordHash' | 'createdMs'>,
): readonly AccountFact[] {
  const loginName = username.toLowerCase();
  const account: Account = { ...given, userId, loginName, email: null, factor: null };
  return [
    { type: 'loginTaken', login: nameLogin(loginName), userId },
    { type: 'accountWritten', account },
  ];
}

export const withPassword = (account: Account, passwordHash: string): AccountFact => ({
  type: 'accountWritten',
  account: { ...account, passwordHash },
});

export const withFactor = (account: Account, factor: SecondFactor | null): AccountFact => ({
  type: 'accountWritten',
  account: { ...account, factor },
});

/** The facts of a confirmed e-mail address: from now on it signs in, and no other account can confirm it. */
export function emailConfirmed(account: Account, email: string): readonly AccountFact[] {
  const { userId, email: earlier } = account;
  return [
    ...(earlier === null ? [] : [{ type: 'loginReleased', login: mailLogin(earlier) } as const]),
    { type: 'loginTaken', login: mailLogin(email), userId },
    { type: 'accountWritten', account: { ...account, email, claimedEmail: null } },
  ];
}

/** The facts of a changed login name. */
export function renamed(account: Account, username: string): readonly AccountFact[] {
  const { userId, loginName } = account;
  return [
    { type: 'loginReleased', login: nameLogin(loginName) },
    { type: 'loginTaken', login: nameLogin(username), userId },
    { type: 'accountWritten', account: { ...account, loginName: username } },
  ];
}

export const withClaim = (account: Account, claimedEmail: string): AccountFact => ({
  type: 'accountWritten',
  account: { ...account, claimedEmail },
});

/** True while the browser is signed in. */
export const isCurrent = ({ id, seenMs }: SignIn, nowMs: number): boolean =>
  nowMs < seenMs + SIGN_IN_IDLE_MS && nowMs < snowflakeMs(id) + SIGN_IN_AGE_MS;

export const ended = ({ id }: SignIn): AccountFact => ({ type: 'signInEnded', signInId: id });

/** The facts of a new browser: expired ones end, and the oldest beyond the bound. `signIns` is ordered oldest first. */
export function signInStarted(
  signIns: readonly SignIn[],
  signIn: SignIn,
  nowMs: number,
): readonly AccountFact[] {
  const current = signIns.filter((one) => isCurrent(one, nowMs));
  const crowded = current.slice(0, Math.max(0, current.length + 1 - SIGN_INS_MAX));
  const over = signIns.filter((one) => !isCurrent(one, nowMs));
  return [...over.map(ended), ...crowded.map(ended), { type: 'signInStarted', signIn }];
}
