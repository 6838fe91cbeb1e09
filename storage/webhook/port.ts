import type { Webhook } from '../../engine/webhook/webhook.ts';
import type { ChannelId, GuildId, MessageId, WebhookId } from '../../protocol/ids.ts';

/** A published message that is queued for its followers. */
export interface QueuedCrosspost {
  readonly guildId: GuildId;
  readonly channelId: ChannelId;
  readonly messageId: MessageId;
  /** Id of the message's latest change. */
  readonly id: string;
  /** Whether it was published after the last delivery to its followers. */
  readonly creates: boolean;
}

/** A follower's copy of a published message. */
export interface CrosspostCopy {
  readonly sourceId: MessageId;
  readonly webhookId: WebhookId;
  readonly channelId: ChannelId;
  readonly messageId: MessageId;
}

export interface WebhookStore {
  /** A webhook of any guild; null for an unknown id. */
  get(id: WebhookId): Promise<Webhook | null>;
  /** All webhooks of a guild, ascending by id. */
  ofGuild(guildId: GuildId): Promise<Webhook[]>;
  /** Channel followers of a channel with ids above `after`, ascending by id. */
  followers(channelId: ChannelId, after: WebhookId | null, limit: number): Promise<Webhook[]>;
  /** The copies among these that exist. */
  copies(
    guildId: GuildId,
    keys: readonly Pick<CrosspostCopy, 'sourceId' | 'webhookId'>[],
  ): Promise<CrosspostCopy[]>;
  /** Queued work with ids above `after`, oldest first. */
  crossposts(after: string | null, limit: number): Promise<QueuedCrosspost[]>;
  /** Removes finished work, unless the message has changed since. */
  dropCrosspost(done: Pick<QueuedCrosspost, 'guildId' | 'messageId' | 'id'>): Promise<void>;
}
