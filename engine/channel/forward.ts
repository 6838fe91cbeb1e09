import { type APIMessageSnapshot, MessageFlags } from 'discord-api-types/v10';
import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import { isInForce } from '../../protocol/dates.ts';
import { readsContent } from '../../protocol/intents.ts';
import { NO_FLAGS } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { ForwardSource } from './draft.ts';

/** Why a message cannot be forwarded; null when it can. */
export function forwardRefusal(
  by: By,
  { message, guildId }: ForwardSource,
  { rulesMs }: Env,
): Refusal | null {
  if (!FORWARDABLE.has(message.type) || message.poll || message.call || message.activity) {
    return refusal('INVALID_MESSAGE_TYPE');
  }
  const readable =
    guildId === null || readsContent(by, message) || !isInForce('forwards_need_content', rulesMs);
  return readable ? null : refusal('CANNOT_FORWARD_UNREADABLE_CONTENT');
}

/** The copy that a forward carries. Forwarding a forward passes on the first one's copy. */
export function snapshotOf(message: StoredMessage): APIMessageSnapshot {
  const carried = message.message_snapshots?.[0];
  if (carried) return carried;
  const hidden = ((message.flags ?? 0) & MessageFlags.SuppressEmbeds) !== 0;
  return {
    message: {
      type: message.type,
      content: message.content,
      mentions: message.mentions,
      mention_roles: message.mention_roles,
      attachments: [...message.attachments],
      embeds: hidden ? [] : [...message.embeds],
      timestamp: message.timestamp,
      edited_timestamp: message.edited_timestamp,
      flags: message.flags ?? NO_FLAGS,
      components: message.components ?? [],
    },
  };
}
