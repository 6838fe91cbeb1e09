import type { APIAuditLogEntry } from 'discord-api-types/v10';
import type { AuditFacts } from '../../engine/guild/facts.ts';
import type { GuildId } from '../../protocol/ids.ts';
import type { Sql } from '../database/driver.ts';
import { type StatementTable, upsert } from '../database/statement.ts';
import type { GuildStore } from './port.ts';

const WRITE = upsert(
  'audit_log',
  {
    guild_id: 'bigint',
    id: 'bigint',
    user_id: 'bigint',
    target_id: 'text',
    action_type: 'integer',
    data: 'jsonb',
  },
  'guild_id, id',
);

export const auditStatements: StatementTable<AuditFacts> = {
  auditLogged: (guildId, { entry }) => {
    const { id, user_id, target_id, action_type } = entry;
    return [{ sql: WRITE, row: { guild_id: guildId, id, user_id, target_id, action_type, data: entry } }];
  },
};

const WHERE = `guild_id = $1 AND ($2::bigint IS NULL OR user_id = $2) AND ($3::text IS NULL OR target_id = $3)
  AND ($4::integer IS NULL OR action_type = $4)`;

/** Entries newest first; oldest first with `after` and without `before`. */
export async function auditLog(
  sql: Sql,
  guildId: GuildId,
  filter: Parameters<GuildStore['auditLog']>[1],
): Promise<APIAuditLogEntry[]> {
  const { userId = null, targetId = null, actionType = null, before, after, limit } = filter;
  const ascending = before === undefined && after !== undefined;
  const order = ascending ? 'id > $5 ORDER BY id' : 'id < $5 ORDER BY id DESC';
  const bound = (ascending ? after : before) ?? '9223372036854775807';
  const found = await sql.query<{ data: APIAuditLogEntry }>(
    `SELECT data FROM audit_log WHERE ${WHERE} AND ${order} LIMIT $6`,
    [guildId, userId, targetId, actionType, bound, limit],
  );
  return found.map(({ data }) => data);
}
