import { renamed, withClaim } from '../../engine/account/account.ts';
import { emailObjection, nameLogin } from '../../engine/account/logins.ts';
import { nameObjection } from '../../engine/user/user.ts';
import { USERNAME_TAKEN, usernameObjection, usernameOf } from '../../engine/user/usernames.ts';
import { refusal } from '../../protocol/refusal.ts';
import { type Desk, refused } from './desk.ts';
import type { Accounts } from './ports.ts';
import { confirmation, ifFree } from './signup.ts';

const UNKNOWN = refused(refusal('UNKNOWN_ACCOUNT'));

type Changing = 'profile' | 'contact' | 'rename' | 'confirm' | 'changeEmail';

/** What the owner of an account sees and says of it: names and address. */
export function createChanges(desk: Desk): Pick<Accounts, Changing> {
  const { ports, inTurn } = desk;
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
        const taken = await inTurn(userId, () =>
          ifFree<null>(desk, { login, userId, username, taken: USERNAME_TAKEN }, async () => {
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
      const reply = await ports.people.update(userId, { username, ...shown });
      return reply.ok ? { ok: true, value: null } : reply;
    },

    confirm: (userId, password, place) =>
      desk.withPassword(userId, password, place, async () => ({ ok: true, value: null }), 'password'),

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
  };
}
