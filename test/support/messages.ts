import type { CreateInput, EditInput, MessageDraft } from '../../engine/channel/draft.ts';
import { newMessage } from '../../engine/channel/messages.ts';
import { buildPoll } from '../../engine/channel/polls.ts';
import type { Guild, StoredMessage } from '../../engine/guild/guild.ts';
import type { Env } from '../../engine/kernel/aggregate.ts';
import { type ChannelId, type FreshId, type MessageId, snowflakeAt } from '../../protocol/ids.ts';
import { user } from './guild.ts';
import { NOW_MS } from './people.ts';

let made = 0n;

/** Snowflakes of the moment, as messages have them in earnest; no two alike within a test file. */
export function messageEnv(nowMs = NOW_MS): Env {
  return {
    nowMs,
    nextId: () => {
      made += 1n;
      return String(BigInt(snowflakeAt(nowMs)) + made) as FreshId;
    },
  };
}

/** A message as the store holds it; `more` may give it another id. */
export function storedMessage(
  channelId: string,
  authorId: string,
  more: Partial<StoredMessage> = {},
): StoredMessage {
  const message = newMessage(messageEnv(), {
    channel_id: channelId as ChannelId,
    type: 0,
    author: user(authorId),
    content: 'hello',
  });
  return { ...message, ...more };
}

/** A poll of `count` answers with an hour to go, as the store holds it. */
export function openPoll(count = 3, more: { readonly duration?: number; readonly many?: boolean } = {}) {
  const answers = Array.from({ length: count }, (_, index) => ({
    poll_media: { text: `answer ${index + 1}` },
  }));
  const { duration = 1, many: allow_multiselect = false } = more;
  const draft = { question: { text: 'Which?' }, answers, duration, allow_multiselect };
  const built = buildPoll(draft, NOW_MS);
  if (!built.ok) throw new Error('The poll was refused.');
  return built.value;
}

/** Puts a message into the window and answers its id. */
export function placed(guild: Pick<Guild, 'messages'>, message: StoredMessage): MessageId {
  guild.messages.set(message.id, message);
  return message.id;
}

export const creation = (
  draft: MessageDraft,
  more: Partial<CreateInput> = {},
): CreateInput & { channelId: ChannelId } => ({
  channelId: '50' as ChannelId,
  draft,
  attachments: [],
  forward: null,
  ...more,
});

export const edition = (
  messageId: MessageId,
  edit: EditInput['edit'],
  more: Partial<EditInput> = {},
): EditInput & { channelId: ChannelId; messageId: MessageId } => ({
  channelId: '50' as ChannelId,
  messageId,
  edit,
  keep: null,
  attachments: [],
  ...more,
});
