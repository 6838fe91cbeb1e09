import type { ApplicationId, EmojiId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { Emoji } from '../guild/expressions.ts';
import { accepted, type FactOf, type Outcome, refused } from '../kernel/aggregate.ts';

export type ApplicationEmojiFacts = {
  applicationEmojiWritten: { readonly applicationId: ApplicationId; readonly emoji: Emoji };
  applicationEmojiDeleted: { readonly applicationId: ApplicationId; readonly emojiId: EmojiId };
};

export type ApplicationEmojiFact = FactOf<ApplicationEmojiFacts>;

/** An application with its emoji, oldest first. */
export interface EmojiOwner {
  readonly applicationId: ApplicationId;
  readonly emojis: readonly Emoji[];
}

/** A new emoji; its image is already stored under the id. */
export interface EmojiDraft {
  readonly id: EmojiId;
  readonly name: string;
  readonly animated: boolean;
  readonly user: APIUser;
}

type Decision<Value> = Outcome<Value, ApplicationEmojiFact>;

const isTaken = ({ emojis }: EmojiOwner, name: string, id: string): boolean =>
  emojis.some((emoji) => emoji.name === name && emoji.id !== id);

export function createEmoji(owner: EmojiOwner, draft: EmojiDraft): Decision<Emoji> {
  const { applicationId, emojis } = owner;
  if (emojis.length >= LIMITS.application_emojis_max) return refused(refusal('MAXIMUM_EMOJIS'));
  const emoji: Emoji = { ...draft, roles: [], require_colons: true, managed: false, available: true };
  return named(owner, emoji, () => [{ type: 'applicationEmojiWritten', applicationId, emoji }]);
}

export function renameEmoji(owner: EmojiOwner, emojiId: EmojiId, name: string | undefined): Decision<Emoji> {
  const before = owner.emojis.find(({ id }) => id === emojiId);
  if (!before) return refused(refusal('UNKNOWN_EMOJI'));
  const emoji = { ...before, name: name ?? before.name };
  if (emoji.name === before.name) return accepted(before);
  const { applicationId } = owner;
  return named(owner, emoji, () => [{ type: 'applicationEmojiWritten', applicationId, emoji }]);
}

export function deleteEmoji({ applicationId, emojis }: EmojiOwner, emojiId: EmojiId): Decision<null> {
  if (!emojis.some(({ id }) => id === emojiId)) return refused(refusal('UNKNOWN_EMOJI'));
  return accepted(null, [{ type: 'applicationEmojiDeleted', applicationId, emojiId }]);
}

/**
 * Refuses a name that another emoji of the application has.
 *
 * @source https://docs.discord.com/developers/resources/emoji#create-application-emoji
 */
function named(owner: EmojiOwner, emoji: Emoji, facts: () => ApplicationEmojiFact[]): Decision<Emoji> {
  if (!isTaken(owner, emoji.name, emoji.id)) return accepted(emoji, facts());
  const message = 'An emoji with this name already exists for the application.';
  return refused(invalidField(['name'], 'APPLICATION_EMOJI_NAME_ALREADY_TAKEN', message));
}
