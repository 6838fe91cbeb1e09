import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import { type GuildId, snowflakeAt, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { MessageStore } from '../../storage/message/port.ts';

/** Messages read and deleted at a time. */
const PURGE_PAGE = 1_000;
/** The guild loads the archived threads among the channels, and keeps no more than 64 of them in memory. */
const PURGE_CHANNELS = 50;

interface BanPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly messages: Pick<MessageStore, 'authoredSince'>;
  readonly nowMs: () => number;
}

/** Bans that also delete what the banned users wrote in the last `deleteSec` seconds; 0 deletes nothing. */
export interface Bans {
  ban(guildId: GuildId, userId: UserId, deleteSec: number, authority: Authority): Promise<Reply<null>>;
  banEach(
    guildId: GuildId,
    userIds: readonly UserId[],
    deleteSec: number,
    authority: Authority,
  ): Promise<Reply<{ readonly banned: readonly UserId[]; readonly failed: readonly UserId[] }>>;
}

export function createBans({ guilds, messages, nowMs }: BanPorts): Bans {
  /**
   * Deletes messages newest first, at most `LIMITS.ban_delete_messages_max` in total. It runs after the ban, so no new
   * messages can appear. If the server crashes between the two, the ban is kept and repeating the request deletes the rest.
   */
  async function purge(
    guildId: GuildId,
    userIds: readonly UserId[],
    deleteSec: number,
    authority: Authority,
  ): Promise<void> {
    if (deleteSec === 0) return;
    const since = snowflakeAt(nowMs() - deleteSec * 1000);
    let left: number = LIMITS.ban_delete_messages_max;
    for (const userId of userIds) {
      while (left > 0) {
        const page = await messages.authoredSince(guildId, userId, since, Math.min(left, PURGE_PAGE));
        if (page.length === 0) break;
        const deleted = ofFewChannels(page);
        const reply = await guilds.call(guildId, 'purgeBanned', { userId, messages: deleted }, authority);
        // The ban was lifted meanwhile, or the caller lost the permission: keep the remaining messages.
        if (!reply.ok) return;
        left -= deleted.length;
      }
    }
  }

  return {
    async ban(guildId, userId, deleteSec, authority) {
      const reply = await guilds.call(guildId, 'banUser', { userId }, authority);
      if (reply.ok) await purge(guildId, [userId], deleteSec, authority);
      return reply;
    },
    async banEach(guildId, userIds, deleteSec, authority) {
      const reply = await guilds.call(guildId, 'banUsers', { userIds }, authority);
      if (reply.ok) await purge(guildId, reply.value.banned, deleteSec, authority);
      return reply;
    },
  };
}

/** The first messages, which are in at most `PURGE_CHANNELS` channels. */
function ofFewChannels<M extends { readonly channelId: string }>(messages: readonly M[]): readonly M[] {
  const channelIds = new Set<string>();
  const end = messages.findIndex(({ channelId }) => channelIds.add(channelId).size > PURGE_CHANNELS);
  return end < 0 ? messages : messages.slice(0, end);
}
