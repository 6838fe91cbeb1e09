// Goal: the end of a user's last session ends the temporary memberships, each as the store has it, and a fault is reported.
import { expect, test } from 'vitest';
import { type Authority, SYSTEM } from '../../../engine/kernel/authority.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { temporaryMemberships } from '../../../services/guilds/temporary.ts';
import { until } from '../../support/instance.ts';

const USER = '77' as UserId;
const [FIRST, SECOND] = ['1', '2'] as GuildId[];

function arrange(failing: GuildId | null = null) {
  const asked: (readonly [string, string, object, Authority])[] = [];
  const faults: (readonly [unknown, string])[] = [];
  const call = async (guildId: GuildId, command: string, input: object, authority: Authority) => {
    asked.push([guildId, command, input, authority]);
    if (guildId === failing) throw new Error('The shard is gone.');
    return { ok: true, value: null };
  };
  const held = [
    { guildId: FIRST!, joinedAt: '2026-01-01T00:00:00.000000+00:00' },
    { guildId: SECOND!, joinedAt: '2026-02-02T00:00:00.000000+00:00' },
  ];
  const end = temporaryMemberships({
    guilds: { call } as never,
    storage: { users: { temporaryGuilds: async (userId) => (userId === USER ? held : []) } },
    onFault: (error, id) => faults.push([error, id]),
  });
  return { end, asked, faults };
}

test('each command names the membership that ends, so that a newer one stays', async () => {
  const { end, asked, faults } = arrange();
  end(USER);
  await until(() => asked.length === 2, 'both guilds');
  expect(asked).toEqual([
    [FIRST, 'endTemporaryMembership', { userId: USER, joinedAt: '2026-01-01T00:00:00.000000+00:00' }, SYSTEM],
    [
      SECOND,
      'endTemporaryMembership',
      { userId: USER, joinedAt: '2026-02-02T00:00:00.000000+00:00' },
      SYSTEM,
    ],
  ]);
  expect(faults).toEqual([]);
});

test('a fault is reported with the user, and not thrown', async () => {
  const { end, asked, faults } = arrange(FIRST);
  end(USER);
  await until(() => faults.length === 1, 'the report');
  expect(asked).toHaveLength(1);
  expect(faults[0]).toMatchObject([{ message: 'The shard is gone.' }, USER]);
});
