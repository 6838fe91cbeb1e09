import type { ChannelId } from '../../protocol/ids.ts';
import type { Guild, GuildChannel } from '../guild/guild.ts';

/** The channel of an optional id; undefined without an id, and for an unknown channel. */
export const channelById = (
  { channels }: Pick<Guild, 'channels'>,
  id: ChannelId | null | undefined,
): GuildChannel | undefined => (id === null || id === undefined ? undefined : channels.get(id));

/** A channel, or a thread that is in memory. */
export const channelIn = (
  { channels, threads }: Pick<Guild, 'channels' | 'threads'>,
  id: ChannelId,
): GuildChannel | undefined => channels.get(id) ?? threads.get(id)?.channel;
