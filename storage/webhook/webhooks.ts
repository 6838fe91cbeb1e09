import type { WebhookFacts } from '../../engine/guild/facts.ts';
import type { Webhook } from '../../engine/webhook/webhook.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { WebhookStore } from './port.ts';

const KEY = { guild_id: 'bigint', id: 'bigint' };
const WRITE = upsert('webhooks', { ...KEY, channel_id: 'bigint', data: 'jsonb' }, 'guild_id, id');
const WRITE_DIRECTORY = upsert('webhook_directory', { id: 'bigint', guild_id: 'bigint' }, 'id');
const REMOVE = remove('webhooks', KEY);
const REMOVE_DIRECTORY = remove('webhook_directory', { id: 'bigint' });

const written = (guildId: string, webhook: Webhook): Statement => ({
  sql: WRITE,
  row: { guild_id: guildId, id: webhook.id, channel_id: webhook.channel_id, data: webhook },
});

export const webhookStatements: StatementTable<WebhookFacts> = {
  webhookCreated: (guildId, { webhook }) => [
    written(guildId, webhook),
    { sql: WRITE_DIRECTORY, row: { id: webhook.id, guild_id: guildId } },
  ],
  webhookUpdated: (guildId, { webhook }) => [written(guildId, webhook)],
  webhookDeleted: (guildId, { webhookId }) => [
    { sql: REMOVE, row: { guild_id: guildId, id: webhookId } },
    { sql: REMOVE_DIRECTORY, row: { id: webhookId } },
  ],
};

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
  };
}
