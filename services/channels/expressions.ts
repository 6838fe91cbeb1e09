import type { Guilds } from '../../actors/guild/guilds.ts';
import type { SentSticker } from '../../engine/channel/draft.ts';
import type { CustomEmoji } from '../../engine/channel/emoji.ts';
import type { PollDraft } from '../../engine/channel/polls.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { isEmojiId, isStickerId } from '../../protocol/ids.ts';
import { standardSticker } from '../../protocol/stickers.ts';
import type { ExpressionStore } from '../../storage/guild/port.ts';

interface ExpressionPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly store: Pick<ExpressionStore, 'owner' | 'ofApplication'>;
}

/** Emojis and stickers that messages and reactions name by id. Their guilds decide who may use them. */
export interface Expressions {
  /** The custom emoji of this id: a guild's that the caller may use, or the application's own; null for none. */
  emoji(id: string, authority: Authority): Promise<CustomEmoji | null>;
  /** The custom emojis of a poll's answers, without unknown ones and ones that the caller may not use. */
  emojisOf(poll: PollDraft | null | undefined, authority: Authority): Promise<CustomEmoji[]>;
  /** The existing stickers that the caller may see: from a pack, or from a guild that the caller is in. */
  stickers(ids: readonly string[] | null | undefined, authority: Authority): Promise<SentSticker[]>;
}

export function createExpressions({ guilds, store }: ExpressionPorts): Expressions {
  const emoji: Expressions['emoji'] = async (emojiId, authority) => {
    if (!isEmojiId(emojiId)) return null;
    const owner = await store.owner(emojiId);
    if (owner?.kind === 'emoji') {
      const reply = await guilds.call(owner.ownerId, 'useEmoji', { emojiId }, { ...authority, requires: 0n });
      return reply.ok ? { ...namesOf(reply.value), guildId: owner.ownerId } : null;
    }
    if (owner?.kind !== 'application emoji' || owner.ownerId !== authority.by.applicationId) return null;
    const found = (await store.ofApplication(owner.ownerId)).find(({ id }) => id === emojiId);
    return found ? { ...namesOf(found), guildId: null } : null;
  };

  async function sticker(id: string, authority: Authority): Promise<SentSticker | null> {
    const standard = standardSticker(id);
    if (standard) return { id, name: standard.name, format_type: standard.format_type, guildId: null };
    const owner = await store.owner(id);
    if (owner?.kind !== 'sticker' || !isStickerId(id)) return null;
    const input = { stickerId: id };
    const reply = await guilds.call(owner.ownerId, 'getSticker', input, { ...authority, requires: 0n });
    if (!reply.ok) return null;
    const { name, format_type, guild_id: guildId } = reply.value;
    return { id, name, format_type, guildId };
  }

  return {
    emoji,
    async emojisOf(poll, authority) {
      const ids = (poll?.answers ?? []).flatMap(({ poll_media: { emoji } }) => emoji?.id ?? []);
      const found = await Promise.all([...new Set(ids)].map((id) => emoji(id, authority)));
      return found.filter((each) => each !== null);
    },
    async stickers(ids, authority) {
      const found = await Promise.all([...new Set(ids ?? [])].map((id) => sticker(id, authority)));
      return found.filter((each) => each !== null);
    },
  };
}

const namesOf = ({ id, name, animated }: Omit<CustomEmoji, 'guildId'>) => ({ id, name, animated });
