// Goal: a member who gains access to a channel receives its active threads, and the counts of a thread stay right
// through joins, leaves and deletions.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { guildRules } from '../../../engine/guild/rules.ts';
import type { Dispatch } from '../../../engine/kernel/dispatch.ts';
import type { ChannelId, UserId } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  GUILD_ID,
  type GuildWithSessions,
  inRoom,
  OWNER_ID,
  overwrite,
  RecordingSession,
  role,
  user,
} from '../../support/guild.ts';
import { creation, messageEnv } from '../../support/messages.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled as ruledWith } from '../../support/ruled.ts';

const [ANN, BOB, CAT] = ['100000000000000010', '100000000000000011', '100000000000000012'] as const;
const [HIDDEN, OTHER] = ['50', '51'] as const;
const [SIGHT, MODERATORS] = ['60', '61'] as const;
const [PUBLIC, PRIVATE] = [11, 12];
const EVERYONE =
  P.SEND_MESSAGES | P.SEND_MESSAGES_IN_THREADS | P.CREATE_PUBLIC_THREADS | P.CREATE_PRIVATE_THREADS;

const ruled = (of: Guild, command: string, input: object, by: string) =>
  ruledWith(of, command, input, by, NOW_MS, messageEnv());
const plain = { primary_color: 0, secondary_color: null, tertiary_color: null };

let guild: GuildWithSessions;
/** Ann has the role that shows the hidden channel; everyone sees the other one. */
beforeEach(() => {
  guild = buildGuild({
    everyone: EVERYONE | P.VIEW_CHANNEL,
    roles: [role(SIGHT, 0n, 1), { ...role(MODERATORS, P.MANAGE_THREADS, 2), colors: plain }],
    members: [fullMember(ANN, [SIGHT]), fullMember(BOB), fullMember(CAT)],
    channels: [
      channel(HIDDEN, [
        overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL }),
        overwrite(SIGHT, 0, { allow: P.VIEW_CHANNEL }),
      ]),
      channel(OTHER),
    ],
    sessions: [ANN, BOB, CAT].map((id) => new RecordingSession(`s${id}`, id)),
  });
});

let named = 0;
function thread(channelId: string, type = PUBLIC, by: string = ANN): ChannelId {
  const draft = { name: `Talk ${named++}`, type };
  expect(ruled(guild, 'createThread', { channelId, draft }, by).code).toBeUndefined();
  return [...guild.threads.keys()].at(-1)!;
}

const member = (command: string, channelId: ChannelId, userId: string, by: string = ANN) =>
  ruled(guild, command, { channelId, userId }, by).code;

const syncs = (dispatches: readonly Dispatch[]) =>
  dispatches
    .filter(({ t }) => t === 'THREAD_LIST_SYNC')
    .map(({ d, to }) => {
      const {
        channel_ids: channels,
        threads,
        members,
      } = d as {
        channel_ids: string[];
        threads: { id: string }[];
        members: { id: string; user_id: string }[];
      };
      return {
        to,
        channels,
        threads: threads.map(({ id }) => id).sort(),
        members: members.map(({ id, user_id }) => [id, user_id]),
      };
    });
const grant = (userId: string, roleId: string) =>
  ruled(guild, 'addMemberRole', { userId, roleId }, OWNER_ID).dispatches;

describe('a member who gains sight of a channel', () => {
  it('is sent the active threads of a channel seen by a role, after the channel, and no threads of other channels', () => {
    const seen = [thread(HIDDEN), thread(HIDDEN)].sort();
    thread(OTHER);
    const dispatches = grant(BOB, SIGHT);
    const order = dispatches.map(({ t }) => t).filter((t) => /CHANNEL|THREAD/.test(t));
    expect(order).toEqual(['CHANNEL_CREATE', 'THREAD_LIST_SYNC']);
    const to = { kind: 'users', userIds: [BOB] };
    expect(syncs(dispatches)).toEqual([{ to, channels: [HIDDEN], threads: seen, members: [] }]);
  });

  it('receives a private thread only as its member or moderator, with only its own membership', () => {
    const secret = thread(HIDDEN, PRIVATE);
    expect(syncs(grant(BOB, SIGHT))).toEqual([]);
    expect(member('addThreadMember', secret, BOB)).toBeUndefined();
    ruled(guild, 'removeMemberRole', { userId: BOB, roleId: SIGHT }, OWNER_ID);
    expect(syncs(grant(BOB, SIGHT))).toMatchObject([{ threads: [secret], members: [[secret, BOB]] }]);
    grant(CAT, MODERATORS);
    expect(syncs(grant(CAT, SIGHT))).toMatchObject([{ threads: [secret], members: [] }]);
  });

  it('is sent them also after an overwrite, a change of a role or becoming the owner', () => {
    const seen = thread(HIDDEN);
    const allow = { id: BOB, type: 1, allow: String(P.VIEW_CHANNEL), deny: '0' };
    const opened = ruled(guild, 'setOverwrite', { channelId: HIDDEN, overwrite: allow }, OWNER_ID);
    expect(syncs(opened.dispatches)).toMatchObject([{ to: { userIds: [BOB] }, threads: [seen] }]);
    grant(CAT, MODERATORS);
    const change = { roleId: MODERATORS, draft: { permissions: String(P.ADMINISTRATOR) } };
    const raised = ruled(guild, 'updateRole', change, OWNER_ID);
    expect(syncs(raised.dispatches)).toMatchObject([{ to: { userIds: [CAT] }, threads: [seen] }]);
    ruled(guild, 'removeMemberRole', { userId: CAT, roleId: MODERATORS }, OWNER_ID);
    const info = { ...guild.info, owner_id: CAT as UserId };
    expect(syncs(guildRules.applyAndDispatch(guild, { type: 'guildUpdated', info }))).toMatchObject([
      { to: { userIds: [CAT] }, threads: [seen] },
    ]);
  });

  it('is sent no archived thread, and nothing about threads when access is lost', () => {
    const id = thread(HIDDEN);
    const archive = { channelId: id, draft: {}, threadChange: { archived: true } };
    expect(ruled(guild, 'updateChannel', archive, ANN).code).toBeUndefined();
    expect(syncs(grant(BOB, SIGHT))).toEqual([]);
    const lost = ruled(guild, 'removeMemberRole', { userId: ANN, roleId: SIGHT }, OWNER_ID);
    expect(lost.dispatches.map(({ t }) => t).filter((t) => t.startsWith('THREAD'))).toEqual([]);
  });
});

