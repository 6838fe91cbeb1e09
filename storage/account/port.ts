import type { Account, SignIn } from '../../engine/account/facts.ts';
import type { UserId } from '../../protocol/ids.ts';

/** How people sign in. */
export interface AccountStore {
  get(userId: UserId): Promise<Account | null>;
  /** Whose login this is: a key of `engine/account/logins.ts`. */
  byLogin(login: string): Promise<UserId | null>;
  /** Browsers that are signed in, oldest first. */
  signIns(userId: UserId): Promise<SignIn[]>;
}
