import type { Guilds } from '../../actors/guild/guilds.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { GuildStore } from '../../storage/guild/port.ts';

const MEMBERS_PER_READ = 1_000;

interface DeletionPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly store: Pick<GuildStore, 'membersAfter'>;
}

/** Deletes a guild with its memberships, for its owner or the server. */
export type DeleteGuild = (guildId: GuildId, authority: Authority) => Promise<Reply<null>>;

export const createDeletion =
  ({ guilds, store }: DeletionPorts): DeleteGuild =>
  async (guildId, authority) => {
    const may = await guilds.call(guildId, 'authorizeDeletion', {}, authority);
    if (!may.ok) return may;
    const memberIds: UserId[] = [];
    for (let after: UserId | null = null; ; after = memberIds.at(-1) ?? null) {
      const page = await store.membersAfter(guildId, after, MEMBERS_PER_READ);
      memberIds.push(...page.map(({ user }) => user.id));
      if (page.length < MEMBERS_PER_READ) break;
    }
    return guilds.call(guildId, 'deleteGuild', { memberIds }, authority);
  };
