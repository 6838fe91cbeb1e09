import type {
  RoleConnection,
  RoleConnectionMetadata,
  SocialFacts,
  StoredRelation,
  UserSettings,
} from '../../engine/social/facts.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { remove, rows, type StatementTable, upsert } from '../database/statement.ts';
import type { RelationshipStore } from './port.ts';

const KEY = { user_id: 'bigint', peer_id: 'bigint', application_id: 'bigint' };
const WRITE = upsert(
  'relationships',
  { ...KEY, type: 'smallint', since_ms: 'bigint', nickname: 'text', origin_application_id: 'bigint' },
  'user_id, peer_id, application_id',
);
const REMOVE = remove('relationships', KEY);

const FORGET = remove('relationships', { application_id: 'bigint' });

const CONNECTION = { user_id: 'bigint', application_id: 'bigint' };
const CONNECT = upsert('role_connections', { ...CONNECTION, data: 'jsonb' }, 'user_id, application_id');
const DISCONNECT = remove('role_connections', CONNECTION);
const DESCRIBE = upsert(
  'role_connection_metadata',
  { application_id: 'bigint', data: 'jsonb' },
  'application_id',
);

const SETTINGS = upsert('user_settings', { user_id: 'bigint', data: 'jsonb' }, 'user_id');

const WRITTEN = `UPDATE private_channel_members t SET has_written = true
  FROM ${rows({ user_id: 'bigint', peer_id: 'bigint' })} WHERE t.user_id = r.user_id AND t.peer_id = r.peer_id`;

/** Facts that decide whether user $1 may write to user $2. A guild whose screening $1 has not passed is not shared. */
const ACQUAINTANCE = `
SELECT (SELECT data->>'directMessagesFrom' FROM user_settings WHERE user_id = $2) AS policy,
  EXISTS (SELECT 1 FROM user_guilds a JOIN user_guilds b ON b.guild_id = a.guild_id AND b.user_id = $2
    WHERE a.user_id = $1 AND NOT EXISTS (SELECT 1 FROM guild_pages p WHERE p.guild_id = a.guild_id AND p.page = 'incidents'
      AND (p.data->>'dms_disabled_until')::timestamptz > now())
      AND NOT EXISTS (SELECT 1 FROM members m
        WHERE m.guild_id = a.guild_id AND m.user_id = $1 AND m.data->>'pending' = 'true')) AS shares_guild,
  EXISTS (SELECT 1 FROM applications p JOIN oauth_grants g ON g.application_id = p.id
    WHERE (p.bot_id = $1 AND g.user_id = $2 OR p.bot_id = $2 AND g.user_id = $1)
      AND p.bot_id IN ($1, $2) AND (g.data->>'userInstall')::boolean) AS is_installed`;

const REPLACED = { channel_id: 'bigint', from_id: 'bigint', to_id: 'bigint' };
const REPLACE = [
  `UPDATE private_channel_members t SET user_id = r.to_id FROM ${rows(REPLACED)}
    WHERE t.channel_id = r.channel_id AND t.user_id = r.from_id`,
  `UPDATE private_channel_members t SET peer_id = r.to_id FROM ${rows(REPLACED)}
    WHERE t.channel_id = r.channel_id AND t.peer_id = r.from_id`,
  `UPDATE private_channels t SET
      low_id = least(r.to_id, CASE WHEN t.low_id = r.from_id THEN t.high_id ELSE t.low_id END),
      high_id = greatest(r.to_id, CASE WHEN t.low_id = r.from_id THEN t.high_id ELSE t.low_id END)
    FROM ${rows(REPLACED)} WHERE t.channel_id = r.channel_id AND r.from_id IN (t.low_id, t.high_id)`,
];

/** Stands for the platform in keys; no application has this id. */
const PLATFORM = '0';

