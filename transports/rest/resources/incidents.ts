import { P } from '../../../protocol/permissions.ts';
import { IncidentsData } from '../../../protocol/schemas/guild.ts';
import { Nullable, Obj, Optional, Timestamp } from '../../../protocol/schemas/request.ts';
import { op, resource } from '../operation.ts';

export const incidents = resource({
  update_guild_incident_actions: op({
    method: 'PUT',
    path: '/guilds/:guild_id/incident-actions',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    // The platform publishes no limit for this route; the value is this server's own.
    bucket: { per: 'guild_id', limit: 5, windowMs: 10_000 },
    body: Obj({
      invites_disabled_until: Optional(Nullable(Timestamp())),
      dms_disabled_until: Optional(Nullable(Timestamp())),
    }),
    status: 200,
    reply: IncidentsData,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'updateIncidentActions', { draft }, authority),
  }),
});
