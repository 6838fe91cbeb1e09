// Goal: what a session is shown of guilds' members follows its client's requests and stays bounded.
import { expect, it } from 'vitest';
import { memberListIn, withMemberList } from '../../../engine/session/memberlists.ts';
import type { ChannelId, GuildId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { MemberListRequest } from '../../../protocol/link.sessions.ts';
import { id } from '../../support/guild.ts';

const channels = [{ channelId: id<ChannelId>('30'), ranges: [[0, 99] as const] }];
const request = (guildId: string, more: Partial<MemberListRequest> = {}): MemberListRequest => ({
  ...{ guildId: id<GuildId>(guildId), channels: null, memberIds: null, atMs: 5 },
  ...more,
});

it('a part that a request leaves out stays as it was', () => {
  const { memberLists: first } = withMemberList([], request('1', { channels }));
  const { memberLists: second } = withMemberList(first, request('1', { memberIds: [id<UserId>('9')] }));
  expect(second).toMatchObject([{ guildId: '1', channels, memberIds: ['9'] }]);
  const { memberLists: third } = withMemberList(second, request('1', { channels: [] }));
  expect(third).toMatchObject([{ guildId: '1', channels: [], memberIds: ['9'] }]);
  expect(withMemberList(third, request('1', { memberIds: [] }))).toMatchObject({
    ...{ memberLists: [{ channels: [], memberIds: [] }], ended: [] },
  });
});

it('a request for nothing changes nothing for a session that is shown nothing', () => {
  const shown = [request('1', { channels, memberIds: [] })];
  expect(withMemberList(shown, request('2', { channels: [] })).memberLists).toBe(shown);
});

it('the guild that was named first is ended beyond the bound', () => {
  let shown: readonly MemberListRequest[] = [];
  const ended: MemberListRequest[] = [];
  for (let at = 0; at <= LIMITS.member_list_guilds_max; at += 1) {
    const next = withMemberList(shown, request(String(100 + at), { channels }));
    shown = next.memberLists;
    ended.push(...next.ended);
  }
  expect(shown).toHaveLength(LIMITS.member_list_guilds_max);
  expect(ended).toMatchObject([{ guildId: '100', channels: [], memberIds: [] }]);
  expect(memberListIn({ memberLists: shown }, id('100'))).toBeNull();
  expect(memberListIn({ memberLists: shown }, id('101'))).toMatchObject({ guildId: '101', channels });
});

it('requests of one moment are in order by their times, also after the guild was left out', () => {
  let shown: readonly MemberListRequest[] = [];
  const times: number[] = [];
  for (const next of [{ channels }, { channels: [] }, { channels }]) {
    shown = withMemberList(shown, request('1', next)).memberLists;
    times.push(shown.at(-1)?.atMs ?? 0);
  }
  expect(times).toEqual([...new Set(times)].sort((a, b) => a - b));
  expect(times).toHaveLength(3);
});
