import { ended, renamed, withClaim, withPassword } from '../../engine/account/account.ts';
import type { Account } from '../../engine/account/facts.ts';
import {
  emailObjection,
  loginOf,
  mailLogin,
  nameLogin,
  passwordObjection,
  USERNAME_TAKEN,
  usernameObjection,
} from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/outcome.ts';
import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { BUSY, type Desk, refused } from './desk.ts';
import { letters } from './letters.ts';
import type { Accounts, Place } from './ports.ts';
import { confirmation, DEAD_LINK } from './signup.ts';

const RESET_MS = 3_600_000;
const UNKNOWN = refused(refusal('UNKNOWN_ACCOUNT'));
const BY_ITSELF: Place = { address: null, agent: '' };

/** What a link to reset is bound to: good until the password or the address is another. */
const resetState = ({ passwordHash, email }: Account): string => JSON.stringify([passwordHash, email]);

type Changing = 'profile' | 'contact' | 'rename' | 'changePassword' | 'changeEmail' | 'forgot' | 'reset';

/** What the owner of an account does with it. */
export function createChanges(desk: Desk): Pick<Accounts, Changing> {
  const { ports, inTurn } = desk;
  const { accounts } = ports;

  /** Commits the password, signs everything else out, and tells the owner. */
  async function put(account: Account, hash: string, keep: string | null): Promise<Reply<null>> {
    const { userId, email, loginName } = account;
    const others = (await accounts.signIns(userId)).filter(({ id }) => id !== keep);
    await ports.commit(userId, [withPassword(account, hash), ...others.map(ended)]);
    await ports.identity.revokeAll(userId);
    if (email !== null) {
      const told = letters.passwordChanged(email, ports.publicUrl(), loginName);
      desk.post.behind(async () => told, BY_ITSELF);
    }
    return { ok: true, value: null };
  }

  return {
    async profile(userId) {
      const [account, [user]] = await Promise.all([accounts.get(userId), ports.users.get([userId])]);
      if (!account || !user) return null;
      const { loginName, email, claimedEmail, factor } = account;
      return {
        ...{ userId, loginName, email, claimedEmail },
        username: user.username,
        globalName: user.global_name,
        hasFactor: factor !== null,
        recoveryCodesLeft: factor?.recoveryHashes.length ?? 0,
      };
    },

    async contact(userId) {
      const account = await accounts.get(userId);
      const email = account?.email ?? account?.claimedEmail ?? null;
      return email === null ? null : { email, verified: account?.email === email };
    },

    async rename(userId, names) {
      const username = names.username.trim().toLowerCase();
      const account = await accounts.get(userId);
      if (!account) return UNKNOWN;
      if (username !== account.loginName) {
        const objection = usernameObjection(username);
        if (objection) return refused(objection);
        const login = nameLogin(username);
        const taken = await inTurn(userId, () =>
          inTurn(login, async () => {
            const now = await accounts.get(userId);
            if (!now || (await accounts.byLogin(login)) !== null) return true;
            await ports.commit(userId, renamed(now, username));
            return false;
          }),
        );
        if (taken) return refused(USERNAME_TAKEN);
      }
      const globalName = names.globalName?.trim() || null;
      const reply = await ports.people.update(userId, { username, global_name: globalName });
      return reply.ok ? { ok: true, value: null } : reply;
    },

    changePassword: (userId, { current, password }, keep, place) =>
      desk.withPassword(userId, current, place, async (account) => {
        const objection = passwordObjection(password, [account.loginName, account.email]);
        if (objection) return refused(objection);
        const hash = await ports.passwords.hash(password);
        return hash === null ? BUSY : put(account, hash, keep);
      }),

    changeEmail: (userId, { email: typed, current }, place) =>
      desk.withPassword(userId, current, place, async (account) => {
        const email = typed.trim();
        const objection = emailObjection(email);
        if (objection) return refused(objection);
        if (email.toLowerCase() === account.email?.toLowerCase()) return { ok: true, value: null };
        await ports.commit(userId, [withClaim(account, email)]);
        desk.post.behind(() => confirmation(desk, { ...account, claimedEmail: email }), place);
        return { ok: true, value: null };
      }),

    async forgot(login, place) {
      // Everything that depends on whether there is such an account happens behind the answer.
      desk.post.behind(async () => {
        const userId = await accounts.byLogin(loginOf(login.slice(0, 320)));
        const account = userId && (await accounts.get(userId));
        if (!account?.email) return null;
        const keys = await desk.keys();
        const untilMs = ports.nowMs() + RESET_MS;
        const ticket = keys.ticket('reset', account.userId, untilMs, resetState(account));
        return letters.reset(account.email, ports.publicUrl(), account.loginName, ticket);
      }, place);
      return { ok: true, value: null };
    },

    async reset(token, password) {
      const keys = await desk.keys();
      const claim = keys.claim(token);
      if (claim === null) return refused(DEAD_LINK);
      const userId: UserId = claim.userId;
      return inTurn(userId, async () => {
        const account = await accounts.get(userId);
        if (!account || !keys.proves(claim, 'reset', resetState(account), ports.nowMs()))
          return refused(DEAD_LINK);
        const objection = passwordObjection(password, [account.loginName, account.email]);
        if (objection) return refused(objection);
        const hash = await ports.passwords.hash(password);
        if (hash === null) return BUSY;
        const reply = await put(account, hash, null);
        // Whoever guessed before has made the owner wait; the mailbox has shown now who it is.
        for (const login of [nameLogin(account.loginName), mailLogin(account.email ?? '')])
          desk.attempts.right('login', login, BY_ITSELF);
        return reply.ok ? { ok: true, value: userId } : reply;
      });
    },
  };
}
