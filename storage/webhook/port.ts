import type { Webhook } from '../../engine/webhook/webhook.ts';
import type { GuildId, WebhookId } from '../../protocol/ids.ts';

export interface WebhookStore {
  /** A webhook of any guild; null for an unknown id. */
  get(id: WebhookId): Promise<Webhook | null>;
  /** All webhooks of a guild, ascending by id. */
  ofGuild(guildId: GuildId): Promise<Webhook[]>;
}
