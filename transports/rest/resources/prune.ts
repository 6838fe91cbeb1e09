import type { Authority } from '../../../engine/kernel/authority.ts';
import type { Reply } from '../../../engine/kernel/outcome.ts';
import type { GuildId, RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { readIds } from '../idlist.ts';
import { op, resource } from '../operation.ts';
import { Arr, Bool, Choice, Int, Nullable, Obj, OneOf, Optional, Snowflake, Str } from '../schema.ts';
import type { Services } from '../services.ts';

const DAY_MS = 86_400_000;
/** Members whom one command examines or removes. It bounds the guild's turn and the transaction. */
const PAGE = 500;
/** Enough for a hundred ids with commas. */
const ROLE_TEXT_CHARS_MAX = 2_100;

const NEEDED = P.MANAGE_GUILD | P.KICK_MEMBERS;
// The platform publishes no limits for these routes; the values are this server's own. Both read many members.
const BUCKET = { per: 'guild_id', limit: 5, windowMs: 10_000 } as const;

const Days = () => Int(LIMITS.prune_days_min, LIMITS.prune_days_max);

interface Prune {
  readonly guildId: GuildId;
  readonly days: number;
  readonly roleIds: readonly RoleId[];
  readonly authority: Authority;
}

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
    handle: async ({ params, query, authority }, services) => {
      const days = query.days ?? LIMITS.prune_days_default;
      const roleIds = readIds(query.include_roles?.join(','), 'include_roles');
      if (!roleIds.ok) return roleIds;
      const wanted = { guildId: params.guild_id, days, roleIds: roleIds.value, authority };
      const reply = await sweep(wanted, services, 'countPrunable');
      return reply.ok ? { ok: true, body: { pruned: reply.value } } : reply;
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
    handle: async ({ params, body, authority }, services) => {
      const days = body.days ?? LIMITS.prune_days_default;
      const roleIds = readIds(body.include_roles, 'include_roles');
      if (!roleIds.ok) return roleIds;
      const wanted = { guildId: params.guild_id, days, roleIds: roleIds.value, authority };
      const reply = await sweep(wanted, services, 'pruneMembers');
      if (!reply.ok) return reply;
      const isCounted = String(body.compute_prune_count ?? true) === 'true';
      return { ok: true, body: { pruned: isCounted ? reply.value : null } };
    },
  }),
});

/**
 * Shows inactive members to the guild, page by page; the guild counts or removes them. If the server crashes between two
 * pages, those removed stay removed, and repeating the request removes the rest.
 */
async function sweep(
  { guildId, days, roleIds, authority }: Prune,
  { guilds, read, nowMs }: Services,
  command: 'countPrunable' | 'pruneMembers',
): Promise<Reply<number>> {
  const may = await guilds.call(guildId, 'authorizePrune', {}, authority);
  if (!may.ok) return may;
  const since = nowMs() - days * DAY_MS;
  const inactivity = { beforeDay: Math.floor(since / DAY_MS), joinedBeforeMs: since, roleIds };
  let total = 0;
  for (let after: UserId | null = null; ; ) {
    const userIds: UserId[] = await read.guilds.inactiveMembers(guildId, inactivity, after, PAGE);
    const isLast = userIds.length < PAGE;
    const input = { userIds, includeRoles: roleIds, log: isLast ? { days, removedBefore: total } : null };
    const reply = await guilds.call(guildId, command, input, authority);
    if (!reply.ok) {
      // The author lost the permission, or left: what was removed is in the log all the same.
      const bySystem = { by: { ...authority.by, system: true }, requires: 0n } as const;
      if (command === 'pruneMembers' && total > 0)
        await guilds.call(guildId, 'logPrune', { days, removed: total }, bySystem);
      return reply;
    }
    total += reply.value.count;
    if (isLast) return { ok: true, value: total };
    after = userIds.at(-1) ?? null;
  }
}
