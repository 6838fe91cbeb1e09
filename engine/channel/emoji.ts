/** Emoji in the path of a reaction: a Unicode emoji, or `name:id` of a custom one. */
const SETS = 'v'; // A variable, because the compiler's target is older than this flag; the runtimes know it.
const UNICODE_EMOJI = new RegExp('^\\p{RGI_Emoji}$', SETS);
/** UTF-16 units; the longest recommended sequence has 35. */
const EMOJI_UNITS_MAX = 64;
const PICTURE_SELECTOR = '\ufe0f';
const BASE = /(?![\d#*])\p{Emoji}(?!\p{Emoji_Modifier})/gu;
const PRESENTED_AS_PICTURE = /^\p{Emoji_Presentation}$/u;

/**
 * The canonical spelling of a Unicode emoji, under which its reactions are counted; null when `text` is not an emoji.
 * Clients may omit the picture selector (U+FE0F); it is restored where the emoji standard requires it.
 */
export function emojiKey(text: string): string | null {
  if (text.length === 0 || text.length > EMOJI_UNITS_MAX) return null;
  if (UNICODE_EMOJI.test(text)) return text;
  const bare = text.replaceAll(PICTURE_SELECTOR, '');
  if (UNICODE_EMOJI.test(bare)) return bare;
  const full = bare.replace(BASE, (character) =>
    PRESENTED_AS_PICTURE.test(character) ? character : character + PICTURE_SELECTOR,
  );
  if (UNICODE_EMOJI.test(full)) return full;
  const keycap = bare.replace(/^([\d#*])\u20e3$/, `$1${PICTURE_SELECTOR}\u20e3`);
  return UNICODE_EMOJI.test(keycap) ? keycap : null;
}

/** A custom emoji; `guildId` is null for an application's. */
export interface CustomEmoji {
  readonly id: string;
  readonly name: string;
  readonly animated: boolean;
  readonly guildId: string | null;
}

const CUSTOM = /^(?:a:)?\w{1,32}:(\d{1,20})$/;

/** The id of a custom emoji in the path of a reaction; null for any other text. */
export const customEmojiId = (text: string): string | null => CUSTOM.exec(text)?.[1] ?? null;

/** The key under which reactions are counted: a Unicode emoji, or a custom one's id, as names change. */
export const reactionKey = (text: string): string | null => customEmojiId(text) ?? emojiKey(text);
