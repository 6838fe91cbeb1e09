import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { VanityUrl } from '../../../protocol/schemas/guild.ts';
import { Nullable, Obj, Optional, Str } from '../../../protocol/schemas/request.ts';
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
    reply: VanityUrl,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getVanity', {}, authority),
  }),
});

/** Setting the code, which the platform's OpenAPI does not list. */
export const vanityUnlisted = resource({
  set_guild_vanity_url: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/vanity-url',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    // The answer shows whether a code is taken: the rate is low, so that codes cannot be enumerated.
    bucket: { per: 'guild_id', limit: 5, windowMs: 60_000 },
    body: Obj({ code: Optional(Nullable(Str(0, LIMITS.invite_code_chars_max))) }),
    status: 200,
    reply: VanityUrl,
    handle: async ({ params, body, authority }, { invites }) =>
      await invites.setVanity(params.guild_id, body.code || null, authority),
  }),
});
