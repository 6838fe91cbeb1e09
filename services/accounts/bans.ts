import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Accounts } from './ports.ts';

/** Returned only to a client that has proved to be this user. */
const BANNED = {
  ok: false,
  refusal: { ...refusal('USER_BANNED'), message: 'The user is banned from this server' },
} as const;

/** Wraps accounts so that banned users cannot sign in by any means. */
export function withoutBanned(accounts: Accounts, isBanned: (userId: UserId) => Promise<boolean>): Accounts {
  const checked = async <Value>(
    reply: Reply<Value>,
    userIdOf: (value: Value) => UserId,
  ): Promise<Reply<Value>> => (reply.ok && (await isBanned(userIdOf(reply.value))) ? BANNED : reply);
  const self = (userId: UserId): UserId => userId;
  return {
    ...accounts,
    get registrationOpen() {
      return accounts.registrationOpen;
    },
    signIn: async (...given) => checked(await accounts.signIn(...given), ({ userId }) => userId),
    secondFactor: async (...given) => checked(await accounts.secondFactor(...given), self),
    confirmEmail: async (...given) => checked(await accounts.confirmEmail(...given), self),
    reset: async (...given) => checked(await accounts.reset(...given), self),
    async issueToken(userId) {
      const token = await accounts.issueToken(userId);
      // The user may have been banned after the password check and before the token was issued.
      if (await isBanned(userId)) await accounts.closeAll(userId, null);
      return token;
    },
    async browserSession(cookie) {
      const visit = await accounts.browserSession(cookie);
      return visit && (await isBanned(visit.userId)) ? null : visit;
    },
  };
}