const lose = (userId: string) =>
  ruled(guild, 'removeMemberRole', { userId, roleId: SIGHT }, OWNER_ID).dispatches;
/** The users who are sent a dispatch of this name by itself. */
const sentTo = (dispatches: readonly Dispatch[], name: string) =>
  dispatches.flatMap(({ t, to }) => (t === name && to.kind === 'users' ? to.userIds : []));

describe('a thread that returns from the archive', () => {
  const back = (id: ChannelId) => {
    const change = (archived: boolean) => ({ channelId: id, draft: {}, threadChange: { archived } });
    expect(ruled(guild, 'updateChannel', change(true), OWNER_ID).code).toBeUndefined();
    return sentTo(ruled(guild, 'updateChannel', change(false), OWNER_ID).dispatches, 'THREAD_MEMBER_UPDATE');
  };

  it.each([
    ['public', PUBLIC],
    ['private', PRIVATE],
  ])('sends no membership of a %s one to a member who lost sight of its channel', (_, type) => {
    grant(BOB, SIGHT);
    const id = thread(HIDDEN, type);
    expect(member('addThreadMember', id, BOB)).toBeUndefined();
    expect(back(id)).toEqual([ANN, BOB]);
    lose(BOB);
    expect(back(id)).toEqual([ANN]);
  });

  it('sends no membership to a member without a session', () => {
    const id = thread(OTHER);
    expect(member('addThreadMember', id, BOB)).toBeUndefined();
    guild.audiences.delete(`s${BOB}`);
    expect(back(id)).toEqual([ANN]);
  });
});

describe('a private thread', () => {
  it('is deleted without notice to a member who lost sight of its channel', () => {
    grant(BOB, SIGHT);
    const id = thread(HIDDEN, PRIVATE);
    expect(member('addThreadMember', id, BOB)).toBeUndefined();
    lose(BOB);
    const { dispatches } = ruled(guild, 'deleteChannel', { channelId: id }, OWNER_ID);
    expect(sentTo(dispatches, 'THREAD_DELETE')).toEqual([ANN]);
  });

  const readers = (id: ChannelId) =>
    guild.audiences
      .recipients(
        guild,
        { t: 'MESSAGE_CREATE', d: { author: user('99'), mentions: [] }, to: inRoom(id) },
        NOW_MS,
      )
      .flatMap(({ to }) => to.map(({ userId }) => userId));

  it('is received by each member from joining until leaving or removal', () => {
    const id = thread(OTHER, PRIVATE);
    expect(readers(id)).toEqual([ANN]);
    expect(member('addThreadMember', id, BOB)).toBeUndefined();
    expect(readers(id)).toEqual([ANN, BOB]);
    expect(member('removeThreadMember', id, BOB)).toBeUndefined();
    expect(readers(id)).toEqual([ANN]);
    const mention = { ...creation({ content: `<@${CAT}>` }), channelId: id };
    expect(ruled(guild, 'createMessage', mention, ANN).code).toBeUndefined();
    expect(readers(id)).toEqual([ANN, CAT]);
    expect(ruled(guild, 'leaveThread', { channelId: id }, CAT).code).toBeUndefined();
    expect(readers(id)).toEqual([ANN]);
  });
});

