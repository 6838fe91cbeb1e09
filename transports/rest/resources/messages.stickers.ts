import type { SentSticker } from '../../../engine/channel/draft.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import { standardSticker } from '../../../protocol/stickers.ts';
import type { Services } from '../services.ts';

/** Those of the stickers that exist and that the caller may see: of a pack, or of a guild that the caller is in. */
export async function stickersNamed(
  ids: readonly string[] | null | undefined,
  authority: Authority,
  services: Pick<Services, 'guilds' | 'read'>,
): Promise<SentSticker[]> {
  const found = await Promise.all([...new Set(ids ?? [])].map((id) => one(id, authority, services)));
  return found.filter((sticker) => sticker !== null);
}

async function one(
  id: string,
  authority: Authority,
  { guilds, read }: Pick<Services, 'guilds' | 'read'>,
): Promise<SentSticker | null> {
  const standard = standardSticker(id);
  if (standard) return { id, name: standard.name, format_type: standard.format_type, guildId: null };
  const owner = await read.expressions.owner(id);
  if (owner?.kind !== 'sticker') return null;
  const reply = await guilds.call(
    owner.ownerId,
    'getSticker',
    { stickerId: id },
    { ...authority, requires: 0n },
  );
  if (!reply.ok) return null;
  const { name, format_type, guild_id: guildId } = reply.value;
  return { id, name, format_type, guildId };
}
