import type { Team, TeamFacts, TeamMember } from '../../engine/application/teams.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';
import type { TeamStore } from './port.ts';

const MEMBER = { team_id: 'bigint', user_id: 'bigint' };
const WRITE = upsert('teams', { id: 'bigint', owner_id: 'bigint', data: 'jsonb' }, 'id');
const DELETE = remove('teams', { id: 'bigint' });
const WRITE_MEMBER = upsert('team_members', { ...MEMBER, data: 'jsonb' }, 'team_id, user_id');
const REMOVE_MEMBER = remove('team_members', MEMBER);
const REMOVE_ALL = remove('team_members', { team_id: 'bigint' });

export const teamStatements: StatementTable<TeamFacts> = {
  teamWritten: (_, { team }) => [{ sql: WRITE, row: { id: team.id, owner_id: team.ownerId, data: team } }],
  teamMemberWritten: (_, { teamId, member }) => [
    { sql: WRITE_MEMBER, row: { team_id: teamId, user_id: member.userId, data: member } },
  ],
  teamMemberRemoved: (_, { teamId, userId }) => [
    { sql: REMOVE_MEMBER, row: { team_id: teamId, user_id: userId } },
  ],
  teamDeleted: (_, { teamId }) => [
    { sql: DELETE, row: { id: teamId } },
    { sql: REMOVE_ALL, row: { team_id: teamId } },
  ],
};

interface TeamRow {
  readonly id: string;
  /** From the column: deleting a user changes the column and not `data`. */
  readonly owner: Team['ownerId'];
  readonly data: Omit<Team, 'members'>;
  readonly members: readonly TeamMember[] | null;
}

export function teamStore(sql: Sql): TeamStore {
  const select = async (rest: string, values: readonly unknown[]): Promise<Team[]> => {
    const text = `SELECT t.id, t.owner_id::text AS owner, t.data,
      (SELECT jsonb_agg(m.data ORDER BY m.user_id) FROM team_members m WHERE m.team_id = t.id) AS members
      FROM teams t ${rest}`;
    const found = await sql.query<TeamRow>(text, values);
    return found.map(({ data, owner, members }) => ({
      ...data,
      ownerId: owner,
      members: members ?? [],
    }));
  };
  return {
    get: async (id) => (await select('WHERE t.id = $1', [id]))[0] ?? null,
    ofUser: (userId, limit) =>
      select(
        `WHERE t.id IN (SELECT id FROM teams WHERE owner_id = $1
          UNION ALL SELECT team_id FROM team_members WHERE user_id = $1) ORDER BY t.id LIMIT $2`,
        [userId, limit],
      ),
    list: () => select('ORDER BY t.id', []),
    applications: async (id) => {
      const text = "SELECT data FROM applications WHERE data->>'team_id' = $1 ORDER BY id";
      return (await sql.query<{ data: Application }>(text, [id])).map(({ data }) => data);
    },
  };
}
