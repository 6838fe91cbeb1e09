import type { Routing } from '../../actors/cluster/routing.ts';
import { inTurns } from '../../actors/runtime/turns.ts';
import type { Users } from '../../actors/user/users.ts';
import type { Account, AccountFact } from '../../engine/account/facts.ts';
import { PASSWORD_BYTES } from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { UserFact } from '../../engine/user/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { AccountStore } from '../../storage/ports.accounts.ts';
import type { UserStore } from '../../storage/ports.ts';
import type { Identity } from '../identity/identity.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createKeys, type Keys } from './keys.ts';
import { createMailQueue, type MailQueue } from './mailqueue.ts';
import type { ClientInfo, Mailer, Passwords } from './ports.ts';
import { createRecognition, type Recognition } from './recognition.ts';

export interface AccountPorts {
  readonly accounts: AccountStore;
  readonly users: Pick<UserStore, 'get' | 'usernameTaken'>;
  /** Changes the user itself: names are part of it. */
  readonly userChanges: Pick<Users, 'update'>;
  readonly identity: Pick<Identity, 'issue' | 'revoke' | 'revokeAll'>;
  readonly passwords: Passwords;
  readonly mailer: Mailer;
  /** The server's secret; asked for once. */
  secret(): Promise<string>;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly (AccountFact | UserFact)[]): Promise<void>;
  registrationOpen(): boolean;
  readonly routing: Routing;
  readonly security: SecurityTrail;
  /** Whether attempts are limited by address; by account they always are. */
  readonly addressLimits: boolean;
  /** Base URL of this server, without a slash: links in letters begin with it. */
  publicUrl(): string;
  nextId(): string;
  /** Unix milliseconds. */
  nowMs(): number;
  monotonic(): number;
  randomBytes(size: number): Uint8Array;
  onFault(error: unknown): void;
}

export const BUSY = refused(refusal('SERVICE_UNAVAILABLE'));

/** The current password of a form was wrong. */
const wrongPassword = (field: string) =>
  refused(invalidField([field], 'PASSWORD_DOES_NOT_MATCH', 'This is not your password.'));

export function refused(reason: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: reason };
}

export function retryLater(waitMs: number): { readonly ok: false; readonly refusal: Refusal } {
  return refused({ ...refusal('RATE_LIMITED'), retryAfterSec: Math.ceil(waitMs / 1000) });
}

/** What the parts of an account's life have in common. */
export interface AccountContext extends Recognition {
  readonly ports: AccountPorts;
  readonly mailQueue: MailQueue;
  keys(): Promise<Keys>;
  /** Changes of one account come one after another; logins are taken in turns of their own. */
  readonly inTurn: <T>(key: string, job: () => Promise<T>) => Promise<T>;
  readonly attempts: Attempts;
  /** True or false; null when too many wait. Takes as long for no account as for a wrong password. */
  verifyPassword(account: Account | null, password: string): Promise<boolean | null>;
  /** Runs `change` on the account, in turn, once the current password was given; `field` of the form held it. */
  withPassword<T>(
    userId: UserId,
    current: string,
    client: ClientInfo,
    change: (account: Account) => Promise<Reply<T>>,
    field?: 'current' | 'password',
  ): Promise<Reply<T>>;
}

export function createAccountContext(ports: AccountPorts): AccountContext {
  const { passwords } = ports;
  const inTurn = inTurns<string>();
  const attempts = createAttempts(ports);
  const recognition = createRecognition(ports, currentKeys, inTurn);
  let keys: Promise<Keys> | null = null;
  /** A hash that no password fits; made of what nobody has ever seen. */
  let decoy: string | null = null;

  async function decoyHash(): Promise<string | null> {
    decoy ??= await passwords.hash(Buffer.from(ports.randomBytes(32)).toString('base64'));
    return decoy;
  }

  async function matches(account: Account | null, password: string): Promise<boolean | null> {
    // Longer than any password that could have been chosen: no account can be told from none by it.
    if (Buffer.byteLength(password) > PASSWORD_BYTES.max) return false;
    const decoyed = await decoyHash();
    const hash = account?.passwordHash ?? decoyed;
    if (hash === null) return null;
    const fits = await passwords.verify(hash, password);
    return fits === null ? null : fits && account?.passwordHash != null;
  }

  function currentKeys(): Promise<Keys> {
    keys ??= ports.secret().then(createKeys);
    keys.catch(() => {
      keys = null;
    });
    return keys;
  }

  return {
    ports,
    inTurn,
    attempts,
    verifyPassword: matches,
    mailQueue: createMailQueue(ports),
    keys: currentKeys,
    ...recognition,

    async withPassword(userId, current, client, change, field = 'current') {
      const recognised = await recognition.recognise(await ports.accounts.get(userId), client);
      const key = `user:${userId}`;
      const attempt = await attempts.begin({ kind: 'login', key, client, userId, ...recognised });
      if (attempt.waitMs > 0) return retryLater(attempt.waitMs);
      return inTurn(userId, async () => {
        const account = await ports.accounts.get(userId);
        const fits = await matches(account, current);
        if (fits === null) return BUSY;
        if (!fits || account === null) return wrongPassword(field);
        attempt.succeed();
        return change(account);
      });
    },
  };
}
