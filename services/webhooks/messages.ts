import { MessageFlags } from 'discord-api-types/v10';
import type { Guilds } from '../../actors/guild/guilds.ts';
import type { ContentDraft, Sender } from '../../engine/channel/draft.ts';
import type { StoredMessage } from '../../engine/guild/guild.ts';
import { type Authority, SYSTEM } from '../../engine/kernel/authority.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import { authorOf, nameRefusal, type Webhook } from '../../engine/webhook/webhook.ts';
import { FORUMS } from '../../protocol/channeltypes.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { MessageStore } from '../../storage/message/port.ts';
import type { WebhookStore } from '../../storage/webhook/port.ts';
import type { TokenMessageId, TokenMessages, TokenTarget, Webhooks } from './ports.ts';

interface WebhookMessagePorts {
  readonly store: Pick<WebhookStore, 'get'>;
  readonly webhooks: Pick<Webhooks, 'authenticate'>;
  readonly messages: Pick<MessageStore, 'get'>;
  readonly guilds: Pick<Guilds, 'call'>;
}

/**
 * Messages of incoming webhooks. The owner of the guild writes them, as for members, but no member's permission is asked:
 * the token is the permission.
 */
export function createWebhookMessages(ports: WebhookMessagePorts): TokenMessages {
  return {
    async find(id, token) {
      const found = await ports.webhooks.authenticate(id, token);
      return found.ok ? targetOf(found.value, ports) : null;
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
 * What a webhook may send of a draft: without `with_components` the components of a webhook that no application owns are
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

/** Why a message cannot go to a thread; null when it asks for none. There are no threads, so an id names none. */
async function threadRefusal(
  { guild_id: guildId, channel_id: channelId }: Webhook,
  guilds: WebhookMessagePorts['guilds'],
  id?: ChannelId,
  name?: string,
): Promise<Refusal | null> {
  if (id === undefined && name === undefined) return null;
  const channel = await guilds.call(guildId, 'getChannel', { channelId }, SYSTEM);
  if (!channel.ok) return channel.refusal;
  if (name === undefined) return refusal('UNKNOWN_CHANNEL');
  if (!FORUMS.has(channel.value.type)) return refusal('WEBHOOK_THREADS_ONLY_IN_FORUMS');
  return id === undefined ? null : refusal('WEBHOOK_THREAD_NAME_AND_ID');
}

function targetOf(webhook: Webhook, { guilds, messages }: WebhookMessagePorts): TokenTarget {
  const { guild_id: guildId, channel_id: channelId } = webhook;
  const authority: Authority = { by: { ...SYSTEM.by, applicationId: webhook.application_id }, requires: 0n };

  /** A message of this webhook: its author never changes, so the database is as good as the owner. */
  async function own(id: TokenMessageId, threadId?: ChannelId): Promise<Reply<StoredMessage>> {
    if (threadId !== undefined) return { ok: false, refusal: refusal('UNKNOWN_CHANNEL') };
    if (id === '@original') return UNKNOWN_MESSAGE;
    const [message] = await messages.get(guildId, [{ channelId, id }]);
    return message?.webhook_id === webhook.id ? { ok: true, value: message } : UNKNOWN_MESSAGE;
  }

  return {
    ...{ channelId, guildId, ownerId: guildId, waits: false },
    async execute({ draft, attachments, username, avatar, withComponents, threadId, threadName }) {
      const no =
        (username === undefined ? null : nameRefusal(username, 'username')) ??
        (await threadRefusal(webhook, guilds, threadId, threadName));
      if (no) return { ok: false, refusal: no };
      const { components: _components, flags: _flags, ...rest } = draft;
      const from = senderOf(webhook, {
        ...(username === undefined ? {} : { name: username.trim() }),
        ...(avatar === undefined ? {} : { avatar }),
      });
      const whole = {
        ...rest,
        ...permitted(webhook, draft, withComponents),
        allowed_mentions: draft.allowed_mentions ?? DEFAULT_MENTIONS,
      };
      const input = { channelId, draft: whole, attachments, forward: null, from };
      const reply = await guilds.call(guildId, 'createMessage', input, authority);
      const isForum = !reply.ok && reply.refusal.code === refusal('CANNOT_SEND_IN_FORUM').code;
      return isForum && threadName === undefined
        ? { ok: false, refusal: refusal('WEBHOOK_NEEDS_THREAD') }
        : reply;
    },
    get: own,
    async edit(id, { withComponents, threadId, edit, keep, attachments }) {
      const message = await own(id, threadId);
      if (!message.ok) return message;
      const { components: _components, flags: _flags, ...rest } = edit;
      const whole = {
        ...rest,
        ...permitted(webhook, edit, withComponents),
        allowed_mentions: edit.allowed_mentions ?? DEFAULT_MENTIONS,
      };
      const input = { channelId, messageId: message.value.id, edit: whole, keep, attachments };
      return guilds.call(guildId, 'updateMessage', { ...input, from: senderOf(webhook) }, authority);
    },
    async delete(id, threadId) {
      const message = await own(id, threadId);
      if (!message.ok) return message;
      const input = { channelId, messageId: message.value.id, from: senderOf(webhook) };
      return guilds.call(guildId, 'deleteMessage', input, authority);
    },
  };
}
