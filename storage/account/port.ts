import type { Account, SignIn } from '../../engine/account/facts.ts';
import type { UserId } from '../../protocol/ids.ts';

/** Accounts: credentials, logins and browser sessions. */
export interface AccountStore {
  get(userId: UserId): Promise<Account | null>;
  /** The user who signs in with this login, a key of `engine/account/logins.ts`. */
  byLogin(login: string): Promise<UserId | null>;
  /** Signed-in browsers, oldest first. */
  signIns(userId: UserId): Promise<SignIn[]>;
}
