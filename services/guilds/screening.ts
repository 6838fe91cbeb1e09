import type { Guilds } from '../../actors/guild/guilds.ts';
import type { GuildCommands } from '../../engine/guild/rules.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { GuildStore } from '../../storage/guild/port.ts';

type Update = GuildCommands['updateMemberVerification'];

/** Pending members that one command admits or removes at most. */
const SETTLED_PAGE = 200;

interface ScreeningPorts {
  readonly guilds: Pick<Guilds, 'call'>;
  readonly store: Pick<GuildStore, 'pendingMembers'>;
}

/**
 * Changes the screening of a guild's new members. When it is switched off, all pending members are let in (`approve`) or
 * removed, page by page. If the server crashes between two pages, repeating the request settles the rest.
 */
export type UpdateScreening = (
  guildId: GuildId,
  input: Update['input'],
  approve: boolean,
  authority: Authority,
) => Promise<Reply<Update['value']>>;

export const createScreening =
  ({ guilds, store }: ScreeningPorts): UpdateScreening =>
  async (guildId, input, approve, authority) => {
    const reply = await guilds.call(guildId, 'updateMemberVerification', input, authority);
    if (!reply.ok || input.draft.enabled !== false) return reply;
    for (let after: UserId | null = null; ; ) {
      const userIds: UserId[] = await store.pendingMembers(guildId, after, SETTLED_PAGE);
      if (userIds.length === 0) return reply;
      const settled = await guilds.call(guildId, 'settleJoinRequests', { userIds, approve }, authority);
      if (!settled.ok) return settled;
      after = userIds.at(-1) ?? null;
    }
  };
