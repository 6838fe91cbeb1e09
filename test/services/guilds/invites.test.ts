// Goal: an invite makes a user a member unless the user is in the most guilds that one may be in.
import { expect, it } from 'vitest';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { createInvites } from '../../../services/guilds/invites.ts';

const GUILD = '1' as GuildId;
const USER = '77' as UserId;

/** Accepts an invite of the guild for a user of these guilds. */
async function acceptIn(guildIds: readonly string[]) {
  const asked: string[] = [];
  const { accept } = createInvites({
    guilds: {
      call: async (_: GuildId, command: string) => {
        asked.push(command);
        return { ok: true, value: {} };
      },
    },
    storage: { directory: { inviteGuild: async () => GUILD }, users: { guildIds: async () => guildIds } },
  } as never);
  return { reply: await accept('code', USER), asked };
}

it('accepts for a user of one guild less than the limit, and for a member of the guild at the limit', async () => {
  const full = Array.from({ length: LIMITS.guilds_per_user_max }, (_, at) => String(100 + at));
  for (const guildIds of [full.slice(1), [GUILD, ...full.slice(1)]])
    expect(await acceptIn(guildIds)).toMatchObject({ reply: { ok: true }, asked: ['acceptInvite'] });
});

it('refuses a user at the limit before the guild is asked', async () => {
  const full = Array.from({ length: LIMITS.guilds_per_user_max }, (_, at) => String(100 + at));
  const { reply, asked } = await acceptIn(full);
  expect(reply).toMatchObject({ ok: false, refusal: { code: 30_001 } });
  expect(asked).toEqual([]);
});
