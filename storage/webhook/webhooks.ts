import type { CrosspostFacts, WebhookFacts } from '../../engine/guild/facts.ts';
import type { Webhook } from '../../engine/webhook/webhook.ts';
import type { Sql } from '../database/driver.ts';
import { remove, rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { CrosspostCopy, QueuedCrosspost, WebhookStore } from './port.ts';

const KEY = { guild_id: 'bigint', id: 'bigint' };
const WRITE = upsert(
  'webhooks',
  { ...KEY, channel_id: 'bigint', source_channel_id: 'bigint', data: 'jsonb' },
  'guild_id, id',
);
const WRITE_DIRECTORY = upsert('webhook_directory', { id: 'bigint', guild_id: 'bigint' }, 'id');
const REMOVE = remove('webhooks', KEY);
const REMOVE_DIRECTORY = remove('webhook_directory', { id: 'bigint' });

/** A message that changes again before delivery is queued once. */
const QUEUE = `
INSERT INTO crossposts AS t (guild_id, message_id, channel_id, id, creates)
SELECT guild_id, message_id, max(channel_id), max(id), bool_or(creates) FROM ${rows({
  ...{ guild_id: 'bigint', message_id: 'bigint', channel_id: 'bigint', id: 'bigint', creates: 'boolean' },
})} GROUP BY guild_id, message_id
ON CONFLICT (guild_id, message_id) DO UPDATE SET id = EXCLUDED.id, creates = t.creates OR EXCLUDED.creates`;
const COPY = upsert(
  'crosspost_copies',
  {
    ...{ guild_id: 'bigint', source_id: 'bigint', webhook_id: 'bigint' },
    ...{ channel_id: 'bigint', message_id: 'bigint' },
  },
  'guild_id, source_id, webhook_id',
);

const written = (guildId: string, webhook: Webhook): Statement => ({
  sql: WRITE,
  row: {
    guild_id: guildId,
    id: webhook.id,
    channel_id: webhook.channel_id,
    source_channel_id: webhook.source_channel?.id ?? null,
    data: webhook,
  },
});

export const webhookStatements: StatementTable<WebhookFacts & CrosspostFacts> = {
  webhookCreated: (guildId, { webhook }) => [
    written(guildId, webhook),
    { sql: WRITE_DIRECTORY, row: { id: webhook.id, guild_id: guildId } },
  ],
  webhookUpdated: (guildId, { webhook }) => [written(guildId, webhook)],
  webhookDeleted: (guildId, { webhookId }) => [
    { sql: REMOVE, row: { guild_id: guildId, id: webhookId } },
    { sql: REMOVE_DIRECTORY, row: { id: webhookId } },
  ],
  crosspostQueued: (guildId, { id, channelId, messageId, creates }) => [
    {
      sql: QUEUE,
      row: { guild_id: guildId, message_id: messageId, channel_id: channelId, id, creates },
    },
  ],
  crosspostCopied: (guildId, { sourceId, webhookId, channelId, messageId }) => [
    {
      sql: COPY,
      row: {
        ...{ guild_id: guildId, source_id: sourceId, webhook_id: webhookId },
        ...{ channel_id: channelId, message_id: messageId },
      },
    },
  ],
};

/** Below every id, so that the bound is always there and a prepared plan can use the index. */
const NO_BOUND = '-1';

export function webhookStore(sql: Sql): WebhookStore {
  const select = async (text: string, values: readonly unknown[]): Promise<Webhook[]> =>
    (await sql.query<{ data: Webhook }>(text, values)).map(({ data }) => data);
  return {
    get: async (id) => {
      const text =
        'SELECT w.data FROM webhook_directory d JOIN webhooks w ON w.guild_id = d.guild_id AND w.id = d.id WHERE d.id = $1';
      return (await select(text, [id]))[0] ?? null;
    },
    ofGuild: (guildId) => select('SELECT data FROM webhooks WHERE guild_id = $1 ORDER BY id', [guildId]),
    followers: (channelId, after, limit) =>
      select('SELECT data FROM webhooks WHERE source_channel_id = $1 AND id > $2 ORDER BY id LIMIT $3', [
        channelId,
        after ?? NO_BOUND,
        limit,
      ]),
    copies: (guildId, keys) =>
      sql.query<CrosspostCopy>(
        `SELECT c.source_id AS "sourceId", c.webhook_id AS "webhookId", c.channel_id AS "channelId",
           c.message_id AS "messageId"
         FROM crosspost_copies c JOIN unnest($2::bigint[], $3::bigint[]) AS k(source_id, webhook_id)
           ON c.guild_id = $1 AND c.source_id = k.source_id AND c.webhook_id = k.webhook_id`,
        [guildId, keys.map(({ sourceId }) => sourceId), keys.map(({ webhookId }) => webhookId)],
      ),
    crossposts: (after, limit) =>
      sql.query<QueuedCrosspost>(
        `SELECT guild_id AS "guildId", channel_id AS "channelId", message_id AS "messageId", id, creates
         FROM crossposts WHERE id > $1 ORDER BY id LIMIT $2`,
        [after ?? NO_BOUND, limit],
      ),
    dropCrosspost: async ({ guildId, messageId, id }) => {
      const text = 'DELETE FROM crossposts WHERE guild_id = $1 AND message_id = $2 AND id = $3';
      await sql.query(text, [guildId, messageId, id]);
    },
  };
}
