import { MessageFlags } from 'discord-api-types/v10';
import type { Guilds } from '../../actors/guild/guilds.ts';
import type { ContentDraft, Sender } from '../../engine/channel/draft.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import { authorOf, nameRefusal, type Webhook } from '../../engine/webhook/webhook.ts';
import { FORUMS, THREADS } from '../../protocol/channeltypes.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { WebhookStore } from '../../storage/webhook/port.ts';
import type { Premium } from '../premium/premium.ts';
import type { TokenMessageId, TokenMessages, TokenTarget, Webhooks } from './ports.ts';

interface WebhookMessagePorts {
  readonly store: Pick<WebhookStore, 'get'>;
  readonly webhooks: Pick<Webhooks, 'authenticate'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly guilds: Pick<Guilds, 'call'>;
  readonly forButtons: Premium['forButtons'];
}

/**
 * Messages of incoming webhooks. The owner of the guild writes them, as for members, but no member's permission is asked:
 * the token is the permission.
 */
export function createWebhookMessages(ports: WebhookMessagePorts): TokenMessages {
  return {
    async find(id, token) {
      const found = await ports.webhooks.authenticate(id, token);
      return found.ok ? { ok: true, value: targetOf(found.value, ports) } : null;
    },
    knows: async (id) => (await ports.store.get(id)) !== null,
  };
}

/** Flags that a webhook may set on its messages. @source https://docs.discord.com/developers/resources/webhook#execute-webhook */
const SETTABLE =
  MessageFlags.SuppressEmbeds | MessageFlags.SuppressNotifications | MessageFlags.IsComponentsV2;

/** @source https://docs.discord.com/developers/resources/message#allowed-mentions-object; webhooks notify only users */
const DEFAULT_MENTIONS = { parse: ['users'] };

const UNKNOWN_MESSAGE: Reply<never> = { ok: false, refusal: refusal('UNKNOWN_MESSAGE') };

/** The author of a webhook's messages, under another name or avatar if the request says so. */
const senderOf = (webhook: Webhook, shown: Parameters<typeof authorOf>[1] = {}): Sender => ({
  fields: {
    author: authorOf(webhook, shown),
    webhook_id: webhook.id,
    ...(webhook.application_id === null ? {} : { application_id: webhook.application_id }),
  },
  components: webhook.application_id === null ? 'passive' : 'any',
});

/**
 * The part of a draft that a webhook may send: without `with_components` the components of a webhook that no application owns are
 * ignored.
 */
function permitted(
  { application_id: owner }: Webhook,
  { components, flags }: ContentDraft,
  withComponents: boolean,
): Pick<ContentDraft, 'components' | 'flags'> {
  const takes = components !== undefined && (withComponents || owner !== null);
  return {
    ...(takes ? { components } : {}),
    ...(typeof flags === 'number' ? { flags: flags & SETTABLE } : {}),
  };
}

/** Where a message goes: the webhook's channel, a thread of it, or a new post of it. */
async function placeOf(
  { guild_id: guildId, channel_id: channelId }: Webhook,
  guilds: WebhookMessagePorts['guilds'],
  id?: ChannelId,
  name?: string,
): Promise<Reply<{ readonly channelId: ChannelId; readonly isForum: boolean }>> {
  const no = (refused: Refusal): Reply<never> => ({ ok: false, refusal: refused });
  const found = await guilds.call(guildId, 'getChannel', { channelId }, SYSTEM);
  if (!found.ok) return found;
  const isForum = FORUMS.has(found.value.type);
  if (name !== undefined && !isForum) return no(refusal('WEBHOOK_THREADS_ONLY_IN_FORUMS'));
  if (id === undefined && name === undefined && isForum) return no(refusal('WEBHOOK_NEEDS_THREAD'));
  if (id === undefined) return { ok: true, value: { channelId, isForum } };
  if (name !== undefined) return no(refusal('WEBHOOK_THREAD_NAME_AND_ID'));
  const thread = await guilds.call(guildId, 'getChannel', { channelId: id }, { ...SYSTEM, channelId: id });
  const isThere = thread.ok && THREADS.has(thread.value.type) && thread.value.parent_id === channelId;
  return isThere ? { ok: true, value: { channelId: id, isForum } } : no(refusal('UNKNOWN_CHANNEL'));
}

function targetOf(webhook: Webhook, { guilds, messages, forButtons }: WebhookMessagePorts): TokenTarget {
  const { guild_id: guildId, channel_id: channelId } = webhook;
  const authority: Authority = { by: { ...SYSTEM.by, applicationId: webhook.application_id }, requires: 0n };

  /** A message of this webhook: its author never changes, so the database is as good as the owner. */
  async function own(id: TokenMessageId, threadId?: ChannelId): Promise<Reply<StoredMessage>> {
    if (id === '@original') return UNKNOWN_MESSAGE;
    const place = threadId === undefined ? null : await placeOf(webhook, guilds, threadId);
    if (place && !place.ok) return place;
    const [message] = await messages.get(guildId, [{ channelId: place?.value.channelId ?? channelId, id }]);
    return message?.webhook_id === webhook.id ? { ok: true, value: message } : UNKNOWN_MESSAGE;
  }

  return {
    ...{ channelId, guildId, ownerId: guildId, userId: null, waits: false },
    async execute({ draft, attachments, username, avatar, withComponents, threadId, post }) {
      const no = username === undefined ? null : nameRefusal(username, 'username');
      if (no) return { ok: false, refusal: no };
      const place = await placeOf(webhook, guilds, threadId, post?.name);
      if (!place.ok) return place;
      const { components: _components, flags: _flags, ...rest } = draft;
      const from = senderOf(webhook, {
        ...(username === undefined ? {} : { name: username.trim() }),
        ...(avatar === undefined ? {} : { avatar }),
      });
      const composed = {
        ...rest,
        ...permitted(webhook, draft, withComponents),
        allowed_mentions: draft.allowed_mentions ?? DEFAULT_MENTIONS,
      };
      const skuIds = await forButtons(webhook.application_id, composed.components);
      const sent = { draft: composed, skuIds, attachments, forward: null, from };
      const to = place.value.channelId;
      if (!post)
        return guilds.call(
          guildId,
          'createMessage',
          { ...sent, channelId: to },
          { ...authority, channelId: to },
        );
      const { id, ...named } = post;
      const input = { channelId, id, draft: named, first: sent };
      const made = await guilds.call(guildId, 'createPost', input, authority);
      return made.ok ? { ok: true, value: made.value.written } : made;
    },
    get: own,
    async edit(id, { withComponents, threadId, edit, keep, attachments }) {
      const message = await own(id, threadId);
      if (!message.ok) return message;
      const { components: _components, flags: _flags, ...rest } = edit;
      const composed = {
        ...rest,
        ...permitted(webhook, edit, withComponents),
        allowed_mentions: edit.allowed_mentions ?? DEFAULT_MENTIONS,
      };
      const at = message.value.channel_id;
      const skuIds = await forButtons(webhook.application_id, composed.components);
      const input = { channelId: at, messageId: message.value.id, edit: composed, skuIds, keep, attachments };
      const from = senderOf(webhook);
      return guilds.call(guildId, 'updateMessage', { ...input, from }, { ...authority, channelId: at });
    },
    async delete(id, threadId) {
      const message = await own(id, threadId);
      if (!message.ok) return message;
      const at = message.value.channel_id;
      const input = { channelId: at, messageId: message.value.id, from: senderOf(webhook) };
      return guilds.call(guildId, 'deleteMessage', input, { ...authority, channelId: at });
    },
  };
}
