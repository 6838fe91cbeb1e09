import type { LobbyFacts } from '../../engine/lobby/facts.ts';
import type { Lobby, LobbyMember, LobbyMessage, LobbyVoiceState } from '../../engine/lobby/lobby.ts';
import { type ApplicationId, type ChannelId, snowflakeOf } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import {
  lastRows,
  none,
  remove,
  rows,
  type Statement,
  type StatementTable,
  upsert,
} from '../database/statement.ts';
import { listingSearch, listingStatements } from './listings.ts';
import type { LobbyStore } from './port.ts';

const WRITE = upsert(
  'lobbies',
  { id: 'bigint', application_id: 'bigint', idle_at_ms: 'bigint', linked: 'boolean', data: 'jsonb' },
  'id',
);

/** Not an upsert: a second lobby with the same secret must fail. Expired secrets are deleted first. */
const FORGET_SECRET = `DELETE FROM lobby_secrets t
USING ${rows({ application_id: 'bigint', hash: 'text', now_ms: 'bigint' })}
WHERE t.application_id = r.application_id AND t.hash = r.hash AND t.expires_ms <= r.now_ms`;
const KEEP_SECRET = `INSERT INTO lobby_secrets (application_id, hash, lobby_id, expires_ms)
SELECT application_id, hash, lobby_id, expires_ms
FROM ${rows({ application_id: 'bigint', hash: 'text', lobby_id: 'bigint', expires_ms: 'bigint' })}`;

/** Deletes a lobby and everything that refers to it. The purge deletes its messages later. */
const DELETE = `
WITH r AS (SELECT id FROM ${rows({ id: 'bigint' })}),
  p AS (INSERT INTO purges SELECT DISTINCT id, id FROM r ON CONFLICT DO NOTHING),
  m AS (DELETE FROM lobby_members t USING r WHERE t.lobby_id = r.id),
  s AS (DELETE FROM lobby_secrets t USING r WHERE t.lobby_id = r.id),
  l AS (DELETE FROM lobby_listings t USING r WHERE t.id = r.id),
  v AS (DELETE FROM lobby_voice_states t USING r WHERE t.lobby_id = r.id)
DELETE FROM lobbies t USING r WHERE t.id = r.id`;
const FORGET_MEMBER = remove('user_lobbies', {
  user_id: 'bigint',
  application_id: 'bigint',
  lobby_id: 'bigint',
});

const MEMBER = { lobby_id: 'bigint', user_id: 'bigint', application_id: 'bigint' };
const WRITE_MEMBER = upsert(
  'lobby_members',
  { lobby_id: 'bigint', user_id: 'bigint', joined_ms: 'bigint', data: 'jsonb' },
  'lobby_id, user_id',
);
/** Writes both tables in one statement, so that many concurrent joins become a few statements with many rows. */
const ADD_MEMBER = `
WITH r AS (SELECT * FROM ${lastRows({ ...MEMBER, joined_ms: 'bigint', data: 'jsonb' }, 'lobby_id, user_id')}),
  u AS (INSERT INTO user_lobbies (user_id, application_id, lobby_id)
    SELECT user_id, application_id, lobby_id FROM r ON CONFLICT DO NOTHING)
INSERT INTO lobby_members (lobby_id, user_id, joined_ms, data) SELECT lobby_id, user_id, joined_ms, data FROM r
ON CONFLICT (lobby_id, user_id) DO UPDATE SET joined_ms = EXCLUDED.joined_ms, data = EXCLUDED.data`;
const REMOVE_MEMBER = `
WITH r AS (SELECT * FROM ${rows(MEMBER)}),
  u AS (DELETE FROM user_lobbies t USING r
    WHERE t.user_id = r.user_id AND t.application_id = r.application_id AND t.lobby_id = r.lobby_id)
DELETE FROM lobby_members t USING r WHERE t.lobby_id = r.lobby_id AND t.user_id = r.user_id`;

const VOICE = { lobby_id: 'bigint', user_id: 'bigint' };
const ENTER_VOICE = upsert('lobby_voice_states', { ...VOICE, data: 'jsonb' }, 'lobby_id, user_id');
const LEAVE_VOICE = remove('lobby_voice_states', VOICE);

