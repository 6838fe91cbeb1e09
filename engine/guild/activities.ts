import type { ChannelId } from '../../protocol/ids.ts';
import type { ActivityFact } from '../activity/instance.ts';
import { accepted } from '../kernel/aggregate.ts';
import type { GuildActivityFacts } from './facts.ts';
import type { GuildTopic } from './topic.ts';

type ActivityCommands = {
  /** Stores a change of a running activity, and shows it to the members who see its channel. */
  changeActivity: {
    input: {
      readonly channelId: ChannelId;
      readonly facts: readonly ActivityFact[];
      readonly activity: object;
    };
    value: null;
  };
};

/** Running activities as members see them; `services/activities` decides about them. */
export const activities: GuildTopic<ActivityCommands, keyof GuildActivityFacts> = {
  commands: {
    changeActivity: {
      decide: (_, { channelId, facts, activity }) =>
        accepted(null, [...facts, { type: 'activityShown', channelId, activity }]),
    },
  },
  facts: {
    activityInstanceWritten: { apply: () => {}, dispatches: () => [] },
    activityInstanceEnded: { apply: () => {}, dispatches: () => [] },
    activityShown: {
      durable: 'record',
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