it.each([
  ['public', PUBLIC],
  ['private', PRIVATE],
])(
  'a %s thread is sent, with the own membership, to each user who joins it, is added or mentioned',
  (_, type) => {
    const id = thread(OTHER, type);
    const joined = (command: string, input: object, by: string) =>
      ruled(guild, command, { ...input, channelId: id }, by)
        .dispatches.filter(({ t }) => t.startsWith('THREAD_'))
        .map(({ t, d, to }) => [t, to, (d as { member?: object }).member]);
    const toldOf = (userId: string) => [
      ['THREAD_CREATE', { kind: 'users', userIds: [userId] }, expect.objectContaining({ user_id: userId })],
      ['THREAD_MEMBERS_UPDATE', inRoom(id), undefined],
    ];
    expect(joined('joinThread', {}, CAT)).toEqual(toldOf(CAT));
    expect(joined('joinThread', {}, CAT)).toEqual([]);
    expect(joined('addThreadMember', { userId: BOB }, ANN)).toEqual(toldOf(BOB));
    ruled(guild, 'leaveThread', { channelId: id }, BOB);
    expect(joined('createMessage', creation({ content: `<@${BOB}>` }), ANN)).toEqual(toldOf(BOB));
  },
);

it('a mention adds no member to a thread of a channel that the member does not see', () => {
  const id = thread(HIDDEN);
  const mention = { ...creation({ content: `<@${BOB}>` }), channelId: id };
  expect(ruled(guild, 'createMessage', mention, ANN).code).toBeUndefined();
  expect([...guild.threads.get(id)!.members.keys()]).toEqual([ANN]);
  grant(BOB, SIGHT);
  expect(ruled(guild, 'createMessage', mention, ANN).code).toBeUndefined();
  expect([...guild.threads.get(id)!.members.keys()]).toEqual([ANN, BOB]);
});

describe('the counts of a thread', () => {
  const countsOf = (id: ChannelId) => {
    const { thread: it, members } = guild.threads.get(id)!;
    return { shown: it.member_count, members: members.size, messages: it.message_count };
  };
  const crowd = (count: number) =>
    Array.from({ length: count }, (_, n) => {
      const id = `${1_000 + n}`;
      guild.members.set(id as UserId, fullMember(id));
      return id;
    });

  it('stop at 50 members, and decrease again below', () => {
    const id = thread(OTHER, PRIVATE);
    const people = crowd(60);
    for (const one of people) expect(member('addThreadMember', id, one)).toBeUndefined();
    expect(countsOf(id)).toMatchObject({ shown: 50, members: 61 });
    for (const one of people.slice(0, 10)) member('removeThreadMember', id, one);
    expect(countsOf(id)).toMatchObject({ shown: 50, members: 51 });
    for (const one of people.slice(10, 20)) member('removeThreadMember', id, one);
    expect(countsOf(id)).toMatchObject({ shown: 41, members: 41 });
  });

  it('are at most 1,000 members, also after a mention or a message', () => {
    const id = thread(OTHER);
    const people = crowd(1_000);
    for (const one of people) ruled(guild, 'joinThread', { channelId: id }, one);
    expect(countsOf(id).members).toBe(1_000);
    expect(ruled(guild, 'joinThread', { channelId: id }, people[999]!).code).toBe(30_033);
    expect(member('addThreadMember', id, BOB)).toBe(30_033);
    const say = { ...creation({ content: `<@${BOB}>` }), channelId: id };
    expect(ruled(guild, 'createMessage', say, people[999]!).code).toBeUndefined();
    expect([countsOf(id).members, guild.threads.get(id)?.members.has(BOB as UserId)]).toEqual([1_000, false]);
  });

  it('are bounded over threads of all kinds, and the refusal has the code of the kind', () => {
    guild.channels.set('52' as ChannelId, channel('52', [], { type: 5 }));
    for (let made = 0; made < 1_000; made += 1) thread(OTHER, made % 2 ? PUBLIC : PRIVATE);
    const more = (channelId: string, type: number) =>
      ruled(guild, 'createThread', { channelId, draft: { name: 'More', type } }, ANN).code;
    expect([more(OTHER, PUBLIC), more(OTHER, PRIVATE), more('52', 10)]).toEqual([160_006, 160_006, 160_007]);
    const [first] = guild.threads.keys();
    expect(ruled(guild, 'deleteChannel', { channelId: first }, OWNER_ID).code).toBeUndefined();
    expect([more('52', 10), more(OTHER, PUBLIC)]).toEqual([undefined, 160_006]);
  });

  it('do not change when a member joins or leaves twice, or a stranger is removed', () => {
    const id = thread(OTHER);
    for (let twice = 0; twice < 2; twice += 1)
      expect(ruled(guild, 'joinThread', { channelId: id }, BOB).code).toBeUndefined();
    expect(countsOf(id).shown).toBe(2);
    for (let twice = 0; twice < 2; twice += 1)
      expect(ruled(guild, 'leaveThread', { channelId: id }, BOB).code).toBeUndefined();
    expect(member('removeThreadMember', id, CAT, OWNER_ID)).toBe(10_007);
    expect(countsOf(id)).toEqual({ shown: 1, members: 1, messages: 0 });
  });
});
