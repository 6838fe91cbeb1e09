/** Greatest numbers of a guild's emoji, stickers and sounds. */
interface ExpressionLimits {
  readonly emojis: number;
  readonly animatedEmojis: number;
  readonly stickers: number;
  readonly sounds: number;
}

/** Limits by premium tier: emoji of each sort, stickers, sounds. */
const BY_TIER = [
  [50, 5, 8],
  [100, 15, 24],
  [150, 30, 36],
  [250, 60, 48],
] as const;

/**
 * Limits of a guild with a premium tier and these features; an unknown tier counts as none.
 *
 * @source https://support.discord.com/hc/en-us/articles/360028038352
 */
export function expressionLimits(tier: number, features: readonly string[]): ExpressionLimits {
  const [emojis, stickers, sounds] = BY_TIER.find((_, each) => each === tier) ?? BY_TIER[0];
  const more = (feature: string, limit: number, count: number): number =>
    features.includes(feature) ? Math.max(limit, count) : limit;
  const each = more('MORE_EMOJI', emojis, 200);
  return {
    emojis: each,
    animatedEmojis: each,
    stickers: more('MORE_STICKERS', stickers, 60),
    sounds: more('MORE_SOUNDBOARD', sounds, 96),
  };
}

/** Formats of stickers, as on the wire. */
export const STICKER_FORMAT = { PNG: 1, APNG: 2, LOTTIE: 3, GIF: 4 } as const;
export type StickerFormat = (typeof STICKER_FORMAT)[keyof typeof STICKER_FORMAT];
