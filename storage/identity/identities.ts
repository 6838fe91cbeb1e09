import { createHash } from 'node:crypto';
import type { IdentityFacts, Move } from '../../engine/provisional/facts.ts';
import type { ExternalIdentity, Identity } from '../../engine/provisional/identity.ts';
import type { Profile } from '../../engine/provisional/profile.ts';
import type { ProviderSettings } from '../../engine/provisional/providers.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { usernameKeys } from '../../protocol/usernames.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, remove, rows, type StatementTable, upsert } from '../database/statement.ts';
import type { IdentityStore, StoredIdentity } from './port.ts';

const KEY = { application_id: 'bigint', key: 'text' };
const WRITE = upsert(
  'identities',
  { ...KEY, user_id: 'bigint', external_user_id: 'text', data: 'jsonb' },
  'application_id, key',
);
const REMOVE = remove('identities', KEY);
const PROFILE = `UPDATE identities t SET profile = r.profile
FROM ${lastRows({ ...KEY, profile: 'jsonb' }, 'application_id, key')}
WHERE t.application_id = r.application_id AND t.key = r.key`;
const USER = rows({ user_id: 'bigint' });
const DELETE_USER = `WITH d AS (DELETE FROM tokens t USING ${USER} WHERE t.user_id = r.user_id),
n AS (DELETE FROM usernames t USING ${USER} WHERE t.user_id = r.user_id)
DELETE FROM users t USING ${USER} WHERE t.id = r.user_id`;
const BEGIN = upsert('account_moves', { id: 'bigint', data: 'jsonb' }, 'id');
const END = remove('account_moves', { id: 'bigint' });
const BAN = upsert('server_bans', { user_id: 'bigint', until_ms: 'bigint' }, 'user_id');
const UNBAN = remove('server_bans', { user_id: 'bigint' });
const LINK = upsert('child_applications', { child_id: 'bigint', parent_id: 'bigint' }, 'child_id');
const PROVIDER = { application_id: 'bigint', type: 'text' };
const CONFIGURE = upsert('identity_providers', { ...PROVIDER, data: 'jsonb' }, 'application_id, type');
const UNCONFIGURE = remove('identity_providers', PROVIDER);

/** Identifies a player within an application; JSON keeps the parts apart. */
function keyOf({ providerType, providerId, providerIssuedUserId }: ExternalIdentity): string {
  const text = JSON.stringify([providerType, providerId, providerIssuedUserId]);
  return createHash('sha256').update(text).digest('hex');
}

const rowKey = (applicationId: ApplicationId, external: ExternalIdentity) => ({
  application_id: applicationId,
  key: keyOf(external),
});

export const identityStatements: StatementTable<IdentityFacts> = {
  identityWritten: (_, { identity }) => [
    {
      sql: WRITE,
      row: {
        ...rowKey(identity.applicationId, identity),
        user_id: identity.userId,
        external_user_id: identity.providerIssuedUserId,
        data: identity,
      },
    },
  ],
  identityRemoved: (_, { applicationId, external }) => [
    { sql: REMOVE, row: rowKey(applicationId, external) },
  ],
  profileWritten: (_, { applicationId, external, profile }) => [
    { sql: PROFILE, row: { ...rowKey(applicationId, external), profile } },
  ],
  provisionalDeleted: (_, { userId }) => [{ sql: DELETE_USER, row: { user_id: userId } }],
  moveBegun: (_, { move }) => [{ sql: BEGIN, row: { id: move.id, data: move } }],
  moveEnded: (_, { moveId }) => [{ sql: END, row: { id: moveId } }],
  serverBanned: (_, { userId, untilMs }) => [{ sql: BAN, row: { user_id: userId, until_ms: untilMs } }],
  serverUnbanned: (_, { userId }) => [{ sql: UNBAN, row: { user_id: userId } }],
  childLinked: (_, { childId, parentId }) => [{ sql: LINK, row: { child_id: childId, parent_id: parentId } }],
  providerConfigured: (_, { applicationId, settings }) => [
    { sql: CONFIGURE, row: { application_id: applicationId, type: settings.type, data: settings } },
  ],
  providerUnconfigured: (_, { applicationId, provider }) => [
    { sql: UNCONFIGURE, row: { application_id: applicationId, type: provider } },
  ],
};

interface IdentityRow {
  readonly data: Identity;
  readonly profile: Profile | null;
}

const SELECT = 'SELECT data, profile FROM identities';
const stored = ({ data, profile }: IdentityRow): StoredIdentity => ({ identity: data, profile });

/** The first column named `value` of the first row, or null. */
async function one<Value>(sql: Sql, text: string, values: readonly unknown[]): Promise<Value | null> {
  const [row] = await sql.query<{ value: Value }>(text, values);
  return row?.value ?? null;
}

export const identityStore = (sql: Sql): IdentityStore => ({
  get: async (applicationId, external) => {
    const text = `${SELECT} WHERE application_id = $1 AND key = $2`;
    const [row] = await sql.query<IdentityRow>(text, [applicationId, keyOf(external)]);
    return row ? stored(row) : null;
  },
  ofUsers: async (applicationId, userIds) => {
    const text = `${SELECT} WHERE application_id = $1 AND user_id = ANY ($2::bigint[]) ORDER BY user_id, key`;
    return (await sql.query<IdentityRow>(text, [applicationId, userIds])).map(stored);
  },
  ofUser: async (userId) => {
    const text = `${SELECT} WHERE user_id = $1 ORDER BY application_id, key`;
    return (await sql.query<IdentityRow>(text, [userId])).map(({ data }) => data);
  },
  some: async (applicationId, limit) => {
    const text = `${SELECT} WHERE application_id = $1 ORDER BY key LIMIT $2`;
    return (await sql.query<IdentityRow>(text, [applicationId, limit])).map(({ data }) => data);
  },
  merges: async () => {
    const found = await sql.query<{ data: Move }>('SELECT data FROM account_moves ORDER BY id');
    return found.map(({ data }) => data);
  },
  bannedUntil: async (userId, nowMs) => {
    const text =
      'SELECT until_ms FROM server_bans WHERE user_id = $1 AND (until_ms IS NULL OR until_ms > $2::bigint)';
    const [row] = await sql.query<{ until_ms: string | null }>(text, [userId, nowMs]);
    return row && (row.until_ms === null ? null : Number(row.until_ms));
  },
  parentOf: (childId) =>
    one(sql, 'SELECT parent_id AS value FROM child_applications WHERE child_id = $1', [childId]),
  childrenOf: async (parentId) => {
    const text = 'SELECT child_id AS id FROM child_applications WHERE parent_id = $1 ORDER BY child_id';
    return (await sql.query<{ id: ApplicationId }>(text, [parentId])).map(({ id }) => id);
  },
  provider: (applicationId, type) => {
    const text = 'SELECT data AS value FROM identity_providers WHERE application_id = $1 AND type = $2';
    return one<ProviderSettings>(sql, text, [applicationId, type]);
  },
  usernameTaken: async (username) => {
    const text = 'SELECT 1 AS value FROM usernames WHERE key = ANY ($1::text[]) LIMIT 1';
    return (await one(sql, text, [usernameKeys(username)])) !== null;
  },
});
