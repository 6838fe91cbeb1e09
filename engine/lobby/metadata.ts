import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { cleanText, textLength } from '../channel/text.ts';

/** Texts by key that an application attaches to lobbies, their members and messages. */
export type Metadata = Readonly<Record<string, string>>;

interface MetadataBounds {
  readonly keysMax: number;
  readonly keyCharsMax: number;
  readonly valueCharsMax: number;
  /** Sum of keys and values; null without a bound beyond the others. */
  readonly totalCharsMax: number | null;
}

/**
 * Bounds for lobbies, their members and messages.
 *
 * @source https://github.com/discord/discord-api-spec/blob/main/specs/openapi.json, `LobbyMemberRequest`, for the
 * counts and lengths; https://docs.discord.com/developers/resources/lobby#lobby-object for the total, which is the
 * tighter one
 */
export const METADATA: MetadataBounds = {
  keysMax: 25,
  keyCharsMax: 1_024,
  valueCharsMax: 1_024,
  totalCharsMax: 1_000,
};

/** Bounds for an application's moderation metadata of a message. */
export const MODERATION_METADATA: MetadataBounds = {
  keysMax: 5,
  keyCharsMax: 1_024,
  valueCharsMax: 2_000,
  totalCharsMax: null,
};

/** Why metadata exceeds its bounds; null when it fits. `path` leads to it in the request. */
export function metadataRefusal(
  metadata: Metadata | null | undefined,
  bounds: MetadataBounds,
  path: readonly (string | number)[],
): Refusal | null {
  if (!metadata) return null;
  const entries = Object.entries(metadata);
  const { keysMax, keyCharsMax, valueCharsMax, totalCharsMax } = bounds;
  if (entries.length > keysMax) return tooLong(path, `Must have ${keysMax} or fewer keys.`);
  let total = 0;
  for (const [key, value] of entries) {
    const [keyChars, valueChars] = [textLength(key), textLength(value)];
    if (keyChars > keyCharsMax) return tooLong(path, `Keys must be ${keyCharsMax} or fewer in length.`);
    if (valueChars > valueCharsMax)
      return tooLong([...path, key], `Must be ${valueCharsMax} or fewer in length.`);
    total += keyChars + valueChars;
  }
  if (totalCharsMax === null || total <= totalCharsMax) return null;
  return tooLong(path, `Must be ${totalCharsMax} or fewer in length, keys and values together.`);
}

const tooLong = (path: readonly (string | number)[], message: string): Refusal =>
  invalidField(path, 'BASE_TYPE_MAX_LENGTH', message);

/** Metadata as it is stored. `fromEntries` defines own properties, so a key named `__proto__` stays data. */
export const cleanMetadata = (metadata: Metadata | null): Metadata | null =>
  metadata &&
  Object.fromEntries(Object.entries(metadata).map(([key, value]) => [cleanText(key), cleanText(value)]));
