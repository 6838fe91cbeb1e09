import { accepted } from '../kernel/outcome.ts';
import type { GuildTopic } from './topic.ts';

type VanityCommands = {
  getVanity: { input: object; value: { readonly code: string | null; readonly uses: number } };
};

/** The guild's own invite code, if it has one. */
export const vanity: GuildTopic<VanityCommands, never> = {
  commands: {
    getVanity: {
      needs: (_input, { info }) => ({ invites: info.vanity_url_code === null ? [] : [info.vanity_url_code] }),
      decide: ({ info, invites }) => {
        const code = info.vanity_url_code;
        return accepted({ code, uses: code === null ? 0 : (invites.get(code)?.uses ?? 0) });
      },
    },
  },
  facts: {},
};
