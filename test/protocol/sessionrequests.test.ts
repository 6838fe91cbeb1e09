// Goal: requests of clients are read as their opcodes carry them, within their bounds.
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../protocol/limits.ts';
import { SESSION_REQUESTS } from '../../protocol/sessionrequests.ts';

const { GUILD_SUBSCRIPTIONS: one, GUILD_SUBSCRIPTIONS_BULK: bulk } = SESSION_REQUESTS.memberList.opcodes;
const GUILD = '1390000000000000001';

describe('a subscription of a client to member lists', () => {
  it('has the ranges of channels and the members that it names, and leaves out what it does not name', () => {
    expect(one?.inputsOf({ guild_id: GUILD, typing: true, channels: { 30: [[0, 99]] } })).toEqual([
      { guildId: GUILD, channels: [{ channelId: '30', ranges: [[0, 99]] }], memberIds: null, atMs: 0 },
    ]);
    expect(bulk?.inputsOf({ subscriptions: { [GUILD]: { members: ['5', 5] }, other: {} } })).toEqual([
      { guildId: GUILD, channels: null, memberIds: ['5'], atMs: 0 },
    ]);
  });

  it('is cut to five channels with five ranges each, and a hundred members', () => {
    const ranges = Array.from({ length: 9 }, (_, at) => [at, at]);
    const channels = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [String(30 + at), ranges]));
    const members = Array.from({ length: 200 }, (_, at) => String(100 + at));
    const [request] = one?.inputsOf({ guild_id: GUILD, channels, members }) ?? [];
    expect(request?.channels).toHaveLength(LIMITS.member_list_channels_max);
    expect(request?.channels?.map((each) => each.ranges.length)).toEqual(Array(5).fill(5));
    expect(request?.memberIds).toHaveLength(LIMITS.member_list_named_max);
  });

  it.each([
    [{}],
    [{ guild_id: GUILD, channels: [] }],
    [{ guild_id: GUILD, channels: { 30: [[0]] } }],
    [{ guild_id: GUILD, channels: { 30: [[0, 1.5]] } }],
    [{ guild_id: GUILD, members: [{}] }],
    [null],
  ])('is invalid as %j', (d) => {
    expect(one?.inputsOf(d)).toBeNull();
  });
});
