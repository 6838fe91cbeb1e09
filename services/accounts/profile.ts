import { renamed, withClaim } from '../../engine/account/account.ts';
import { emailObjection, nameLogin } from '../../engine/account/logins.ts';
import { nameObjection } from '../../engine/user/user.ts';
import { USERNAME_TAKEN, usernameObjection, usernameOf } from '../../engine/user/usernames.ts';
import { refusal } from '../../protocol/refusal.ts';
import { type AccountContext, refused } from './context.ts';
import type { Accounts } from './ports.ts';
import { claimLogin, confirmationEmail } from './signup.ts';

const UNKNOWN = refused(refusal('UNKNOWN_ACCOUNT'));

type ProfileOperation = 'profile' | 'contact' | 'rename' | 'confirm' | 'changeEmail';

/** Reads and changes the names and the address of an account, for its owner. */
export function createProfile(context: AccountContext): Pick<Accounts, ProfileOperation> {
  const { ports, mutex } = context;
  const { accounts } = ports;

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
      const hidden = nameObjection(names.username, 'username');
      if (hidden) return refused(hidden);
      const username = usernameOf(names.username);
      const account = await accounts.get(userId);
      if (!account) return UNKNOWN;
      if (username !== account.loginName) {
        const objection = usernameObjection(username);
        if (objection) return refused(objection);
        const login = nameLogin(username);
        const taken = await mutex(userId, () =>
          claimLogin<null>(context, { login, userId, username, taken: USERNAME_TAKEN }, async () => {
            const now = await accounts.get(userId);
            if (!now) return refused(USERNAME_TAKEN);
            await ports.commit(userId, renamed(now, username));
            return { ok: true, value: null };
          }),
        );
        if (!taken.ok) return taken;
      }
      const { globalName } = names;
      const shown = globalName === undefined ? {} : { global_name: globalName?.trim() || null };
      const reply = await ports.userChanges.update(userId, { username, ...shown });
      return reply.ok ? { ok: true, value: null } : reply;
    },

    confirm: (userId, password, client) =>
      context.withPassword(userId, password, client, async () => ({ ok: true, value: null }), 'password'),

    changeEmail: (userId, { email: typed, current }, client) =>
      context.withPassword(userId, current, client, async (account) => {
        const email = typed.trim();
        const objection = emailObjection(email);
        if (objection) return refused(objection);
        if (email.toLowerCase() === account.email?.toLowerCase()) return { ok: true, value: null };
        await ports.commit(userId, [withClaim(account, email)]);
        context.mailQueue.enqueue(
          () => confirmationEmail(context, { ...account, claimedEmail: email }),
          client,
        );
        return { ok: true, value: null };
      }),
  };
}