export const socialStatements: StatementTable<SocialFacts> = {
  relationChanged: (_, { userId, peerId, applicationId, relation }) => {
    const key = { user_id: userId, peer_id: peerId, application_id: applicationId ?? PLATFORM };
    if (!relation) return [{ sql: REMOVE, row: key }];
    const { type, sinceMs, nickname, originApplicationId } = relation;
    const row = { ...key, type, since_ms: sinceMs, nickname, origin_application_id: originApplicationId };
    return [{ sql: WRITE, row }];
  },
  gameRelationsForgotten: (_, { applicationId }) => [{ sql: FORGET, row: { application_id: applicationId } }],
  recipientReplaced: (_, { channelId, from, user }) => {
    const row = { channel_id: channelId, from_id: from, to_id: user.id };
    return REPLACE.map((sql) => ({ sql, row }));
  },
  firstWritten: (_, { userId, peerId }) => [{ sql: WRITTEN, row: { user_id: userId, peer_id: peerId } }],
  userSettingsChanged: (_, { userId, settings }) => [
    { sql: SETTINGS, row: { user_id: userId, data: settings } },
  ],
  roleConnectionChanged: (_, { userId, applicationId, connection }) => {
    const key = { user_id: userId, application_id: applicationId };
    return [connection ? { sql: CONNECT, row: { ...key, data: connection } } : { sql: DISCONNECT, row: key }];
  },
  roleConnectionMetadataChanged: (_, { applicationId, metadata }) => [
    { sql: DESCRIBE, row: { application_id: applicationId, data: metadata } },
  ],
};

interface RelationshipRow {
  readonly user_id: UserId;
  readonly peer_id: UserId;
  readonly application_id: string;
  readonly type: StoredRelation['type'];
  readonly since_ms: string;
  readonly nickname: string | null;
  readonly origin_application_id: ApplicationId | null;
}

const relationOf = (row: RelationshipRow): StoredRelation => ({
  userId: row.user_id,
  peerId: row.peer_id,
  applicationId: row.application_id === PLATFORM ? null : (row.application_id as ApplicationId),
  type: row.type,
  sinceMs: Number(row.since_ms),
  nickname: row.nickname,
  originApplicationId: row.origin_application_id,
});

const SELECT =
  'SELECT user_id, peer_id, application_id, type, since_ms, nickname, origin_application_id FROM relationships';

export const socialStore = (sql: Sql): RelationshipStore => ({
  of: async (userId) =>
    (
      await sql.query<RelationshipRow>(`${SELECT} WHERE user_id = $1 ORDER BY peer_id, application_id`, [
        userId,
      ])
    ).map(relationOf),
  towards: async (userId) =>
    (
      await sql.query<RelationshipRow>(`${SELECT} WHERE peer_id = $1 ORDER BY user_id, application_id`, [
        userId,
      ])
    ).map(relationOf),
  among: async (userIds) => {
    const text = `${SELECT} WHERE user_id = ANY ($1::bigint[]) AND peer_id = ANY ($1::bigint[])
      ORDER BY user_id, peer_id, application_id`;
    return (await sql.query<RelationshipRow>(text, [userIds])).map(relationOf);
  },
  acquaintance: async (from, to) => {
    const [row] = await sql.query<{
      policy: UserSettings['directMessagesFrom'];
      shares_guild: boolean;
      is_installed: boolean;
    }>(ACQUAINTANCE, [from, to]);
    return {
      policy: row?.policy ?? null,
      sharesGuild: row?.shares_guild ?? false,
      isInstalled: row?.is_installed ?? false,
    };
  },
  settings: async (userId) => {
    const text = 'SELECT data FROM user_settings WHERE user_id = $1';
    const [row] = await sql.query<{ data: UserSettings }>(text, [userId]);
    return row?.data ?? { directMessagesFrom: null };
  },
  counts: async (userId, applicationId) => {
    const text =
      'SELECT type, count(*)::integer AS count FROM relationships WHERE user_id = $1 AND application_id = $2 GROUP BY type';
    const counted = await sql.query<{ type: number; count: number }>(text, [
      userId,
      applicationId ?? PLATFORM,
    ]);
    return Object.fromEntries(counted.map(({ type, count }) => [type, count]));
  },
  roleConnection: async (userId, applicationId) => {
    const text = 'SELECT data FROM role_connections WHERE user_id = $1 AND application_id = $2';
    const [row] = await sql.query<{ data: RoleConnection }>(text, [userId, applicationId]);
    return row?.data ?? null;
  },
  roleConnectionMetadata: async (applicationId) => {
    const text = 'SELECT data FROM role_connection_metadata WHERE application_id = $1';
    const [row] = await sql.query<{ data: readonly RoleConnectionMetadata[] }>(text, [applicationId]);
    return row?.data ?? [];
  },
});
