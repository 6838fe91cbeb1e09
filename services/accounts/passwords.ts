import { ended, opened, withPassword } from '../../engine/account/account.ts';
import type { Account } from '../../engine/account/facts.ts';
import { loginOf, mailLogin, nameLogin, passwordObjection } from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { USERNAME_TAKEN } from '../../engine/user/usernames.ts';
import type { UserId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { commonPasswords } from './commonpasswords.ts';
import { type AccountContext, BUSY, refused } from './context.ts';
import { emails } from './emails.ts';
import type { Accounts, ClientInfo } from './ports.ts';
import { claimLogin, INVALID_LINK } from './signup.ts';

const RESET_MS = 3_600_000;
const NO_CLIENT: ClientInfo = { address: null, agent: '' };

/** The refusal of a weak password; null for an acceptable one. `known` are texts about the account that a guesser tries first. */
const passwordRefusal = async (
  password: string,
  known: readonly (string | null)[],
): Promise<Refusal | null> =>
  passwordObjection(password, { common: await commonPasswords(), known: [...known, 'guildhall'] });

/** State that a reset link is bound to: the link is valid until the password or the address changes. */
const resetState = ({ passwordHash, email }: Account): string => JSON.stringify([passwordHash, email]);

/** Commits a password, ends all sign-ins except `keep`, and notifies the owner by e-mail. */
async function storePassword(
  { ports, mailQueue }: AccountContext,
  account: Account,
  hash: string,
  keep: string | null,
  by: 'owner' | 'letter',
): Promise<Reply<null>> {
  const { userId, email, loginName } = account;
  const others = (await ports.accounts.signIns(userId)).filter(({ id }) => id !== keep);
  await ports.commit(userId, [withPassword(account, hash), ...others.map(ended)]);
  await ports.identity.revokeAll(userId);
  ports.security('password_changed', { user_id: userId, by });
  if (email !== null) {
    const notice = emails.passwordChanged(email, ports.publicUrl(), loginName);
    mailQueue.enqueue(async () => notice, NO_CLIENT);
  }
  return { ok: true, value: null };
}

/** Sets a new password on proof of the old one, or for the operator. */
export function createPasswordChanges(
  context: AccountContext,
): Pick<Accounts, 'changePassword' | 'setPassword'> {
  const { ports, mutex } = context;
  const { accounts } = ports;

  return {
    changePassword: (userId, { current, password }, keep, client) =>
      context.withPassword(userId, current, client, async (account) => {
        const objection = await passwordRefusal(password, [account.loginName, account.email]);
        if (objection) return refused(objection);
        const hash = await ports.passwords.hash(password);
        return hash === null ? BUSY : storePassword(context, account, hash, keep, 'owner');
      }),

    async setPassword(userId, password) {
      const [user] = await ports.users.get([userId]);
      if (!user || user.bot) return refused(refusal('UNKNOWN_USER'));
      const objection = await passwordRefusal(password, [user.username]);
      if (objection) return refused(objection);
      const passwordHash = await ports.passwords.hash(password);
      if (passwordHash === null) return BUSY;
      return mutex(userId, async () => {
        const account = await accounts.get(userId);
        if (account !== null) {
          const signIns = await accounts.signIns(userId);
          const opens = { ...account, passwordHash, factor: null };
          await ports.commit(userId, [{ type: 'accountWritten', account: opens }, ...signIns.map(ended)]);
          ports.security('password_changed', { user_id: userId, by: 'operator' });
          return { ok: true, value: null };
        }
        const wanted = { login: nameLogin(user.username), userId, taken: USERNAME_TAKEN };
        return claimLogin(context, wanted, async () => {
          const given = { claimedEmail: null, passwordHash, createdMs: ports.nowMs() };
          await ports.commit(userId, opened(userId, user.username, given));
          ports.security('password_changed', { user_id: userId, by: 'operator' });
          return { ok: true, value: null };
        });
      });
    },
  };
}

/** Resets a password by a link that is e-mailed to the confirmed address. */
export function createResets(context: AccountContext): Pick<Accounts, 'forgot' | 'reset'> {
  const { ports, mutex } = context;
  const { accounts } = ports;

  return {
    async forgot(login, client) {
      // Work that depends on whether the account exists runs after the reply, so timing does not reveal it.
      context.mailQueue.enqueue(async () => {
        const userId = await accounts.byLogin(loginOf(login.slice(0, 320)));
        const account = userId && (await accounts.get(userId));
        if (!account?.email) return null;
        const keys = await context.keys();
        const untilMs = ports.nowMs() + RESET_MS;
        const ticket = keys.ticket('reset', account.userId, untilMs, resetState(account));
        return emails.reset(account.email, ports.publicUrl(), account.loginName, ticket);
      }, client);
      return { ok: true, value: null };
    },

    async reset(token, password, client = NO_CLIENT) {
      const keys = await context.keys();
      const claim = keys.claim(token);
      if (claim === null) return refused(INVALID_LINK);
      const userId: UserId = claim.userId;
      return mutex(userId, async () => {
        const account = await accounts.get(userId);
        if (!account || !keys.verifies(claim, 'reset', resetState(account), ports.nowMs()))
          return refused(INVALID_LINK);
        const objection = await passwordRefusal(password, [account.loginName, account.email]);
        if (objection) return refused(objection);
        const hash = await ports.passwords.hash(password);
        if (hash === null) return BUSY;
        const reply = await storePassword(context, account, hash, null, 'letter');
        // Access to the mailbox proves the owner, so earlier guesses no longer delay the sign-in.
        for (const login of [nameLogin(account.loginName), mailLogin(account.email ?? '')])
          context.attempts.forgive(login, client);
        return reply.ok ? { ok: true, value: userId } : reply;
      });
    },
  };
}
