import type { InviteFacts, InviteTargetFacts } from '../../engine/guild/facts.ts';
import type { Invite } from '../../engine/guild/guild.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, rows, type Statement, type StatementTable } from '../database/statement.ts';

const COLUMNS = {
  guild_id: 'bigint',
  code: 'text',
  channel_id: 'bigint',
  created_ms: 'bigint',
  expires_ms: 'bigint',
  data: 'jsonb',
};
const NAMES = Object.keys(COLUMNS).join(', ');

/** Fails for a code that exists anywhere: an invite must never change the guild it leads to. */
const CREATE = `
WITH r AS (SELECT * FROM ${lastRows(COLUMNS, 'guild_id, code')}),
  d AS (INSERT INTO invite_directory (code, guild_id) SELECT code, guild_id FROM r)
INSERT INTO invites (${NAMES}) SELECT ${NAMES} FROM r`;
const UPDATE = `UPDATE invites t SET data = r.data FROM ${lastRows(COLUMNS, 'guild_id, code')}
WHERE t.guild_id = r.guild_id AND t.code = r.code`;
const DELETE = `
WITH r AS (SELECT * FROM ${rows({ guild_id: 'bigint', code: 'text' })}),
  d AS (DELETE FROM invite_directory t USING r WHERE t.code = r.code AND t.guild_id = r.guild_id)
DELETE FROM invites t USING r WHERE t.guild_id = r.guild_id AND t.code = r.code`;

function statement(sql: string, guildId: string, invite: Invite): Statement {
  const { code, channel_id, created_at, expires_at } = invite;
  const created_ms = Date.parse(created_at);
  const expires_ms = expires_at === null ? null : Date.parse(expires_at);
  return { sql, row: { guild_id: guildId, code, channel_id, created_ms, expires_ms, data: invite } };
}

export const inviteStatements: StatementTable<InviteFacts & InviteTargetFacts> = {
  inviteCreated: (guildId, { invite }) => [statement(CREATE, guildId, invite)],
  inviteUsed: (guildId, { invite }) => [statement(UPDATE, guildId, invite)],
  inviteTargeted: (guildId, { invite }) => [statement(UPDATE, guildId, invite)],
  inviteDeleted: (guildId, { code }) => [{ sql: DELETE, row: { guild_id: guildId, code } }],
};

async function select(sql: Sql, where: string, values: readonly unknown[]): Promise<Invite[]> {
  const text = `SELECT data FROM invites WHERE guild_id = $1 AND ${where} ORDER BY created_ms, code`;
  return (await sql.query<{ data: Invite }>(text, values)).map(({ data }) => data);
}

export const invites = (
  sql: Sql,
  guildId: GuildId,
  channelId: ChannelId | null,
  nowMs: number,
): Promise<Invite[]> =>
  select(sql, '($2::bigint IS NULL OR channel_id = $2) AND (expires_ms IS NULL OR expires_ms > $3::bigint)', [
    guildId,
    channelId,
    nowMs,
  ]);

export const invitesByCode = (sql: Sql, guildId: GuildId, codes: readonly string[]): Promise<Invite[]> =>
  select(sql, 'code = ANY ($2::text[])', [guildId, codes]);
