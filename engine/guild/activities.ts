import type { ChannelId } from '../../protocol/ids.ts';
import { accepted } from '../kernel/aggregate.ts';
import type { GuildActivityFacts } from './facts.ts';
import type { GuildTopic } from './topic.ts';

type ActivityCommands = {
  /** Shows a change of a running activity to the members who see its channel. */
  showActivity: { input: { readonly channelId: ChannelId; readonly activity: object }; value: null };
};

/** Running activities as members see them; `services/activities` decides about them. */
export const activities: GuildTopic<ActivityCommands, keyof GuildActivityFacts> = {
  commands: {
    showActivity: {
      decide: (_, { channelId, activity }) =>
        accepted(null, [{ type: 'activityShown', channelId, activity }]),
    },
  },
  facts: {
    activityShown: {
      durable: false,
      apply: () => {},
      dispatches: (guild, { channelId, activity }) => {
        const d = { ...activity, guild_id: guild.id };
        // A deleted channel has no viewers; the clients have dropped its activities with it.
        if (!guild.channels.has(channelId)) return [];
        return [{ t: 'EMBEDDED_ACTIVITY_UPDATE_V2', d, to: { kind: 'channel', channelId } }];
      },
    },
  },
};
