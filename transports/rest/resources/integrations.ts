import { P } from '../../../protocol/permissions.ts';
import { BotIntegration } from '../../../protocol/schemas/application.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes.
const READ = { per: 'guild_id', limit: 5, windowMs: 5_000 } as const;
const DELETE = { per: 'guild_id', limit: 2, windowMs: 5_000 } as const;

/** The applications in a guild. */
export const integrations = resource({
  list_guild_integrations: op({
    method: 'GET',
    path: '/guilds/:guild_id/integrations',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: READ,
    status: 200,
    reply: list(BotIntegration),
    async handle({ params, authority }, { integrations: all }) {
      const reply = await all.list(params.guild_id, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),
  delete_guild_integration: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/integrations/:integration_id',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: DELETE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { integrations: all, appCommands }) =>
      all.remove(params.guild_id, params.integration_id, authority, appCommands),
  }),
});
