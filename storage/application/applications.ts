import type { Application, ApplicationFacts } from '../../engine/user/facts.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, type StatementTable, upsert } from '../database/statement.ts';
import type { ApplicationStore } from './port.ts';

const COLUMNS = { id: 'bigint', bot_id: 'bigint', data: 'jsonb' };
const CREATE = upsert('applications', { ...COLUMNS, signing_key: 'text', client_secret_hash: 'text' }, 'id');
const UPDATE = `UPDATE applications t SET bot_id = r.bot_id, data = r.data FROM ${lastRows(COLUMNS, 'id')} WHERE t.id = r.id`;

const rowOf = (application: Application) => ({
  id: application.id,
  bot_id: application.bot_id,
  data: application,
});

export const applicationStatements: StatementTable<ApplicationFacts> = {
  applicationCreated: (_, { application, signingKey, clientSecretHash }) => {
    const secrets = { signing_key: signingKey, client_secret_hash: clientSecretHash };
    return [{ sql: CREATE, row: { ...rowOf(application), ...secrets } }];
  },
  applicationUpdated: (_, { application }) => [{ sql: UPDATE, row: rowOf(application) }],
};

export function applicationStore(sql: Sql): ApplicationStore {
  const select = async (rest: string, values: readonly unknown[]): Promise<Application[]> => {
    const text = `SELECT data FROM applications ${rest}`;
    return (await sql.query<{ data: Application }>(text, values)).map(({ data }) => data);
  };
  return {
    get: async (id) => (await select('WHERE id = $1', [id]))[0] ?? null,
    byBot: async (botId) => (await select('WHERE bot_id = $1', [botId]))[0] ?? null,
    list: () => select('ORDER BY id', []),
    page: (after, limit) => select('WHERE id > $1 ORDER BY id LIMIT $2', [after ?? '0', limit]),
    inGuild: (guildId, limit) =>
      select('WHERE bot_id IN (SELECT user_id FROM members WHERE guild_id = $1) ORDER BY id LIMIT $2', [
        guildId,
        limit,
      ]),
    secretHash: async (id) => {
      const text = 'SELECT client_secret_hash AS hash FROM applications WHERE id = $1';
      return (await sql.query<{ hash: string }>(text, [id]))[0]?.hash ?? null;
    },
    signingKey: async (id) => {
      const text = 'SELECT signing_key AS key FROM applications WHERE id = $1';
      return (await sql.query<{ key: string }>(text, [id]))[0]?.key ?? null;
    },
  };
}