/** Fails the commit if the channel is linked to another lobby. */
const LINK = `INSERT INTO linked_lobbies (channel_id, lobby_id)
SELECT channel_id, lobby_id FROM ${rows({ channel_id: 'bigint', lobby_id: 'bigint' })}`;
const UNLINK = remove('linked_lobbies', { channel_id: 'bigint', lobby_id: 'bigint' });

const MESSAGE = { owner_id: 'bigint', channel_id: 'bigint', id: 'bigint' };
/** Not an upsert, for the same reason as in `messages.ts`. */
const WRITE_MESSAGE = `INSERT INTO messages (owner_id, channel_id, id, author_id, data)
SELECT owner_id, channel_id, id, author_id, data FROM ${rows({ ...MESSAGE, author_id: 'bigint', data: 'jsonb' })}`;
const UPDATE_MESSAGE = `UPDATE messages t SET data = r.data
FROM ${lastRows({ ...MESSAGE, data: 'jsonb' }, 'owner_id, channel_id, id')}
WHERE t.owner_id = r.owner_id AND t.channel_id = r.channel_id AND t.id = r.id`;

function written(lobby: Lobby): Statement {
  const { id, application_id, ...data } = lobby;
  const { idle_since_ms, idle_timeout_seconds, linked } = lobby;
  const idle_at_ms = idle_since_ms === null || linked ? null : idle_since_ms + idle_timeout_seconds * 1_000;
  return { sql: WRITE, row: { id, application_id, idle_at_ms, linked: linked !== null, data } };
}

const memberRow = (lobby_id: ChannelId, { user, joined_ms, ...data }: LobbyMember) => ({
  lobby_id,
  user_id: user.id,
  joined_ms,
  data,
});

const unlinked = (lobbyId: ChannelId, channelId: ChannelId): Statement => ({
  sql: UNLINK,
  row: { channel_id: channelId, lobby_id: lobbyId },
});

function message(sql: string, { author, ...data }: LobbyMessage): Statement {
  const { id, channel_id } = data;
  return {
    sql,
    row: { owner_id: channel_id, channel_id, id, author_id: author.id, data: { ...data, author } },
  };
}

export const lobbyStatements: StatementTable<LobbyFacts> = {
  lobbyCreated: (_, { lobby }) => [written(lobby)],
  // After the other rows of a group: a lobby is not known, and so not deleted, before its secret is durable.
  lobbySecretKept: (_, { applicationId: application_id, hash, lobbyId: lobby_id, nowMs, expiresMs }) => [
    { sql: FORGET_SECRET, row: { application_id, hash, now_ms: nowMs }, later: 1 },
    { sql: KEEP_SECRET, row: { application_id, hash, lobby_id, expires_ms: expiresMs }, later: 2 },
  ],
  lobbyUpdated: (_, { lobby }) => [written(lobby)],
  lobbySettled: (_, { lobby }) => [written(lobby)],
  lobbyDeleted: (_, { lobby: { id, application_id, linked }, memberIds }) => [
    ...memberIds.map((user_id) => ({ sql: FORGET_MEMBER, row: { user_id, application_id, lobby_id: id } })),
    ...(linked ? [unlinked(id, linked.channel.id)] : []),
    { sql: DELETE, row: { id } },
  ],
  lobbyMemberAdded: (_, { lobbyId, applicationId, member }) => [
    { sql: ADD_MEMBER, row: { ...memberRow(lobbyId, member), application_id: applicationId } },
  ],
  lobbyMemberUpdated: (_, { lobbyId, member }) => [{ sql: WRITE_MEMBER, row: memberRow(lobbyId, member) }],
  lobbyMemberRemoved: (_, { lobbyId: lobby_id, applicationId: application_id, member: { user } }) => [
    { sql: REMOVE_MEMBER, row: { lobby_id, user_id: user.id, application_id } },
  ],
  lobbyLinked: (_, { lobby, link }) => [
    written(lobby),
    { sql: LINK, row: { channel_id: link.channel.id, lobby_id: lobby.id } },
  ],
  lobbyUnlinked: (_, { lobby, link }) => [written(lobby), unlinked(lobby.id, link.channel.id)],
  lobbyMessageCreated: (_, { message: sent }) => [message(WRITE_MESSAGE, sent)],
  lobbyMessageUpdated: (_, { message: changed }) => [message(UPDATE_MESSAGE, changed)],
  lobbyHostChanged: (_, { lobby }) => [written(lobby)],
  lobbyVoiceChanged: (lobby_id, { userId: user_id, voiceState }) =>
    voiceState.channel_id === null
      ? [{ sql: LEAVE_VOICE, row: { lobby_id, user_id } }]
      : [{ sql: ENTER_VOICE, row: { lobby_id, user_id, data: voiceState } }],
  ...listingStatements,
  lobbyHostAway: none,
  lobbyReadyChanged: none,
  lobbySessionsAttached: none,
  lobbyShown: none,
  lobbySessionDetached: none,
  lobbyUserChanged: none,
  lobbyVoiceRepeated: none,
  lobbyMatched: none,
  lobbyChannelMessage: none,
};

