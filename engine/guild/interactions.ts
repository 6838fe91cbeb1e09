import type { UserId } from '../../protocol/ids.ts';
import { accepted } from '../kernel/outcome.ts';
import type { GuildTopic } from './topic.ts';

type InteractionCommands = {
  /** Sends an interaction to the sessions of the application's bot. */
  sendInteraction: { input: { readonly botId: UserId; readonly interaction: object }; value: null };
};

/** What members do with applications whose bots are here. */
export const interactions: GuildTopic<InteractionCommands, 'interactionSent'> = {
  commands: {
    sendInteraction: {
      decide: (_, { botId, interaction }) =>
        accepted(null, [{ type: 'interactionSent', botId, interaction }]),
    },
  },
  facts: {
    interactionSent: {
      durable: false,
      apply: () => {},
      dispatches: (_, { botId, interaction }) => [
        { t: 'INTERACTION_CREATE', d: interaction, to: { kind: 'users', userIds: [botId] } },
      ],
    },
  },
};
