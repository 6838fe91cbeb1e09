import type { ChannelView, GuildView, PrivateChannelView } from '../../sdk/index.ts';

/** Where the user is: a channel of a guild, or the lobbies. */
export interface PageLocation {
  readonly guildId: string | null;
  readonly channelId: string | null;
  readonly isLobbies: boolean;
}

export const CHANNEL = { text: 0, voice: 2, category: 4, news: 5, stage: 13, forum: 15, media: 16 } as const;
export const isThread = ({ type }: ChannelView): boolean => type >= 10 && type <= 12;
export const isForum = ({ type }: ChannelView): boolean => type === CHANNEL.forum || type === CHANNEL.media;
export const isVoice = ({ type }: ChannelView): boolean => type === CHANNEL.voice || type === CHANNEL.stage;

/** Channels in the order of the list: those without a category first, then each category with its own. */
export function orderedChannels({ channels }: GuildView): readonly ChannelView[] {
  const all = [...channels.values()].filter((one) => !isThread(one));
  const by = (parentId: string | null) =>
    all
      .filter((one) => one.type !== CHANNEL.category && one.parentId === parentId)
      .sort(
        (a, b) =>
          Number(isVoice(a)) - Number(isVoice(b)) || a.position - b.position || a.id.localeCompare(b.id),
      );
  const categories = all
    .filter(({ type }) => type === CHANNEL.category)
    .sort((a, b) => a.position - b.position);
  return [...by(null), ...categories.flatMap((one) => [one, ...by(one.id)])];
}

/** The open threads of a channel, newest first. */
export const threadsOf = ({ channels }: GuildView, channelId: string): readonly ChannelView[] =>
  [...channels.values()]
    .filter((one) => isThread(one) && one.parentId === channelId && !one.isArchived)
    .sort((a, b) => b.id.localeCompare(a.id));

/** How a private channel is listed: by its name, or by the people in it. */
export const nameOf = ({ title, people }: PrivateChannelView): string =>
  title || [...people.values()].map(({ name }) => name).join(', ') || 'Nobody else';
