import type { Json } from '../../sdk/voice/wire.ts';
import { type ChatMessage, type EmojiRef, emojiPath, isMessage, reacted, voted } from './shapes.ts';

const ADDED = new Set(['MESSAGE_REACTION_ADD', 'MESSAGE_POLL_VOTE_ADD']);

/** The messages after a dispatch of their channel; the same list if it changes none. */
export function messagesAfter(
  messages: readonly ChatMessage[],
  t: string,
  d: Json,
  selfId: string,
): readonly ChatMessage[] {
  const without = (ids: readonly unknown[]) => messages.filter(({ id }) => !ids.includes(id));
  if (t === 'MESSAGE_CREATE' && isMessage(d)) return [...without([d.id]), d];
  if (t === 'MESSAGE_DELETE') return without([d.id]);
  if (t === 'MESSAGE_DELETE_BULK') return without(Array.isArray(d.ids) ? d.ids : []);
  const step = ADDED.has(t) ? 1 : -1;
  const isOwn = d.user_id === selfId;
  const change = (one: ChatMessage): ChatMessage => {
    const { reactions = [], poll } = one;
    if (t === 'MESSAGE_UPDATE') return isMessage(d) ? { ...d, reactions } : one;
    if (t === 'MESSAGE_REACTION_REMOVE_ALL') return { ...one, reactions: [] };
    if (t.startsWith('MESSAGE_POLL_VOTE_') && poll)
      return { ...one, poll: voted(poll, Number(d.answer_id), step, isOwn) };
    if (!t.startsWith('MESSAGE_REACTION_') || !isEmoji(d.emoji)) return one;
    const { emoji } = d;
    if (t === 'MESSAGE_REACTION_REMOVE_EMOJI')
      return { ...one, reactions: reactions.filter((each) => emojiPath(each.emoji) !== emojiPath(emoji)) };
    return { ...one, reactions: reacted(reactions, emoji, step, isOwn) };
  };
  const id = t === 'MESSAGE_UPDATE' ? d.id : d.message_id;
  return messages.some((one) => one.id === id)
    ? messages.map((one) => (one.id === id ? change(one) : one))
    : messages;
}

const isEmoji = (value: unknown): value is EmojiRef =>
  typeof value === 'object' && value !== null && 'name' in value;
