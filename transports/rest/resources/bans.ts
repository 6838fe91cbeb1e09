import type { UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { Ban, BulkBanUsers } from '../../../protocol/schemas/member.ts';
import { Arr, Int, Nullable, Obj, Optional, Snowflake } from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;

const DAY_SEC = 86_400;

const DeleteSeconds = () => Optional(Nullable(Int(0, LIMITS.ban_delete_message_sec_max)));

export const bans = resource({
  list_guild_bans: op({
    method: 'GET',
    path: '/guilds/:guild_id/bans',
    auth: 'any',
    permission: P.BAN_MEMBERS,
    bucket: READS,
    query: Obj({
      limit: Optional(Int(1, LIMITS.bans_page_max)),
      before: Optional(Snowflake<UserId>()),
      after: Optional(Snowflake<UserId>()),
    }),
    status: 200,
    reply: list(Ban),
    handle: async ({ params, query, authority }, { guilds, read }) => {
      const guildId = params.guild_id;
      const may = await guilds.call(guildId, 'authorizeBanRead', {}, authority);
      if (!may.ok) return may;
      const page = {
        limit: query.limit ?? LIMITS.bans_page_default,
        ...(query.before === undefined ? {} : { before: query.before }),
        ...(query.after === undefined ? {} : { after: query.after }),
      };
      return { ok: true, value: await read.guilds.bans(guildId, page) };
    },
  }),

  get_guild_ban: op({
    method: 'GET',
    path: '/guilds/:guild_id/bans/:user_id',
    auth: 'any',
    permission: P.BAN_MEMBERS,
    bucket: READS,
    status: 200,
    reply: Ban,
    handle: async ({ params, authority }, { guilds }) => {
      const input = { userId: params.user_id };
      const reply = await guilds.call(params.guild_id, 'getBan', input, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  ban_user_from_guild: op({
    method: 'PUT',
    path: '/guilds/:guild_id/bans/:user_id',
    auth: 'any',
    permission: P.BAN_MEMBERS,
    bucket: WRITES,
    body: Obj({
      delete_message_seconds: DeleteSeconds(),
      // Deprecated by the platform, but older clients still send it.
      delete_message_days: Optional(Nullable(Int(0, LIMITS.ban_delete_message_days_max))),
    }),
    status: 204,
    reply: none,
    handle: async ({ params, body, authority }, services) => {
      const deleteSec = body.delete_message_seconds ?? (body.delete_message_days ?? 0) * DAY_SEC;
      const reply = await services.bans.ban(params.guild_id, params.user_id, deleteSec, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  unban_user_from_guild: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/bans/:user_id',
    auth: 'any',
    permission: P.BAN_MEMBERS,
    bucket: WRITES,
    status: 204,
    reply: none,
    handle: async ({ params, authority }, { guilds }) => {
      const input = { userId: params.user_id };
      const reply = await guilds.call(params.guild_id, 'unbanUser', input, authority);
      return reply.ok ? { ok: true } : reply;
    },
  }),

  bulk_ban_users_from_guild: op({
    method: 'POST',
    path: '/guilds/:guild_id/bulk-ban',
    auth: 'any',
    permission: P.BAN_MEMBERS | P.MANAGE_GUILD,
    bucket: { per: 'guild_id', limit: 2, windowMs: 10_000 },
    body: Obj({
      user_ids: Arr(Snowflake<UserId>(), LIMITS.bulk_ban_users_max),
      delete_message_seconds: DeleteSeconds(),
    }),
    status: 200,
    reply: BulkBanUsers,
    handle: async ({ params, body, authority }, services) => {
      const deleteSec = body.delete_message_seconds ?? 0;
      const reply = await services.bans.banEach(params.guild_id, body.user_ids, deleteSec, authority);
      if (!reply.ok) return reply;
      const { banned, failed } = reply.value;
      return { ok: true, value: { banned_users: banned, failed_users: failed } };
    },
  }),
});
