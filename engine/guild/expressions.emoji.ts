import { refusal } from '../../protocol/refusal.ts';
import { emojiKey } from '../channel/emoji.ts';
import { accepted, type Outcome, refused } from '../kernel/aggregate.ts';
import type { Guild } from './guild.ts';

/** An emoji of the guild by its id, or a Unicode emoji by itself, as requests name one; the id wins. */
export interface EmojiDraft {
  readonly emoji_id?: string | null;
  readonly emoji_name?: string | null;
}

interface ChosenEmoji {
  readonly id: string | null;
  readonly name: string | null;
  readonly animated: boolean;
}

/**
 * The emoji that decorates a setting of the guild.
 *
 * @param keptId A custom emoji that stood there before; it may stay after it was deleted, so that other changes pass.
 * @returns null when the draft names none; 10014 for an emoji that is neither the guild's nor Unicode's.
 */
export function chosenEmoji(
  guild: Guild,
  { emoji_id: id, emoji_name: name }: EmojiDraft,
  keptId: string | null = null,
): Outcome<ChosenEmoji | null, never> {
  if (id) {
    const emoji = guild.expressions.emojis.get(id);
    if (emoji) return accepted({ id, name: emoji.name, animated: emoji.animated });
    return id === keptId
      ? accepted({ id, name: name ?? null, animated: false })
      : refused(refusal('UNKNOWN_EMOJI'));
  }
  if (!name) return accepted(null);
  const key = emojiKey(name);
  return key === null
    ? refused(refusal('UNKNOWN_EMOJI'))
    : accepted({ id: null, name: key, animated: false });
}
