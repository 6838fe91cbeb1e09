import type { ChannelId } from '../../protocol/ids.ts';
import type { Guild, GuildChannel } from '../guild/guild.ts';

/** The channel of an id that may be absent; undefined without an id, and when the guild has no such channel. */
export const channelById = (
  { channels }: Pick<Guild, 'channels'>,
  id: ChannelId | null | undefined,
): GuildChannel | undefined => (id === null || id === undefined ? undefined : channels.get(id));