interface LobbyRow {
  readonly application_id: ApplicationId;
  readonly data: Omit<Lobby, 'id' | 'application_id'>;
}

interface MemberRow {
  readonly joined_ms: string;
  readonly data: Omit<LobbyMember, 'user' | 'joined_ms'>;
  readonly user: APIUser;
  readonly voice: LobbyVoiceState | null;
}

interface SecretRow {
  readonly application_id: ApplicationId;
  readonly hash: string;
  readonly lobby_id: ChannelId;
  readonly expires_ms: string;
}

interface PersonRow {
  readonly application_id: ApplicationId;
  readonly user: APIUser;
  readonly lobbies: string;
}

const LOBBY = 'SELECT application_id, data FROM lobbies WHERE id = $1';
const MEMBERS = `SELECT m.joined_ms, m.data, u.data AS user, v.data AS voice FROM lobby_members m JOIN users u ON u.id = m.user_id
  LEFT JOIN lobby_voice_states v ON v.lobby_id = m.lobby_id AND v.user_id = m.user_id
  WHERE m.lobby_id = $1 ORDER BY m.joined_ms, m.user_id`;
const PERSONS = `SELECT r.application_id, u.data AS user, (SELECT count(*) FROM user_lobbies l
    WHERE l.user_id = r.user_id AND l.application_id = r.application_id) AS lobbies
  FROM unnest($1::bigint[], $2::bigint[]) AS r(user_id, application_id) JOIN users u ON u.id = r.user_id`;
const SECRETS = `SELECT s.application_id, s.hash, s.lobby_id, s.expires_ms
  FROM unnest($1::bigint[], $2::text[]) AS r(application_id, hash)
  JOIN lobby_secrets s ON s.application_id = r.application_id AND s.hash = r.hash AND s.expires_ms > $3`;
const MESSAGES = `SELECT data FROM messages WHERE owner_id = $1 AND channel_id = $1 AND id >= $2
  ORDER BY id DESC LIMIT $3`;

/** Deletes the oldest messages of a page of lobbies, by index ranges. */
const SWEEP_MESSAGES = `DELETE FROM messages t USING (
    SELECT m.owner_id, m.channel_id, m.id FROM unnest($1::bigint[]) AS l(id)
    JOIN messages m ON m.owner_id = l.id AND m.channel_id = l.id AND m.id < $2 LIMIT $3) r
  WHERE t.owner_id = r.owner_id AND t.channel_id = r.channel_id AND t.id = r.id RETURNING t.id`;
const SWEEP_SECRETS = `DELETE FROM lobby_secrets WHERE (application_id, hash) IN (
  SELECT application_id, hash FROM lobby_secrets WHERE expires_ms <= $1 LIMIT $2)`;

type Ids = (text: string, values: readonly unknown[]) => Promise<ChannelId[]>;

/** Reads of one lobby and its messages. */
function contents(sql: Sql): Pick<LobbyStore, 'load' | 'messages' | 'message'> {
  return {
    load: async (id) => {
      const [row] = await sql.query<LobbyRow>(LOBBY, [id]);
      if (!row) return null;
      const members = await sql.query<MemberRow>(MEMBERS, [id]);
      return {
        lobby: { ...row.data, id, application_id: row.application_id },
        members: members.map(({ joined_ms, data, user }) => ({
          ...data,
          user,
          joined_ms: Number(joined_ms),
        })),
        voiceStates: members.flatMap(({ voice }) => voice ?? []),
      };
    },
    messages: async (id, sinceId, limit) =>
      (await sql.query<{ data: LobbyMessage }>(MESSAGES, [id, sinceId, limit])).map(({ data }) => data),
    message: async (id, messageId) => {
      const text = 'SELECT data FROM messages WHERE owner_id = $1 AND channel_id = $1 AND id = $2';
      return (await sql.query<{ data: LobbyMessage }>(text, [id, messageId]))[0]?.data ?? null;
    },
  };
}

