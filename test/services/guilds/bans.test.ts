// Goal: a ban deletes the messages of the users that it banned, and none that the author may no longer delete.
import { expect, it } from 'vitest';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import type { ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { refusal } from '../../../protocol/refusal.ts';
import { createBans } from '../../../services/guilds/bans.ts';

const GUILD = '1' as GuildId;
const USERS = ['77', '78'] as UserId[];

/** Two users with one message each; `no` refuses to delete. */
function arrange(no: ReturnType<typeof refusal> | null) {
  const purged: UserId[] = [];
  const left = new Set(USERS);
  const call = async (_: GuildId, command: string, { userId }: { userId: UserId }) => {
    if (command === 'banUsers') return { ok: true, value: { banned: USERS, failed: [] } };
    purged.push(userId);
    if (no) return { ok: false, refusal: no };
    left.delete(userId);
    return { ok: true, value: null };
  };
  const messages = {
    authoredSince: async (_: GuildId, userId: UserId) =>
      left.has(userId) ? [{ id: '9', channelId: '8' as ChannelId }] : [],
  };
  const bans = createBans({ guilds: { call }, messages, nowMs: () => 0 } as never);
  return { purged, ban: () => bans.banEach(GUILD, USERS, 60, SYSTEM) };
}

it('deletes the messages of each user', async () => {
  const { purged, ban } = arrange(null);
  await ban();
  expect(purged).toEqual(USERS);
});

it('deletes no further user’s messages once a deletion was refused, and reports the bans', async () => {
  const { purged, ban } = arrange(refusal('MISSING_PERMISSIONS'));
  expect(await ban()).toMatchObject({ ok: true, value: { banned: USERS } });
  expect(purged).toEqual(USERS.slice(0, 1));
});
