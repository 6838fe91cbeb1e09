import type { CustomEmoji } from '../../../engine/channel/emoji.ts';
import type { PollDraft } from '../../../engine/channel/polls.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { isAnyId } from '../../../protocol/ids.ts';
import type { Services } from '../services.ts';

type Owners = Pick<Services, 'guilds' | 'read'>;

/** The custom emoji of this id: a guild's that the caller may use, or the application's own; null for none. */
export async function customEmoji(
  emojiId: string,
  authority: Authority,
  { guilds, read }: Owners,
): Promise<CustomEmoji | null> {
  if (!isAnyId(emojiId)) return null;
  const owner = await read.expressions.owner(emojiId);
  if (owner?.kind === 'emoji') {
    const reply = await guilds.call(owner.ownerId, 'useEmoji', { emojiId }, { ...authority, requires: 0n });
    return reply.ok ? { ...namesOf(reply.value), guildId: owner.ownerId } : null;
  }
  if (owner?.kind !== 'application emoji' || owner.ownerId !== authority.by.applicationId) return null;
  const emoji = (await read.expressions.ofApplication(owner.ownerId)).find(({ id }) => id === emojiId);
  return emoji ? { ...namesOf(emoji), guildId: null } : null;
}

const namesOf = ({ id, name, animated }: Omit<CustomEmoji, 'guildId'>) => ({ id, name, animated });

/** Those of the custom emojis of a poll's answers that exist and that the caller may use. */
export async function emojisNamed(
  poll: PollDraft | null | undefined,
  authority: Authority,
  owners: Owners,
): Promise<CustomEmoji[]> {
  const ids = (poll?.answers ?? []).flatMap(({ poll_media: { emoji } }) => emoji?.id ?? []);
  const found = await Promise.all([...new Set(ids)].map((id) => customEmoji(id, authority, owners)));
  return found.filter((emoji) => emoji !== null);
}
