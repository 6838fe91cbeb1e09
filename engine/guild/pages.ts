import type { PageFacts } from './facts.ts';
import { guildObject } from './payloads.ts';
import type { GuildTopic } from './topic.ts';

/** Common rules of a guild's pages: each is replaced whole, and some are part of the guild object. */
export const pages: GuildTopic<Record<never, never>, keyof PageFacts> = {
  commands: {},
  facts: {
    pageWritten: {
      apply: (guild, { page, data }) => {
        const { [page]: _, ...others } = guild.pages;
        guild.pages = data === null ? others : { ...others, [page]: data };
      },
      dispatches: (guild, { page }) =>
        page === 'incidents'
          ? [{ t: 'GUILD_UPDATE', d: guildObject(guild), to: { kind: 'guild' }, keepsSight: true }]
          : [],
    },
    // Only the directory of codes knows these.
    templateCodeTaken: { apply: () => {}, dispatches: () => [] },
    templateCodeDropped: { apply: () => {}, dispatches: () => [] },
  },
};
