import { createHash } from 'node:crypto';
import { HERE } from '../../../actors/placement/routing.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import type { Account, AccountFact, SignIn } from '../../../engine/account/facts.ts';
import type { UserFact } from '../../../engine/user/facts.ts';
import { type FreshId, snowflakeAt, type UserId } from '../../../protocol/ids.ts';
import { Secret } from '../../../protocol/secret.ts';
import { usernameKeys } from '../../../protocol/usernames.ts';
import { assembleAccounts } from '../../../services/accounts/accounts.ts';
import type { AccountPorts } from '../../../services/accounts/context.ts';
import type { ClientInfo, Email } from '../../../services/accounts/ports.ts';

export const HOME: ClientInfo = { address: '192.0.2.1', agent: 'Test browser' };
export const PASSWORD = 'correct horse battery';

type User = Extract<UserFact, { type: 'userCreated' }>['user'];

/** A store in memory that obeys the facts as the database does: a login that is taken fails the commit. */
function memoryStore() {
  const accounts = new Map<string, Account>();
  const logins = new Map<string, UserId>();
  const signIns = new Map<string, SignIn[]>();
  const users = new Map<string, User>();

  /** As the table of usernames has it. */
  const taken = (username: string, userId: string | null): boolean =>
    [...users].some(
      ([id, user]) =>
        id !== userId && usernameKeys(user.username).some((key) => usernameKeys(username).includes(key)),
    );

  function apply(ownerId: UserId, fact: AccountFact | UserFact): void {
    const own = signIns.get(ownerId) ?? [];
    if (fact.type === 'accountWritten') accounts.set(ownerId, structuredClone(fact.account));
    if (fact.type === 'loginReleased') logins.delete(fact.login);
    if (fact.type === 'userCreated' && taken(fact.user.username, ownerId)) throw new Error('duplicate key');
    if (fact.type === 'userCreated') users.set(ownerId, fact.user);
    if (fact.type === 'signInStarted') signIns.set(ownerId, [...own, fact.signIn]);
    // As the database would, it takes ids only.
    if (fact.type === 'signInEnded') BigInt(fact.signInId);
    if (fact.type === 'signInEnded')
      signIns.set(
        ownerId,
        own.filter(({ id }) => id !== fact.signInId),
      );
    if (fact.type === 'signInSeen')
      signIns.set(
        ownerId,
        own.map((one) => (one.id === fact.signInId ? { ...one, seenMs: fact.seenMs } : one)),
      );
    if (fact.type !== 'loginTaken') return;
    if (logins.has(fact.login)) throw new Error(`duplicate key: ${fact.login}`);
    logins.set(fact.login, fact.userId);
  }

  return {
    accounts,
    logins,
    users,
    taken,
    store: {
      get: async (userId: UserId) => accounts.get(userId) ?? null,
      byLogin: async (login: string) => logins.get(login) ?? null,
      signIns: async (userId: UserId) => signIns.get(userId) ?? [],
    },
    commit: async (ownerId: string, facts: readonly (AccountFact | UserFact)[]) => {
      for (const fact of facts) apply(ownerId as UserId, fact);
    },
  };
}

const emptyLog = () => ({
  letters: [] as Email[],
  verified: 0,
  hashed: 0,
  revokedAll: [] as string[],
  faults: [] as unknown[],
  updates: [] as object[],
  security: [] as [string, object][],
});

/** Accounts over a store in memory, on a virtual clock; letters, hashes and revocations are noted. */
export function arrangeAccounts(given: Partial<AccountPorts> = {}) {
  const clock = new VirtualClock();
  const memory = memoryStore();
  const log = emptyLog();
  let chance = 0;
  let ids = 0n;
  const accounts = assembleAccounts({
    routing: HERE,
    security: (event, fields) => void log.security.push([event, fields]),
    accounts: memory.store,
    users: {
      get: async (userIds) => userIds.flatMap((id) => memory.users.get(id) ?? []),
      usernameTaken: async (username, userId) => memory.taken(username, userId),
    },
    userChanges: {
      async update(userId, change) {
        log.updates.push(change);
        const user = { ...memory.users.get(userId), ...change } as User;
        memory.users.set(userId, user);
        return { ok: true, value: user };
      },
    },
    identity: {
      issue: async (userId) => new Secret(`token of ${userId}`),
      revoke: async () => {},
      revokeAll: async (userId) => void log.revokedAll.push(userId),
    },
    passwords: {
      hash: async (password) => {
        log.hashed += 1;
        return `$slow$${password}`;
      },
      verify: async (hash, password) => {
        log.verified += 1;
        return hash === `$slow$${password}`;
      },
      isDated: (hash) => hash.startsWith('$old$'),
    },
    mailer: { send: async (letter) => void log.letters.push(letter) },
    secret: async () => 'a secret of the server for this test',
    commit: memory.commit,
    commitNew: memory.commit,
    registrationOpen: () => true,
    addressLimits: true,
    publicUrl: () => 'https://play.example',
    nextId: () => String(BigInt(snowflakeAt(clock.now())) + ++ids) as FreshId,
    nowMs: () => clock.now(),
    monotonic: () => clock.monotonic(),
    randomBytes: (size) => createHash('sha512').update(String(chance++)).digest().subarray(0, size),
    onFault: (error) => log.faults.push(error),
    ...given,
  });

  async function signUp(username = 'anna', email: string | null = 'anna@example.org'): Promise<UserId> {
    const reply = await accounts.register({ username, email, password: PASSWORD }, HOME);
    if (!reply.ok) throw new Error(JSON.stringify(reply.refusal));
    await accounts.idle();
    return reply.value;
  }

  /** The token of the link in the last letter. */
  const linked = (): string => /token=(\S+)/.exec(log.letters.at(-1)?.text ?? '')?.[1] ?? '';

  return { accounts, clock, memory, log, signUp, linked };
}
