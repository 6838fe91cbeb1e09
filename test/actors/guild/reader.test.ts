// Goal: what is read of a guild never takes the place of what a command has written since the read began.
import { expect, it } from 'vitest';
import { guildReads } from '../../../actors/guild/guild.reader.ts';
import { Window } from '../../../actors/runtime/cache.ts';
import type { Guild, Member } from '../../../engine/guild/guild.ts';
import type { UserId } from '../../../protocol/ids.ts';

it('does not bring back a member who was removed and evicted while all members are read', async () => {
  const members = new Window<UserId, Member | null>();
  const member = { user: { id: '7' as UserId }, roles: [] } as unknown as Member;
  const guild = { id: '1', members, memberCount: 1, roles: new Map() } as unknown as Guild;
  for (const rows of [
    'bans',
    'users',
    'invites',
    'messages',
    'joinRequests',
    'onboardingAnswers',
    'formerMembers',
    'threads',
    'copies',
    'presences',
  ])
    Object.assign(guild, { [rows]: new Map() });
  let answer = (_: Member[]): void => undefined;
  const stores = {
    guilds: {
      membersAfter: () =>
        new Promise<Member[]>((resolve) => {
          answer = resolve;
        }),
    },
  };
  const [read] = guildReads(guild, { everyoneUpTo: 10 }, stores as never);
  const reading = read?.fetch([]);
  // A command removes the member, its commit settles, and the entry is evicted.
  members.set(member.user.id, null);
  members.trim(0, 0, 0, () => false);
  answer([member]);
  await reading;
  expect(members.has(member.user.id)).toBe(false);
});
