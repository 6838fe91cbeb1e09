import type { RoleFacts } from '../../engine/guild/facts.ts';
import type { GuildId, RoleId } from '../../protocol/ids.ts';
import type { APIRole } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import { rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';

const WRITE = upsert('roles', { guild_id: 'bigint', id: 'bigint', data: 'jsonb' }, 'guild_id, id');

/** Deletes roles, and removes them from members and permission overwrites. */
const DELETE = `
WITH r AS (SELECT guild_id, array_agg(id) AS ids FROM ${rows({ guild_id: 'bigint', id: 'bigint' })} GROUP BY guild_id),
  m AS (UPDATE members t SET roles = ARRAY(
      SELECT held.id FROM unnest(t.roles) WITH ORDINALITY AS held(id, n) WHERE held.id <> ALL (r.ids) ORDER BY n)
    FROM r WHERE t.guild_id = r.guild_id AND t.roles && r.ids),
  c AS (UPDATE channels t SET data = jsonb_set(t.data, '{permission_overwrites}', coalesce((
      SELECT jsonb_agg(o.value ORDER BY o.n) FROM jsonb_array_elements(t.data->'permission_overwrites') WITH ORDINALITY AS o(value, n)
      WHERE (o.value->>'id')::bigint <> ALL (r.ids)), '[]'))
    FROM r WHERE t.guild_id = r.guild_id AND EXISTS (
      SELECT FROM jsonb_array_elements(t.data->'permission_overwrites') AS o(value)
      WHERE (o.value->>'id')::bigint = ANY (r.ids)))
DELETE FROM roles t USING r WHERE t.guild_id = r.guild_id AND t.id = ANY (r.ids)`;

export const roleWritten = (guildId: string, { role }: { readonly role: APIRole }): readonly Statement[] => [
  { sql: WRITE, row: { guild_id: guildId, id: role.id, data: role } },
];

export const roleStatements: StatementTable<RoleFacts> = {
  roleCreated: roleWritten,
  roleUpdated: roleWritten,
  roleDeleted: (guildId, { roleId }) => [{ sql: DELETE, row: { guild_id: guildId, id: roleId } }],
};

/** Number of members per role; a role without members is omitted. Reads every member once. */
export async function roleMemberCounts(sql: Sql, guildId: GuildId): Promise<ReadonlyMap<RoleId, number>> {
  const counted = await sql.query<{ id: RoleId; count: string }>(
    'SELECT held.id, count(*) AS count FROM members m, unnest(m.roles) AS held(id) WHERE m.guild_id = $1 GROUP BY held.id',
    [guildId],
  );
  return new Map(counted.map(({ id, count }) => [id, Number(count)]));
}
