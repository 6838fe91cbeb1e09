import type { APIAttachment } from 'discord-api-types/v10';
import type { EditInput, MessageDraft, Written } from '../../engine/channel/draft.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { GithubBody } from '../../engine/webhook/github.ts';
import type { Report } from '../../engine/webhook/report.ts';
import type { SlackBody } from '../../engine/webhook/slack.ts';
import type { Webhook } from '../../engine/webhook/webhook.ts';
import type { ApplicationId, ChannelId, GuildId, MessageId, UserId, WebhookId } from '../../protocol/ids.ts';

/** A message to send under a token. */
export interface TokenMessage {
  readonly draft: MessageDraft;
  /** Files of the request, already stored, in the wire's shape. */
  readonly attachments: readonly APIAttachment[];
  /** Name and avatar (hash of a stored image) of this message only. */
  readonly username?: string;
  readonly avatar?: string;
  /** The request's `with_components`. */
  readonly withComponents: boolean;
  readonly threadId?: ChannelId;
  /** A new post of a forum that the message begins; `id` is a new one. */
  readonly post?: {
    readonly id: ChannelId;
    readonly name: string;
    readonly applied_tags: readonly string[];
  };
}

type TokenEdit = Omit<EditInput, 'from'> & {
  readonly withComponents: boolean;
  readonly threadId?: ChannelId;
};

/** A message sent under the token, or the answer to the interaction that the token is of. */
export type TokenMessageId = MessageId | '@original';

/** The scope of a token: its own messages in one channel. Other messages are unknown (10008). */
export interface TokenTarget {
  readonly channelId: ChannelId;
  /** The owner of the channel's messages. */
  readonly ownerId: string;
  readonly guildId: GuildId | null;
  /** The user whose premium type raises the bound of files; null for none. */
  readonly userId: UserId | null;
  /** Whether every message is answered with its object, whatever the request's `wait` says. */
  readonly waits: boolean;
  execute(message: TokenMessage): Promise<Reply<Written>>;
  get(messageId: TokenMessageId, threadId?: ChannelId): Promise<Reply<StoredMessage>>;
  edit(messageId: TokenMessageId, edit: TokenEdit): Promise<Reply<Written>>;
  delete(messageId: TokenMessageId, threadId?: ChannelId): Promise<Reply<null>>;
}

/** Messages under a token in the path: webhooks are one kind of them, answers to interactions another. */
export interface TokenMessages {
  /**
   * The target of a token; a refusal while the token opens nothing yet, such as that of an interaction without an answer.
   *
   * @returns null for an id or a token that is not of this kind.
   */
  find(id: WebhookId, token: string): Promise<Reply<TokenTarget> | null>;
  /** Whether something of this kind has the id, whatever its token. */
  knows(id: WebhookId): Promise<boolean>;
}

/** Absent fields stay as they are. `avatar` is the hash of a stored image. */
interface WebhookChange {
  readonly name?: string;
  readonly avatar?: string | null;
  readonly channelId?: ChannelId;
}

/** Webhooks by id, on whichever shard owns the guild. A null authority means that the caller presented the token. */
export interface Webhooks {
  /** The webhook, for those who may manage it. @returns 10015 for an unknown id, and to those who cannot see its guild. */
  get(id: WebhookId, authority: Authority): Promise<Reply<Webhook>>;
  update(id: WebhookId, change: WebhookChange, authority: Authority | null): Promise<Reply<Webhook>>;
  remove(id: WebhookId, authority: Authority | null): Promise<Reply<null>>;
  /** The webhook that a token opens. @returns 10015 for an unknown id, 50027 for a wrong token. */
  authenticate(id: WebhookId, token: string): Promise<Reply<Webhook>>;
  /** The message of a Slack-compatible body. */
  slack(body: SlackBody): Report;
  /** The message of a GitHub webhook's body; null for an event without a message. */
  github(body: GithubBody): Report | null;
  /**
   * The token of an incoming webhook, if a caller who manages the webhook may use it: the token of an application's
   * webhook is for the application only. A null caller presented the token.
   */
  tokenFor(
    webhook: Pick<Webhook, 'id' | 'type' | 'application_id'>,
    caller: { readonly applicationId: ApplicationId | null } | null,
  ): string | null;
}
