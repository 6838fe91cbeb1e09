import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { PruneResult } from '../../../protocol/schemas/member.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  Nullable,
  Obj,
  OneOf,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { readIds } from '../idlist.ts';
import { op, resource } from '../operation.ts';

/** Enough for a hundred ids with commas. */
const ROLE_TEXT_CHARS_MAX = 2_100;

const NEEDED = P.MANAGE_GUILD | P.KICK_MEMBERS;
// The platform publishes no limits for these routes; the values are this server's own. Both read many members.
const BUCKET = { per: 'guild_id', limit: 5, windowMs: 10_000 } as const;

const Days = () => Int(LIMITS.prune_days_min, LIMITS.prune_days_max);

export const prune = resource({
  preview_prune_guild: op({
    method: 'GET',
    path: '/guilds/:guild_id/prune',
    auth: 'any',
    permission: NEEDED,
    bucket: BUCKET,
    query: Obj({
      days: Optional(Days()),
      // Each value may be a list of its own.
      include_roles: Optional(Arr(Str(0, ROLE_TEXT_CHARS_MAX), LIMITS.prune_roles_max)),
    }),
    status: 200,
    reply: PruneResult,
    handle: async ({ params, query, authority }, services) => {
      const days = query.days ?? LIMITS.prune_days_default;
      const roleIds = readIds(query.include_roles?.join(','), 'include_roles');
      if (!roleIds.ok) return roleIds;
      const inactive = { days, roleIds: roleIds.value };
      const reply = await services.prune.count(params.guild_id, inactive, authority);
      return reply.ok ? { ok: true, value: { pruned: reply.value } } : reply;
    },
  }),

  prune_guild: op({
    method: 'POST',
    path: '/guilds/:guild_id/prune',
    auth: 'any',
    permission: NEEDED,
    bucket: BUCKET,
    body: Obj({
      days: Optional(Nullable(Days())),
      // discord.py sends the words, and the platform reads them.
      compute_prune_count: Optional(Nullable(OneOf(Bool(), Choice('true', 'false')))),
      include_roles: Optional(
        Nullable(OneOf(Arr(Snowflake(), LIMITS.prune_roles_max), Str(0, ROLE_TEXT_CHARS_MAX))),
      ),
    }),
    status: 200,
    reply: PruneResult,
    handle: async ({ params, body, authority }, services) => {
      const days = body.days ?? LIMITS.prune_days_default;
      const roleIds = readIds(body.include_roles, 'include_roles');
      if (!roleIds.ok) return roleIds;
      const inactive = { days, roleIds: roleIds.value };
      const reply = await services.prune.remove(params.guild_id, inactive, authority);
      if (!reply.ok) return reply;
      const isCounted = String(body.compute_prune_count ?? true) === 'true';
      return { ok: true, value: { pruned: isCounted ? reply.value : null } };
    },
  }),
});
