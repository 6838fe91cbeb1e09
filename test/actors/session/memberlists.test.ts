// Goal: a person's session keeps the member lists that its client requested, and passes on complete requests in their order.
import { expect, it } from 'vitest';
import { mayAsk, requestMemberList } from '../../../actors/session/requests.ts';
import type { GatewaySessionActor } from '../../../actors/session/session.shell.ts';
import type { ChannelId, GuildId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import type { MemberListRequest } from '../../../protocol/link.sessions.ts';
import { id } from '../../support/guild.ts';

const channels = [{ channelId: id<ChannelId>('30'), ranges: [[0, 99] as const] }];

it('the requests that end other guilds come before the new one, and all are in the journal', () => {
  const session = { memberLists: null as readonly MemberListRequest[] | null, nowMs: () => 5 };
  const recorded: unknown[] = [];
  const journal = { changed: () => recorded.push(session.memberLists) };
  const ask = (guildId: string, more: Partial<MemberListRequest>) =>
    requestMemberList(
      session as unknown as GatewaySessionActor,
      { guildId: id<GuildId>(guildId), channels: null, memberIds: null, atMs: 0, ...more },
      journal as never,
    );
  expect(ask('100', { memberIds: [] })).toEqual([]);
  for (let at = 0; at < LIMITS.member_list_guilds_max; at += 1)
    expect(ask(String(100 + at), { channels })).toMatchObject([
      { guildId: String(100 + at), channels, memberIds: [] },
    ]);
  expect(ask('200', { channels })).toMatchObject([
    { guildId: '100', channels: [], memberIds: [] },
    { guildId: '200', channels, memberIds: [] },
  ]);
  expect(recorded).toHaveLength(LIMITS.member_list_guilds_max + 1);
  expect(recorded.at(-1)).toBe(session.memberLists);
});

it('bots and applications may not request member lists', () => {
  const authorization = { expiresMs: 10, scopes: new Set(['guilds']) } as never;
  const may = (bot: boolean, by: typeof authorization | null) =>
    mayAsk('memberList', { bot, authorization: by }, 0);
  expect([may(false, null), may(true, null), may(false, authorization)]).toEqual([true, false, false]);
});