/** Look-ups of lobbies. */
function findings(
  sql: Sql,
  ids: Ids,
): Pick<LobbyStore, 'bySecret' | 'persons' | 'ofUser' | 'ofApplication' | 'all' | 'linkedTo'> {
  return {
    bySecret: async (secrets, nowMs) => {
      const found = await sql.query<SecretRow>(SECRETS, [
        secrets.map(({ applicationId }) => applicationId),
        secrets.map(({ hash }) => hash),
        nowMs,
      ]);
      return found.map(({ application_id, hash, lobby_id, expires_ms }) => ({
        applicationId: application_id,
        hash,
        lobbyId: lobby_id,
        expiresMs: Number(expires_ms),
      }));
    },
    persons: async (asked) => {
      const found = await sql.query<PersonRow>(PERSONS, [
        asked.map(({ userId }) => userId),
        asked.map(({ applicationId }) => applicationId),
      ]);
      return found.map(({ application_id, user, lobbies }) => ({
        applicationId: application_id,
        user,
        lobbies: Number(lobbies),
      }));
    },
    ofUser: (userId, applicationId) =>
      ids(
        'SELECT lobby_id AS id FROM user_lobbies WHERE user_id = $1 AND application_id = $2 ORDER BY lobby_id',
        [userId, applicationId],
      ),
    // No index for this: it is rarely needed, only when an application gets a parent application.
    ofApplication: (applicationId, after, limit) =>
      ids('SELECT id FROM lobbies WHERE application_id = $1 AND id > $2 ORDER BY id LIMIT $3', [
        applicationId,
        after ?? '0',
        limit,
      ]),
    all: (userId) =>
      ids('SELECT lobby_id AS id FROM user_lobbies WHERE user_id = $1 ORDER BY lobby_id', [userId]),
    linkedTo: async (channelId) =>
      (await ids('SELECT lobby_id AS id FROM linked_lobbies WHERE channel_id = $1', [channelId]))[0] ?? null,
  };
}

/** Expiry of lobbies, secrets and messages. */
function ends(sql: Sql, ids: Ids): Pick<LobbyStore, 'due' | 'nextDueMs' | 'inUse' | 'sweep'> {
  return {
    due: (nowMs, limit) =>
      ids('SELECT id FROM lobbies WHERE idle_at_ms <= $1 ORDER BY idle_at_ms LIMIT $2', [nowMs, limit]),
    nextDueMs: async () => {
      const text = `SELECT idle_at_ms FROM lobbies WHERE idle_at_ms IS NOT NULL ORDER BY idle_at_ms LIMIT 1`;
      const [row] = await sql.query<{ idle_at_ms: string }>(text, []);
      return row ? Number(row.idle_at_ms) : null;
    },
    inUse: (after, limit) =>
      ids('SELECT id FROM lobbies WHERE id > $1 AND idle_at_ms IS NULL AND NOT linked ORDER BY id LIMIT $2', [
        after ?? '0',
        limit,
      ]),
    sweep: async ({ after, lobbies, limit, beforeId, nowMs }) => {
      const page = await ids('SELECT id FROM lobbies WHERE id > $1 ORDER BY id LIMIT $2', [
        after ?? '0',
        lobbies,
      ]);
      if (after === null) await sql.query(SWEEP_SECRETS, [nowMs, limit]);
      const gone = page.length === 0 ? [] : await sql.query(SWEEP_MESSAGES, [page, beforeId, limit]);
      // The limit was reached, so the same lobbies may have more old messages.
      if (gone.length === limit) return { after: after ?? snowflakeOf(0n), lobbies: page.length };
      return { after: page.length < lobbies ? null : (page.at(-1) ?? null), lobbies: page.length };
    },
  };
}

export function lobbyStore(sql: Sql): LobbyStore {
  const ids: Ids = async (text, values) =>
    (await sql.query<{ id: ChannelId }>(text, values)).map(({ id }) => id);
  return { ...contents(sql), ...findings(sql, ids), ...ends(sql, ids), ...listingSearch(sql) };
}
