import type { Account, AccountFacts, SignIn } from '../../engine/account/facts.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, remove, rows, type StatementTable, upsert } from '../database/statement.ts';
import type { AccountStore } from './port.ts';

const WRITE = upsert('accounts', { user_id: 'bigint', data: 'jsonb' }, 'user_id');
const LOGIN = { login: 'text', user_id: 'bigint' };
/** Not an upsert: when two users take one login at the same time, the second commit must fail. */
const TAKE = `INSERT INTO login_directory (login, user_id) SELECT login, user_id FROM ${rows(LOGIN)} ORDER BY ord`;
const RELEASE = remove('login_directory', { login: 'text' });

const SIGN_IN = { user_id: 'bigint', id: 'bigint' };
const START = upsert('sign_ins', { ...SIGN_IN, seen_ms: 'bigint', data: 'jsonb' }, 'user_id, id');
const SEEN = { ...SIGN_IN, seen_ms: 'bigint' };
const SEE = `UPDATE sign_ins t SET seen_ms = r.seen_ms FROM ${lastRows(SEEN, 'user_id, id')} WHERE t.user_id = r.user_id AND t.id = r.id`;
const END = remove('sign_ins', SIGN_IN);

export const accountStatements: StatementTable<AccountFacts> = {
  accountWritten: (_, { account }) => [{ sql: WRITE, row: { user_id: account.userId, data: account } }],
  loginTaken: (_, { login, userId }) => [{ sql: TAKE, row: { login, user_id: userId } }],
  loginReleased: (_, { login }) => [{ sql: RELEASE, row: { login } }],
  signInStarted: (_, { signIn }) => {
    const { id, userId, seenMs, ...data } = signIn;
    return [{ sql: START, row: { user_id: userId, id, seen_ms: seenMs, data } }];
  },
  signInSeen: (ownerId, { signInId, seenMs }) => [
    { sql: SEE, row: { user_id: ownerId, id: signInId, seen_ms: seenMs } },
  ],
  signInEnded: (ownerId, { signInId }) => [{ sql: END, row: { user_id: ownerId, id: signInId } }],
};

interface SignInRow {
  readonly id: string;
  readonly seenMs: string;
  readonly data: Pick<SignIn, 'hash' | 'agent' | 'address'>;
}

export const accountStore = (sql: Sql): AccountStore => ({
  get: async (userId) => {
    const text = 'SELECT data FROM accounts WHERE user_id = $1';
    return (await sql.query<{ data: Account }>(text, [userId]))[0]?.data ?? null;
  },
  byLogin: async (login) => {
    const text = 'SELECT user_id AS "userId" FROM login_directory WHERE login = $1';
    return (await sql.query<{ userId: UserId }>(text, [login]))[0]?.userId ?? null;
  },
  signIns: async (userId) => {
    const text = 'SELECT id, seen_ms AS "seenMs", data FROM sign_ins WHERE user_id = $1 ORDER BY id';
    const found = await sql.query<SignInRow>(text, [userId]);
    return found.map(({ id, seenMs, data }) => ({ ...data, id, userId, seenMs: Number(seenMs) }));
  },
});
