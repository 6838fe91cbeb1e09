import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import type { Users } from '../../actors/user/users.ts';
import type { Account, AccountFact } from '../../engine/account/facts.ts';
import { PASSWORD_BYTES } from '../../engine/account/logins.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { UserFact } from '../../engine/user/facts.ts';
import type { FreshId, UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { SecurityTrail } from '../../protocol/security.ts';
import type { AccountStore } from '../../storage/account/port.ts';
import type { UserStore } from '../../storage/user/port.ts';
import type { Identity } from '../identity/identity.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import { createKeys, type Keys } from './keys.ts';
import { createMailQueue, type MailQueue } from './mailqueue.ts';
import type { ClientInfo, Mailer, Passwords } from './ports.ts';
import { createRecognition, type Recognition } from './recognition.ts';

export interface AccountPorts {
  readonly accounts: AccountStore;
  readonly users: Pick<UserStore, 'get' | 'usernameTaken'>;
  /** Changes the names of the user, which belong to the user aggregate. */
  readonly userChanges: Pick<Users, 'update'>;
  readonly identity: Pick<Identity, 'issue' | 'revoke' | 'revokeAll'>;
  readonly passwords: Passwords;
  readonly mailer: Mailer;
  /** The server's secret; read once. */
  secret(): Promise<string>;
  /** Commits of an account that is new, and may belong to any shard. */
  commitNew(ownerId: string, facts: readonly (AccountFact | UserFact)[]): Promise<void>;
  /** Resolves when the facts are durable. */
  commit(ownerId: string, facts: readonly (AccountFact | UserFact)[]): Promise<void>;
  registrationOpen(): boolean;
  readonly routing: Routing;
  readonly security: SecurityTrail;
  /** Whether attempts are also limited by network address. The limit by account always applies. */
  readonly addressLimits: boolean;
  /** Base URL of this server without a trailing slash, for links in e-mails. */
  publicUrl(): string;
  nextId(): FreshId;
  /** Unix milliseconds. */
  nowMs(): number;
  monotonic(): number;
  randomBytes(size: number): Uint8Array;
  onFault(error: unknown): void;
}

export const BUSY = refused(refusal('SERVICE_UNAVAILABLE'));

/** Refuses a form whose current password is wrong. */
const wrongPassword = (field: string) =>
  refused(invalidField([field], 'PASSWORD_DOES_NOT_MATCH', 'This is not your password.'));

export function refused(reason: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: reason };
}

export function retryLater(waitMs: number): { readonly ok: false; readonly refusal: Refusal } {
  return refused({ ...refusal('RATE_LIMITED'), retryAfterSec: Math.ceil(waitMs / 1000) });
}

/** State and helpers that all account operations share. */
export interface AccountContext extends Recognition {
  readonly ports: AccountPorts;
  readonly mailQueue: MailQueue;
  keys(): Promise<Keys>;
  /** Runs jobs of one key in order: a user id serialises changes of an account, a login serialises claims of it. */
  readonly mutex: <T>(key: string, job: () => Promise<T>) => Promise<T>;
  readonly attempts: Attempts;
  /** Null when too many hashes wait. A missing account takes as long as a wrong password. */
  verifyPassword(account: Account | null, password: string): Promise<boolean | null>;
  /** Verifies the current password, then runs `change` in order. A refusal names `field` of the form. */
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
  const mutex = keyedMutex<string>();
  const attempts = createAttempts(ports);
  const recognition = createRecognition(ports, currentKeys, mutex);
  let keys: Promise<Keys> | null = null;
  /** Hash of random bytes that are thrown away, so no password matches it. Verified for accounts without a password. */
  let decoy: string | null = null;

  async function decoyHash(): Promise<string | null> {
    decoy ??= await passwords.hash(Buffer.from(ports.randomBytes(32)).toString('base64'));
    return decoy;
  }

  async function matches(account: Account | null, password: string): Promise<boolean | null> {
    // No account has a password this long, so skipping the hash reveals nothing about whether the account exists.
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
    mutex,
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
      return mutex(userId, async () => {
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
