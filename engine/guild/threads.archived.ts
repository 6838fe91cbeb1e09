import { THREADS } from '../../protocol/channeltypes.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, refused } from '../kernel/aggregate.ts';
import { bitsIn } from './authorize.ts';
import type { GuildTopic } from './topic.ts';

type ArchivedThreadCommands = {
  /**
   * Checks that the caller may list archived threads of a channel; the store does the reading. Private threads that the
   * caller has not joined also need MANAGE_THREADS.
   */
  authorizeArchived: {
    input: { readonly channelId: ChannelId; readonly isPrivate: boolean };
    value: { readonly guildId: GuildId };
  };
};

/** Threads that are archived: only their lists; everything else is as with active ones. */
export const archivedThreads: GuildTopic<ArchivedThreadCommands, never> = {
  commands: {
    authorizeArchived: {
      decide: (guild, { channelId, isPrivate }, by, env) => {
        const channel = guild.channels.get(channelId);
        if (!channel || THREADS.has(channel.type)) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
        const needed = P.READ_MESSAGE_HISTORY | (isPrivate ? P.MANAGE_THREADS : 0n);
        const held = bitsIn(guild, by, channel, env.nowMs);
        return (held & needed) === needed
          ? accepted({ guildId: guild.id })
          : refused(refusal('MISSING_PERMISSIONS'));
      },
    },
  },
  facts: {},
};
