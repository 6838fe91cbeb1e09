import { withFactor, withPassword } from '../../engine/account/account.ts';
import type { Account } from '../../engine/account/facts.ts';
import { loginOf } from '../../engine/account/logins.ts';
import { snowflakeOf, type UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { type AccountContext, BUSY, refused, retryLater } from './context.ts';
import type { Accounts } from './ports.ts';
import { acceptCode } from './totp.ts';

const TICKET_MS = 5 * 60_000;
/** Longest login; longer text matches no account. */
const LOGIN_CHARACTERS_MAX = 320;
/** Queried when no account matches, so that the reply takes as long as for an account. */
const NOBODY: UserId = snowflakeOf(0n);

const leaf = (message: string) => ({ _errors: [{ code: 'INVALID_LOGIN', message }] });
const WRONG = 'Login or password is invalid.';
/** @source https://docs.discord.food/authentication#login; an error of the form, whose code the page does not name */
const INVALID_LOGIN: Refusal = {
  ...refusal('INVALID_FORM_BODY'),
  errors: { login: leaf(WRONG), password: leaf(WRONG) },
};

/** Signs in by password, then by the second factor of accounts that have one. */
export function createSignIn(context: AccountContext): Pick<Accounts, 'signIn' | 'secondFactor'> {
  const { ports, attempts } = context;

  /** Replaces a hash with dated parameters after a sign-in, when the password is known. */
  function renewHash(account: Account, password: string): void {
    const { passwordHash, userId } = account;
    if (passwordHash === null || !ports.passwords.isDated(passwordHash)) return;
    context
      .mutex(userId, async () => {
        const hash = await ports.passwords.hash(password);
        const now = await ports.accounts.get(userId);
        if (hash === null || now?.passwordHash !== passwordHash) return;
        await ports.commit(userId, [withPassword(now, hash)]);
      })
      .catch(ports.onFault);
  }

  return {
    async signIn({ login, password }, client) {
      const key = loginOf(login.slice(0, LOGIN_CHARACTERS_MAX));
      const userId = await ports.accounts.byLogin(key);
      const account = await ports.accounts.get(userId ?? NOBODY);
      const recognition = await context.recognise(account, client);
      const attempt = await attempts.begin({ kind: 'login', key, client, userId, ...recognition });
      if (attempt.waitMs > 0) return retryLater(attempt.waitMs);
      const fits = await context.verifyPassword(account, password);
      if (fits === null) return BUSY;
      if (!fits || account === null) return refused(INVALID_LOGIN);
      attempt.succeed();
      renewHash(account, password);
      if (account.factor === null) {
        context.remember(account.userId, client);
        return { ok: true, value: { kind: 'signedIn', userId: account.userId } };
      }
      const keys = await context.keys();
      const untilMs = ports.nowMs() + TICKET_MS;
      const ticket = keys.ticket('factor', account.userId, untilMs, account.passwordHash ?? '');
      return { ok: true, value: { kind: 'factor', userId: account.userId, ticket } };
    },

    async secondFactor(ticket, code, client) {
      const keys = await context.keys();
      const claim = keys.claim(ticket);
      if (claim === null) return refused(refusal('INVALID_TWO_FACTOR_TICKET'));
      const { userId } = claim;
      const account = await ports.accounts.get(userId);
      const state = account?.passwordHash ?? '';
      if (!account?.factor || !keys.verifies(claim, 'factor', state, ports.nowMs()))
        return refused(refusal('INVALID_TWO_FACTOR_TICKET'));
      // Only attempts after a correct password count, so a stranger cannot lock the owner out here.
      const recognition = await context.recognise(account, client);
      const attempt = await attempts.begin({ kind: 'factor', key: userId, client, userId, ...recognition });
      if (attempt.waitMs > 0) return retryLater(attempt.waitMs);
      return context.mutex(userId, async () => {
        const now = await ports.accounts.get(userId);
        if (!now?.factor) return refused(refusal('INVALID_TWO_FACTOR_TICKET'));
        const factor = acceptCode(keys, userId, now.factor, code, ports.nowMs());
        if (factor === null) return refused(refusal('INVALID_TWO_FACTOR_CODE'));
        await ports.commit(userId, [withFactor(now, factor)]);
        attempt.succeed();
        context.remember(userId, client);
        return { ok: true, value: userId };
      });
    },
  };
}
