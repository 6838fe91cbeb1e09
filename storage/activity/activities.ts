import type { ActivityFacts, ActivityInstance } from '../../engine/activity/instance.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type StatementTable, upsert } from '../database/statement.ts';
import type { ActivityStore } from './port.ts';

const KEY = { owner_id: 'bigint', channel_id: 'bigint', application_id: 'bigint' };
const WRITE = upsert('activity_instances', { ...KEY, data: 'jsonb' }, 'owner_id, channel_id, application_id');
const REMOVE = remove('activity_instances', KEY);

export const activityStatements: StatementTable<ActivityFacts> = {
  activityInstanceWritten: (ownerId, { instance }) => [
    {
      sql: WRITE,
      row: {
        owner_id: ownerId,
        channel_id: instance.channelId,
        application_id: instance.applicationId,
        data: instance,
      },
    },
  ],
  activityInstanceEnded: (ownerId, { channelId, applicationId }) => [
    { sql: REMOVE, row: { owner_id: ownerId, channel_id: channelId, application_id: applicationId } },
  ],
};

export function activityStore(sql: Sql): ActivityStore {
  return {
    async ofOwner(ownerId) {
      const text = "SELECT data FROM activity_instances WHERE owner_id = $1 ORDER BY data->>'launchId'";
      const found = await sql.query<{ data: ActivityInstance }>(text, [ownerId]);
      return found.map(({ data }) => data);
    },
    async owners(after, limit) {
      const text =
        'SELECT DISTINCT owner_id FROM activity_instances WHERE owner_id > $1 ORDER BY owner_id LIMIT $2';
      const found = await sql.query<{ owner_id: string }>(text, [after ?? '0', limit]);
      return found.map(({ owner_id: ownerId }) => String(ownerId));
    },
  };
}
