import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import type { GuildStore } from '../../storage/guild/port.ts';

const DAY_MS = 86_400_000;
/** Members that one command examines or removes at most, which bounds the guild's turn and the transaction. */
const PAGE = 500;

interface PrunePorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly store: Pick<GuildStore, 'inactiveMembers'>;
  readonly nowMs: () => number;
}

/** Inactive for `days` days. `roleIds`: roles that do not protect a member. */
interface Inactive {
  readonly days: number;
  readonly roleIds: readonly RoleId[];
}

export interface Prune {
  /** How many members a prune would remove now. */
  count(guildId: GuildId, inactive: Inactive, authority: Authority): Promise<Reply<number>>;
  /**
   * Removes inactive members and returns how many. If the server crashes between two pages, those removed stay removed,
   * and repeating the request removes the rest.
   */
  remove(guildId: GuildId, inactive: Inactive, authority: Authority): Promise<Reply<number>>;
}

/** Shows inactive members to the guild, page by page; the guild counts or removes them. */
export function createPrune({ guilds, store, nowMs }: PrunePorts): Prune {
  async function sweep(
    guildId: GuildId,
    { days, roleIds }: Inactive,
    authority: Authority,
    command: 'countPrunable' | 'pruneMembers',
  ): Promise<Reply<number>> {
    const may = await guilds.call(guildId, 'authorizePrune', {}, authority);
    if (!may.ok) return may;
    const since = nowMs() - days * DAY_MS;
    const inactivity = { beforeDay: Math.floor(since / DAY_MS), joinedBeforeMs: since, roleIds };
    let total = 0;
    for (let after: UserId | null = null; ; ) {
      const userIds: UserId[] = await store.inactiveMembers(guildId, inactivity, after, PAGE);
      const isLast = userIds.length < PAGE;
      const input = { userIds, includeRoles: roleIds, log: isLast ? { days, removedBefore: total } : null };
      const reply = await guilds.call(guildId, command, input, authority);
      if (!reply.ok) {
        // The author lost the permission or left: members who were removed before are in the log all the same.
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

  return {
    count: (guildId, inactive, authority) => sweep(guildId, inactive, authority, 'countPrunable'),
    remove: (guildId, inactive, authority) => sweep(guildId, inactive, authority, 'pruneMembers'),
  };
}
