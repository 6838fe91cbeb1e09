import type { WebhookEvent, WebhookEventFacts } from '../../engine/application/webhookevents.ts';
import type { ApplicationId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Sql } from '../database/driver.ts';
import { lastRows, type StatementTable, upsert } from '../database/statement.ts';
import type { WebhookEventStore } from './port.ts';

const WRITE = upsert(
  'webhook_events',
  { application_id: 'bigint', id: 'bigint', data: 'jsonb' },
  'application_id, id',
);

const APPLICATION = { application_id: 'bigint' };
/** Deletes the oldest events above the bound: an application that does not fetch its events loses only its own. */
const TRIM = `
DELETE FROM webhook_events t USING ${lastRows(APPLICATION, 'application_id')}, LATERAL (
  SELECT o.id FROM webhook_events o WHERE o.application_id = r.application_id
  ORDER BY o.id DESC OFFSET ${LIMITS.webhook_events_waiting_max} LIMIT 1
) AS newest_too_many
WHERE t.application_id = r.application_id AND t.id <= newest_too_many.id`;
/** One event in this many checks the bound, because the check reads as many rows as the bound allows. */
const TRIM_EVERY = 64n;
const looks = (id: string): boolean => (BigInt(id) >> 22n) % TRIM_EVERY === 0n;

export const webhookEventStatements: StatementTable<WebhookEventFacts> = {
  webhookEventQueued: (_, { event }) => {
    const row = { application_id: event.applicationId, id: event.id, data: event };
    const trim = { sql: TRIM, row: { application_id: event.applicationId } };
    return looks(event.id) ? [{ sql: WRITE, row }, trim] : [{ sql: WRITE, row }];
  },
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
  waiting: async (after, limit) => {
    // Reads one entry of the index for each application, however many events it has.
    const text = `WITH RECURSIVE found AS (
      (SELECT application_id FROM webhook_events WHERE application_id > $1 ORDER BY application_id LIMIT 1)
      UNION ALL
      SELECT (SELECT t.application_id FROM webhook_events t WHERE t.application_id > f.application_id
        ORDER BY t.application_id LIMIT 1) FROM found f WHERE f.application_id IS NOT NULL
    ) SELECT application_id AS id FROM found WHERE application_id IS NOT NULL LIMIT $2`;
    return (await sql.query<{ id: ApplicationId }>(text, [after ?? '0', limit])).map(({ id }) => id);
  },
  expire: async (beforeId) => {
    await sql.query('DELETE FROM webhook_events WHERE id < $1', [beforeId]);
  },
});
