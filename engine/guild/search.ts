import type { ChannelId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { accepted } from '../kernel/aggregate.ts';
import { bitsIn } from './authorize.ts';
import type { GuildTopic } from './topic.ts';

type SearchCommands = {
  /**
   * The channels whose messages the caller may search, and those of them in which all private threads are shown. The store
   * does the searching.
   */
  authorizeSearch: {
    input: { readonly includesNsfw: boolean };
    value: { readonly readable: readonly ChannelId[]; readonly managed: readonly ChannelId[] };
  };
};

const NEEDED = P.VIEW_CHANNEL | P.READ_MESSAGE_HISTORY;

/** Search of the guild's messages. */
export const search: GuildTopic<SearchCommands, never> = {
  commands: {
    authorizeSearch: {
      decide: (guild, { includesNsfw }, by, env) => {
        const shown = [...guild.channels.values()].filter(
          (channel) => includesNsfw || !('nsfw' in channel && channel.nsfw === true),
        );
        const held = shown.map((channel) => ({
          id: channel.id,
          bits: bitsIn(guild, by, channel, env.nowMs),
        }));
        const readable = held.filter(({ bits }) => (bits & NEEDED) === NEEDED);
        const managed = readable.filter(({ bits }) => (bits & P.MANAGE_THREADS) !== 0n);
        return accepted({
          readable: readable.map(({ id }) => id),
          managed: managed.map(({ id }) => id),
        });
      },
    },
  },
  facts: {},
};
