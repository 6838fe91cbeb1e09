import type { APIMessageReference, MessageFlags, MessageType } from 'discord-api-types/v10';
import type { ChannelId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { Env } from '../kernel/outcome.ts';
import type { MessageFact } from './scope.ts';
import { isoTimestamp } from './text.ts';

/** A new message, without reactions and pins. */
export function newMessage(
  env: Env,
  parts: Pick<StoredMessage, 'channel_id' | 'type' | 'author'> & Partial<StoredMessage>,
): StoredMessage {
  return {
    content: '',
    mentions: [],
    mention_roles: [],
    mention_everyone: false,
    attachments: [],
    embeds: [],
    components: [],
    flags: 0 as MessageFlags,
    tts: false,
    pinned: false,
    edited_timestamp: null,
    reactions: [],
    pinned_ms: null,
    ...parts,
    id: parts.id ?? env.nextId(),
    timestamp: isoTimestamp(env.nowMs),
  };
}

/** The fact of a message that the server wrote for a user: a pin, a join. */
export function systemMessage(
  env: Env,
  channelId: ChannelId,
  type: MessageType,
  author: APIUser,
  reference?: APIMessageReference,
): Extract<MessageFact, { type: 'messageCreated' }> {
  const message = newMessage(env, {
    channel_id: channelId,
    type,
    author,
    ...(reference ? { message_reference: reference } : {}),
  });
  return { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false };
}
