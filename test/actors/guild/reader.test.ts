// Goal: what is read of a guild never takes the place of what a command has written since the read began.
import { expect, it } from 'vitest';
import { guildReads } from '../../../actors/guild/guild.reader.ts';
import { oldestFirst, Window, Windows } from '../../../actors/runtime/cache.ts';
import type { Guild, Member } from '../../../engine/guild/guild.ts';
import type { UserId } from '../../../protocol/ids.ts';

const memberOf = (userId: string) => ({ user: { id: userId as UserId }, roles: [] }) as unknown as Member;

/** A guild of which no rows are loaded. */
function unread(memberCount: number) {
  const members = new Window<UserId, Member | null>();
  const guild = { id: '1', members, memberCount, roles: new Map() } as unknown as Guild;
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
  return { guild, members };
}

it.each([
  ['all members are read', { everyoneUpTo: 10 }],
  ['that member is read', { members: ['7'] }],
])('does not bring back a member who was removed while %s', async (_what, needs) => {
  const { guild, members } = unread(1);
  const member = memberOf('7');
  let answer = (_: Member[]): void => undefined;
  const rows = () =>
    new Promise<Member[]>((resolve) => {
      answer = resolve;
    });
  const stores = { guilds: { membersAfter: rows, members: rows } };
  const windows = new Windows();
  windows.add(members, oldestFirst(0));
  const reading = windows.read(guildReads(guild, needs as never, stores as never));
  // Another read has brought the member. A command removes it, its commit settles, and the window has room for none.
  windows.number(1);
  members.set(member.user.id, null);
  windows.number(0);
  windows.trim(1);
  answer([member]);
  await reading;
  expect(members.get(member.user.id)).toBeNull();
  windows.trim(1);
  expect(members.size).toBe(0);
});

it('reads all members as long as one of them is unknown, and keeps them', async () => {
  const { guild, members } = unread(3);
  const all = ['7', '8', '9'].map(memberOf);
  const stores = { guilds: { membersAfter: async () => all } };
  const reads = () => [...guildReads(guild, { everyoneUpTo: 10 }, stores as never)];
  for (const member of all.slice(1)) members.set(member.user.id, member);
  // A user who is known not to be a member does not count.
  members.set('10' as UserId, null);
  const [read] = reads();
  await read?.fetch([]);
  expect(all.map(({ user }) => members.get(user.id))).toEqual(all);
  expect(reads()).toEqual([]);
});

it.each([
  ['reads all members of a guild that has as many as are asked for', 3, 1],
  ['reads no list of members of a guild that has more', 4, 0],
])('%s', (_, memberCount, reads) => {
  const { guild } = unread(memberCount);
  const stores = { guilds: { membersAfter: async () => [] } };
  expect([...guildReads(guild, { everyoneUpTo: 3 }, stores as never)]).toHaveLength(reads);
});
