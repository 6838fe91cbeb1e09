import type { WebhookEvent, WebhookEventFacts } from '../engine/application/webhookevents.ts';
import type { Sql } from './driver.ts';
import type { WebhookEventStore } from './ports.ts';
import { type StatementTable, upsert } from './statement.ts';

const WRITE = upsert(
  'webhook_events',
  { application_id: 'bigint', id: 'bigint', data: 'jsonb' },
  'application_id, id',
);

export const webhookEventStatements: StatementTable<WebhookEventFacts> = {
  webhookEventQueued: (_, { event }) => [
    { sql: WRITE, row: { application_id: event.applicationId, id: event.id, data: event } },
  ],
};

export const webhookEventStore = (sql: Sql): WebhookEventStore => ({
  pending: async (applicationId, limit) => {
    const text = 'SELECT data FROM webhook_events WHERE application_id = $1 ORDER BY id LIMIT $2';
    return (await sql.query<{ data: WebhookEvent }>(text, [applicationId, limit])).map(({ data }) => data);
  },
  count: async (max) => {
    const text = 'SELECT count(*)::int AS count FROM (SELECT 1 FROM webhook_events LIMIT $1) AS queued';
    const [row] = await sql.query<{ count: number }>(text, [max]);
    return row?.count ?? 0;
  },
  drop: async (applicationId, upToId) => {
    await sql.query('DELETE FROM webhook_events WHERE application_id = $1 AND id <= $2', [
      applicationId,
      upToId,
    ]);
  },
});
