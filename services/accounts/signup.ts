import { emailConfirmed, signedUp } from '../../engine/account/account.ts';
import type { Account } from '../../engine/account/facts.ts';
import { type Founding, mailLogin, nameLogin, signUpObjection } from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { UserFact } from '../../engine/user/facts.ts';
import { nameObjection } from '../../engine/user/user.ts';
import { USERNAME_TAKEN, usernameOf } from '../../engine/user/usernames.ts';
import type { UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { commonPasswords } from './commonpasswords.ts';
import { type AccountContext, BUSY, refused } from './context.ts';
import { emails } from './emails.ts';
import type { Accounts, ClientInfo, Email } from './ports.ts';

const CONFIRM_MS = 24 * 3_600_000;

const CLOSED: Refusal = {
  ...refusal('FORBIDDEN'),
  message: 'This server takes no sign-ups. Ask the people who run it for an account.',
};
/** One refusal for every invalid link, whether malformed, expired, used or for another address. */
export const INVALID_LINK: Refusal = invalidField(
  ['token'],
  'INVALID_TOKEN',
  'This link is invalid or has expired. Request a new one.',
);
const NOTHING_TO_CONFIRM = invalidField(['email'], 'EMAIL_NOT_CLAIMED', 'No address waits to be confirmed.');

/** State that a confirmation link is bound to: valid until the address is confirmed or another one is claimed. */
const claimOf = ({ claimedEmail }: Account): string => claimedEmail?.toLowerCase() ?? '';

/** A login to claim for a user. */
interface LoginClaim {
  readonly login: string;
  readonly userId: UserId;
  /** The username of the login; refused when a confusable username exists. */
  readonly username?: string;
  /** The refusal when another user has it. */
  readonly taken: Refusal;
}

/**
 * Claims a login that is free or already the user's own. Claims of one login run in order, so the second of two is refused.
 * Across shards, and for names that only look alike, the database refuses the second.
 */
export const claimLogin = <T>(
  { mutex, ports: { accounts, users } }: Pick<AccountContext, 'mutex' | 'ports'>,
  { login, userId, username, taken }: LoginClaim,
  take: () => Promise<Reply<T>>,
): Promise<Reply<T>> =>
  mutex(login, async () => {
    const isTaken = async (): Promise<boolean> =>
      ![null, userId].includes(await accounts.byLogin(login)) ||
      (username !== undefined && (await users.usernameTaken(username, userId)));
    if (await isTaken()) return refused(taken);
    try {
      return await take();
    } catch (fault) {
      if (await isTaken()) return refused(taken);
      throw fault;
    }
  });

/** The e-mail to the address that `account` claims: a confirmation link, or a notice when another account has the address. */
export async function confirmationEmail(context: AccountContext, account: Account): Promise<Email | null> {
  const { ports } = context;
  const { claimedEmail: to, userId, loginName } = account;
  if (to === null) return null;
  const holderId = await ports.accounts.byLogin(mailLogin(to));
  if (holderId !== null && holderId !== userId) {
    const holder = await ports.accounts.get(holderId);
    return holder && emails.alreadyYours(to, ports.publicUrl(), holder.loginName);
  }
  const keys = await context.keys();
  const ticket = keys.ticket('confirm', userId, ports.nowMs() + CONFIRM_MS, claimOf(account));
  return emails.confirm(to, ports.publicUrl(), loginName, ticket);
}

/** Creates a user who can sign in, and commits `also.facts` atomically with it. */
async function createAccount(
  context: AccountContext,
  form: Founding,
  client: ClientInfo,
  also: { readonly userId: UserId; readonly facts: readonly UserFact[] },
): Promise<Reply<UserId>> {
  const { ports } = context;
  const { accounts } = ports;
  const username = usernameOf(form.username);
  const wanted = { ...form, username, email: form.email?.trim() || null };
  const objection =
    nameObjection(form.username, 'username') ?? signUpObjection(wanted, await commonPasswords());
  if (objection) return refused(objection);
  const login = nameLogin(username);
  if ((await accounts.byLogin(login)) !== null || (await ports.users.usernameTaken(username, null)))
    return refused(USERNAME_TAKEN);
  const hash = wanted.password === null ? null : await ports.passwords.hash(wanted.password);
  if (hash === null && wanted.password !== null) return BUSY;
  const { userId } = also;
  return claimLogin(context, { login, userId, username, taken: USERNAME_TAKEN }, async () => {
    const facts = signedUp(userId, wanted, hash, ports.nowMs());
    await ports.commitNew(userId, [...facts, ...also.facts]);
    for (const fact of facts)
      if (fact.type === 'accountWritten')
        context.mailQueue.enqueue(() => confirmationEmail(context, fact.account), client);
    context.remember(userId, client);
    return { ok: true, value: userId };
  });
}

type SignUpOperation = 'register' | 'create' | 'askToConfirm' | 'confirmEmail';

/** Creates accounts and confirms their e-mail addresses. */
export function createSignUp(context: AccountContext): Pick<Accounts, SignUpOperation> {
  const { ports, mutex } = context;
  const { accounts } = ports;

  return {
    register: async (form, client) =>
      ports.registrationOpen()
        ? createAccount(context, form, client, { userId: ports.nextId(), facts: [] })
        : refused(CLOSED),

    create: (form, also) => createAccount(context, form, { address: null, agent: '' }, also),

    async askToConfirm(userId, client) {
      const account = await accounts.get(userId);
      if (!account?.claimedEmail) return refused(NOTHING_TO_CONFIRM);
      context.mailQueue.enqueue(() => confirmationEmail(context, account), client);
      return { ok: true, value: null };
    },

    async confirmEmail(token) {
      const keys = await context.keys();
      const claim = keys.claim(token);
      if (claim === null) return refused(INVALID_LINK);
      const { userId } = claim;
      return mutex(userId, async () => {
        const account = await accounts.get(userId);
        const email = account?.claimedEmail;
        if (!account || !email || !keys.verifies(claim, 'confirm', claimOf(account), ports.nowMs()))
          return refused(INVALID_LINK);
        const wanted = { login: mailLogin(email), userId, taken: INVALID_LINK };
        return claimLogin(context, wanted, async () => {
          await ports.commit(userId, emailConfirmed(account, email));
          ports.security('email_changed', { user_id: userId });
          const { email: earlier, loginName } = account;
          if (earlier !== null) {
            const notice = emails.emailChanged(earlier, loginName, email);
            context.mailQueue.enqueue(async () => notice, { address: null, agent: '' });
          }
          return { ok: true, value: userId };
        });
      });
    },
  };
}
