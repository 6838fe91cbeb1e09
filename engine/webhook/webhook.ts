import type { ApplicationId, ChannelId, GuildId, WebhookId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';

/** @source https://docs.discord.com/developers/resources/webhook#webhook-object-webhook-types */
export const WEBHOOK = { INCOMING: 1, CHANNEL_FOLLOWER: 2 } as const;

/**
 * A webhook in the wire's shape, without its token, which is derived from the id when it is shown or checked. So no fact,
 * record or log can hold one.
 *
 * @source https://docs.discord.com/developers/resources/webhook#webhook-object
 */
export interface Webhook {
  readonly id: WebhookId;
  readonly type: (typeof WEBHOOK)[keyof typeof WEBHOOK];
  readonly guild_id: GuildId;
  readonly channel_id: ChannelId;
  readonly name: string;
  readonly avatar: string | null;
  /** The application whose bot created it; null for one that a person created. */
  readonly application_id: ApplicationId | null;
  /** The creator, as it was then; absent when the server itself created the webhook. */
  readonly user?: APIUser;
  /** The guild of the followed channel; only for channel followers. */
  readonly source_guild?: { readonly id: GuildId; readonly name: string; readonly icon: string | null };
  readonly source_channel?: { readonly id: ChannelId; readonly name: string };
}

const HOST = 'discord.com';
/** Words that a webhook's name must not contain, in any case. */
const RESERVED: readonly string[] = ['clyde', HOST.slice(0, HOST.indexOf('.'))];

/**
 * Why a webhook may not have a name, or send under it; null for a good one.
 *
 * @param field The field of the request, for the error's path.
 * @source https://docs.discord.com/developers/resources/webhook#create-webhook
 */
export function nameRefusal(name: string, field: 'name' | 'username'): Refusal | null {
  const max = LIMITS.webhook_name_chars_max;
  const { length } = [...name.trim()];
  if (length < 1 || length > max) {
    const message = `Must be between 1 and ${max} in length.`;
    return invalidField([field], 'BASE_TYPE_BAD_LENGTH', message);
  }
  const lower = name.toLowerCase();
  const word = RESERVED.find((reserved) => lower.includes(reserved));
  if (word === undefined) return null;
  return invalidField([field], 'USERNAME_INVALID_CONTAINS', `Username cannot contain "${word}"`);
}

const NO_FLAGS: number = 0;

/**
 * The author of a webhook's messages: no member and no user of the server.
 *
 * @source https://docs.discord.com/developers/resources/message#message-object
 */
export const authorOf = (
  { id, name, avatar }: Pick<Webhook, 'id' | 'name' | 'avatar'>,
  shown: { readonly name?: string; readonly avatar?: string } = {},
): APIUser => ({
  id,
  username: shown.name ?? name,
  global_name: null,
  discriminator: '0000',
  avatar: shown.avatar ?? avatar,
  bot: true,
  public_flags: NO_FLAGS,
  flags: NO_FLAGS,
  primary_guild: null,
});
