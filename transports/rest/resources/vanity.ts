import { P } from '../../../protocol/permissions.ts';
import { answer } from '../answer.ts';
import { op, resource } from '../operation.ts';

export const vanity = resource({
  get_guild_vanity_url: op({
    method: 'GET',
    path: '/guilds/:guild_id/vanity-url',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    // The platform publishes no limit for this route; the value is this server's own.
    bucket: { per: 'guild_id', limit: 10, windowMs: 10_000 },
    status: 200,
    handle: async ({ params, authority }, { guilds }) =>
      answer(await guilds.call(params.guild_id, 'getVanity', {}, authority)),
  }),
});
