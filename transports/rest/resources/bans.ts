import type { Authority } from '../../../engine/kernel/authority.ts';
import { type GuildId, snowflakeAt, type UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { op, resource } from '../operation.ts';
import { Arr, Int, Nullable, Obj, Optional, Snowflake } from '../schema.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;

/** Messages read and deleted at a time. */
const PURGE_PAGE = 1_000;
/** The guild loads the archived threads among the channels, and keeps no more than 64 of them in memory. */
const PURGE_CHANNELS = 50;
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
    handle: async ({ params, query, authority }, { guilds, read }) => {
      const guildId = params.guild_id;
      const may = await guilds.call(guildId, 'authorizeBanRead', {}, authority);
      if (!may.ok) return may;
      const page = {
        limit: query.limit ?? LIMITS.bans_page_default,
        ...(query.before === undefined ? {} : { before: query.before }),
        ...(query.after === undefined ? {} : { after: query.after }),
      };
      return { ok: true, body: await read.guilds.bans(guildId, page) };
    },
  }),

  get_guild_ban: op({
    method: 'GET',
    path: '/guilds/:guild_id/bans/:user_id',
    auth: 'any',
    permission: P.BAN_MEMBERS,
    bucket: READS,
    status: 200,
    handle: async ({ params, authority }, { guilds }) => {
      const input = { userId: params.user_id };
      const reply = await guilds.call(params.guild_id, 'getBan', input, authority);
      return reply.ok ? { ok: true, body: reply.value } : reply;
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
    handle: async ({ params, body, authority }, services) => {
      const guildId = params.guild_id;
      const userId = params.user_id;
      const reply = await services.guilds.call(guildId, 'banUser', { userId }, authority);
      if (!reply.ok) return reply;
      const ageSec = body.delete_message_seconds ?? (body.delete_message_days ?? 0) * DAY_SEC;
      await purge(guildId, [userId], ageSec, authority, services);
      return { ok: true };
    },
  }),

  unban_user_from_guild: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/bans/:user_id',
    auth: 'any',
    permission: P.BAN_MEMBERS,
    bucket: WRITES,
    status: 204,
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
    handle: async ({ params, body, authority }, services) => {
      const guildId = params.guild_id;
      const userIds = body.user_ids;
      const reply = await services.guilds.call(guildId, 'banUsers', { userIds }, authority);
      if (!reply.ok) return reply;
      const { banned, failed } = reply.value;
      await purge(guildId, banned, body.delete_message_seconds ?? 0, authority, services);
      return { ok: true, body: { banned_users: banned, failed_users: failed } };
    },
  }),
});

/** The first messages, which are in at most `PURGE_CHANNELS` channels. */
function ofFewChannels<M extends { readonly channelId: string }>(messages: readonly M[]): readonly M[] {
  const channelIds = new Set<string>();
  const end = messages.findIndex(({ channelId }) => channelIds.add(channelId).size > PURGE_CHANNELS);
  return end < 0 ? messages : messages.slice(0, end);
}

/**
 * Deletes the messages that banned users wrote in the last `ageSec` seconds, newest first and at most
 * `LIMITS.ban_delete_messages_max` in total. It runs after the ban, so no new messages can appear. If the server crashes
 * between the two, the ban is kept and repeating the request deletes the rest.
 */
async function purge(
  guildId: GuildId,
  userIds: readonly UserId[],
  ageSec: number,
  authority: Authority,
  { guilds, read, nowMs }: Services,
): Promise<void> {
  if (ageSec === 0) return;
  const since = snowflakeAt(nowMs() - ageSec * 1000);
  let left: number = LIMITS.ban_delete_messages_max;
  for (const userId of userIds) {
    while (left > 0) {
      const page = await read.messages.authoredSince(guildId, userId, since, Math.min(left, PURGE_PAGE));
      if (page.length === 0) break;
      const messages = ofFewChannels(page);
      const reply = await guilds.call(guildId, 'purgeBanned', { userId, messages }, authority);
      // The ban was lifted meanwhile, or the caller lost the permission: keep the remaining messages.
      if (!reply.ok) return;
      left -= messages.length;
    }
  }
}
