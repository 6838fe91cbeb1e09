// Goal: a guild's actor sends each session the rows that it requested and their changes: once, in order, durable, and within bounds.
import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import { describe, expect, it } from 'vitest';
import { GuildMemberLists } from '../../../actors/guild/guild.memberlists.ts';
import type { Work } from '../../../actors/runtime/resident.machine.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { TimerWheel } from '../../../actors/runtime/wheel.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import type { GuildFact } from '../../../engine/guild/facts.ts';
import type { Guild, Member } from '../../../engine/guild/guild.ts';
import type { MemberListUpdate, RowRange } from '../../../engine/guild/memberlist.changes.ts';
import type { ChannelId, RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import {
  buildGuild,
  channel,
  everyone,
  GUILD_ID,
  id,
  member,
  overwrite,
  RecordingSession,
  role,
} from '../../support/guild.ts';
import { heldRows } from '../../support/rowholder.ts';

const PEOPLE = ['20', '21', '22', '23'];
const named = (userId: string, more: Partial<Member> = {}) => member(userId, { nick: `n${userId}`, ...more });

/** A guild of 20 to 23, each with a session. Channel 32 is private to 20, 21 and role 10. */
function guildOfPeople() {
  const sessions = PEOPLE.map((userId) => new RecordingSession(`s${userId}`, userId));
  const rights = [
    overwrite(GUILD_ID, 0, { deny: P.VIEW_CHANNEL }),
    overwrite('10', 0, { allow: P.VIEW_CHANNEL }),
    ...['20', '21'].map((userId) => overwrite(userId, 1, { allow: P.VIEW_CHANNEL })),
  ];
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL,
    roles: [role('10', 0n, 1)],
    members: PEOPLE.map((userId) => named(userId)),
    channels: [channel('30'), channel('31'), channel('32', rights)],
    sessions,
  });
  const session = (userId: string) => {
    const found = sessions.find((each) => each.userId === userId);
    if (!found) throw new Error(`${userId} has no session.`);
    return found;
  };
  const received = (userId: string) => session(userId).received.map(({ t, d }) => ({ t, d: d ?? {} }));
  const updates = (userId: string) =>
    received(userId).flatMap(({ t, d }) => (t === 'GUILD_MEMBER_LIST_UPDATE' ? [d as MemberListUpdate] : []));
  return { guild, session, updates, rows: (userId: string) => heldRows(received(userId)) };
}

/** What happens in the guild. */
function happeningIn(guild: Guild, lists: GuildMemberLists) {
  /** Applies a fact that `change` has made of the guild. */
  const happen = (fact: unknown, change: () => void) => {
    change();
    lists.applied(guild, fact as GuildFact);
  };
  return {
    happen,
    present: (userId: string, status: string | null) =>
      happen({ type: 'presenceChanged', userId }, () => {
        const presence = { user: { id: userId }, status } as unknown as GatewayPresenceUpdate;
        if (status === null) guild.presences.delete(id(userId));
        else guild.presences.set(id(userId), presence);
      }),
    rewrite: (userId: string, more: Partial<Member>) =>
      happen({ type: 'memberUpdated', member: { user: { id: userId } } }, () => {
        guild.members.set(id(userId), named(userId, more));
        if (more.roles) guild.visibilityVersion += 1;
      }),
  };
}

type Ranges = Readonly<Record<string, readonly RowRange[]>>;

/** The lists of such a guild. Commits are durable at once unless they are held. */
function arrange({ membersMax = 1000 } = {}) {
  const { guild, session, ...seen } = guildOfPeople();
  const clock = new VirtualClock();
  const held: ((fault: Error | null) => void)[] = [];
  const steer = { hold: false };
  const sent: Work<Guild>[] = [];
  const needed: (readonly string[])[] = [];
  const run = (work: Work<Guild>) => {
    needed.push(work.needs?.(guild).members ?? []);
    work.run(guild);
  };
  const lists = new GuildMemberLists({
    ...{ audiences: guild.audiences, wheel: new TimerWheel(clock, 10), membersMax, nowMs: () => 0 },
    body: (t, d) => new DispatchBody(t, d, 0),
    commits: { after: (done) => (steer.hold ? held.push(done) : done(null)) },
    send: (work) => void sent.push(work),
  });
  let atMs = 0;
  const request = (channels: Ranges, memberIds: string[] = []) => ({
    guildId: GUILD_ID,
    channels: Object.entries(channels).map(([channelId, ranges]) => ({
      channelId: id<ChannelId>(channelId),
      ranges,
    })),
    memberIds: memberIds.map((each) => id<UserId>(each)),
    atMs: ++atMs,
  });
  const pass = (ms: number = LIMITS.member_list_update_ms + 20, each = run) => {
    clock.advance(ms);
    for (const work of sent.splice(0)) each(work);
  };
  const show = (userId: string, channels: Ranges, memberIds: string[] = []) =>
    run(lists.show(session(userId), request(channels, memberIds)));
  const world = { ...seen, ...happeningIn(guild, lists), guild, session };
  return { ...world, needed, clock, lists, request, pass, held, steer, sent, run, show };
}

const OFFLINE = ['offline 1', 'user offline'];
const all: RowRange[] = [[0, 99]];

describe('a session with ranges of a list', () => {
  it('is sent one update for two channels with the same list, and holds the rows of both requests', () => {
    const { show, present, pass, updates, rows, guild } = arrange();
    show('20', { 30: [[0, 1]], 31: [[2, 9]], 99: all });
    for (const userId of PEOPLE) present(userId, 'online');
    pass();
    expect(updates('20')).toHaveLength(2);
    expect(rows('20')).toEqual(['online 4', ...Array(4).fill('user online'), ...OFFLINE]);
    guild.channels.delete(id('30'));
    guild.visibilityVersion += 1;
    present('21', null);
    pass();
    expect(updates('20').at(-1)?.groups).toEqual([
      { id: 'online', count: 3 },
      { id: 'offline', count: 2 },
    ]);
  });

  it('is sent changes after another session with the same ranges has left', () => {
    const { show, present, pass, rows, updates } = arrange();
    show('20', { 30: all });
    show('21', { 30: all });
    show('20', {});
    present('22', 'online');
    pass();
    expect(rows('21').slice(0, 2)).toEqual(['online 1', 'user online']);
    expect(updates('20')).toHaveLength(1);
    show('21', { 31: all });
    show('22', { 31: all });
    present('22', 'dnd');
    pass();
    for (const userId of ['21', '22']) expect(rows(userId).slice(0, 2)).toEqual(['online 1', 'user dnd']);
  });

  it('is sent the current rows when other sessions have the same ranges', () => {
    const { show, present, pass, rows } = arrange();
    show('20', { 30: all });
    present('22', 'online');
    pass();
    show('21', { 31: all });
    expect(rows('21')).toEqual(rows('20'));
    expect(rows('21')[1]).toBe('user online');
  });

  it('is sent new counts when none of its rows changed', () => {
    const { show, present, pass, updates, happen, guild } = arrange();
    show('20', { 30: [[50, 60]] });
    present('22', 'online');
    pass();
    expect(updates('20')[1]).toMatchObject({ ops: [], online_count: 1, member_count: 5 });
    happen({ type: 'memberRemoved', user: { id: '23' } }, () => {
      guild.members.set(id('23'), null);
      guild.memberCount -= 1;
      guild.visibilityVersion += 1;
    });
    pass();
    expect(updates('20')[2]).toMatchObject({ ops: [], member_count: 4 });
    present('22', 'idle');
    pass();
    expect(updates('20')).toHaveLength(3);
  });

  it('is sent changed names and roles, without deleted roles', () => {
    const { show, rewrite, pass, updates, happen, guild, rows, present } = arrange();
    guild.roles.set(id<RoleId>('10'), { ...role('10', 0n, 1), hoist: true });
    for (const userId of ['20', '21']) present(userId, 'online');
    show('20', { 30: all });
    rewrite('21', { roles: ['10'] });
    pass();
    expect(rows('20').slice(0, 4)).toEqual(['10 1', 'user online', 'online 1', 'user online']);
    rewrite('20', { nick: 'other' });
    pass();
    expect(updates('20').at(-1)?.ops).toMatchObject([
      { op: 'UPDATE', index: 3, item: { member: { nick: 'other' } } },
    ]);
    happen({ type: 'roleDeleted', roleId: '10' }, () => {
      guild.roles.delete(id('10'));
      guild.members.set(id('21'), named('21'));
      guild.visibilityVersion += 1;
    });
    pass();
    expect(rows('20').slice(0, 3)).toEqual(['online 2', 'user online', 'user online']);
    expect(JSON.stringify(updates('20').at(-1)?.ops)).not.toContain('"roles":["10"]');
  });

  it('gets the list of those who see the channel when it becomes private, and nothing when it does not see it', () => {
    const { show, present, pass, updates, guild, happen } = arrange();
    for (const userId of PEOPLE) present(userId, 'online');
    for (const userId of ['20', '22']) show(userId, { 30: all, 32: all });
    expect(updates('20').map(({ online_count: count }) => count)).toEqual([4, 2]);
    expect(updates('22').map(({ online_count: count }) => count)).toEqual([4]);
    const before = updates('22').length;
    happen({ type: 'channelUpdated' }, () => {
      const rights = guild.channels.get(id('32'))?.permission_overwrites ?? [];
      guild.channels.set(id('30'), channel('30', [...rights, overwrite('23', 1, { allow: P.VIEW_CHANNEL })]));
      guild.visibilityVersion += 1;
    });
    pass();
    expect(updates('20').at(-1)).toMatchObject({
      online_count: 3,
      ops: [{ op: 'SYNC' }, { op: 'INVALIDATE' }],
    });
    present('21', null);
    pass();
    expect(updates('22')).toHaveLength(before);
  });
});

describe('an update of a member list', () => {
  it('is not sent after the user has lost access to the channel', () => {
    const { show, rewrite, present, pass, updates } = arrange();
    rewrite('23', { roles: ['10'] });
    for (const userId of PEOPLE) present(userId, 'online');
    show('23', { 32: all });
    expect(updates('23')).toMatchObject([{ online_count: 3 }]);
    rewrite('23', { roles: [] });
    pass();
    present('20', null);
    pass();
    expect(updates('23')).toHaveLength(1);
  });

  it('is not sent to a session that is not subscribed, which is sent no named presences either', () => {
    const { lists, run, request, guild } = arrange();
    const stranger = Object.assign(new RecordingSession('s24', '22'), { largeThreshold: 1 });
    run(lists.show(stranger, request({ 30: all }, ['20'])));
    const presence = { t: 'PRESENCE_UPDATE', d: { user: { id: '20' } }, to: everyone } as const;
    const reached = guild.audiences.recipients(guild, presence, 0).flatMap(({ to }) => to);
    expect([stranger.received.length, reached.includes(stranger)]).toEqual([0, false]);
  });

  it('is sent after the commit, and not after a fault or the end of the session', () => {
    const { show, steer, held, updates, guild, lists, run, session, request } = arrange();
    steer.hold = true;
    for (const userId of ['20', '21', '22']) show(userId, { 30: all });
    expect(updates('20')).toEqual([]);
    held[0]?.(null);
    held[1]?.(new Error('The commit failed.'));
    guild.audiences.delete('s22');
    held[2]?.(null);
    expect([updates('20').length, updates('21').length, updates('22').length]).toEqual([1, 0, 0]);
    steer.hold = false;
    run(lists.show(session('22'), request({ 30: all })));
    expect(updates('22')).toEqual([]);
  });

  it('answers the latest request when an earlier one arrives later or the session subscribes again', () => {
    const { lists, run, session, request, updates, sent } = arrange();
    const [earlier, later] = [request({ 30: [[0, 1]] }), request({ 30: [[0, 2]] })];
    run(lists.show(session('20'), later));
    run(lists.show(session('20'), earlier));
    lists.arrived(session('20'), earlier);
    for (const work of sent.splice(0)) run(work);
    const ranges = updates('20').map(({ ops: [first] }) => (first?.op === 'SYNC' ? first.range : null));
    expect(ranges).toEqual([
      [0, 2],
      [0, 2],
    ]);
    lists.arrived(session('21'), null);
    expect(sent).toEqual([]);
  });

  it('answers a request that is faster than the subscription of its session', () => {
    const { lists, run, request, sent, guild } = arrange();
    const early = Object.assign(new RecordingSession('s24', '22'), { largeThreshold: 1 });
    run(lists.show(early, request({ 30: all })));
    expect(early.received).toEqual([]);
    guild.audiences.add(early);
    lists.arrived(early, null);
    for (const work of sent.splice(0)) run(work);
    expect(early.received.map(({ t }) => t)).toContain('GUILD_MEMBER_LIST_UPDATE');
  });

  it('comes with the presence of a named member once, until the names change or the session subscribes again', () => {
    const { show, present, session, lists, sent, run } = arrange();
    present('22', 'online');
    const presences = () => session('20').received.filter(({ t }) => t === 'PRESENCE_UPDATE').length;
    show('20', { 30: [[0, 1]] }, ['22', '23']);
    show('20', { 30: [[0, 5]] }, ['22', '23']);
    expect(presences()).toBe(1);
    lists.arrived(session('20'), null);
    for (const work of sent.splice(0)) run(work);
    expect(presences()).toBe(2);
    show('20', {}, ['22']);
    expect(presences()).toBe(3);
  });

  it('is sent when the database answers again after members could not be read', () => {
    const { lists, request, pass, updates, session, present, guild } = arrange();
    const fail = (work: Work<Guild>) => work.fault(new Error('The database was lost.'));
    fail(lists.show(session('20'), request({ 30: all })));
    pass(LIMITS.member_list_update_ms + 20, fail);
    pass();
    expect(updates('20')).toHaveLength(1);
    present('21', 'online');
    pass(LIMITS.member_list_update_ms + 20, fail);
    expect(updates('20')).toHaveLength(1);
    pass();
    expect(updates('20').at(-1)?.online_count).toBe(guild.presences.size);
  });

  it('is not requested again once the actor has ended', () => {
    const { lists, clock, request, session, sent } = arrange();
    lists.show(session('20'), request({ 30: all })).fault(new Error('The guild was released.'));
    lists.end();
    clock.advance(10_000);
    expect(sent).toEqual([]);
  });

  it('is not sent after the actor has ended', () => {
    const { show, present, lists, clock, sent, updates } = arrange();
    show('20', { 30: all });
    present('22', 'online');
    lists.end();
    clock.advance(LIMITS.member_list_update_ms + 20);
    expect(sent).toEqual([]);
    expect(updates('20')).toHaveLength(1);
  });
});

describe('the lists of a guild', () => {
  it('need everyone when roles or channels changed, otherwise those who changed, and nobody when nothing did', () => {
    const { show, present, rewrite, pass, happen, guild, needed, sent, clock } = arrange();
    for (const userId of ['20', '21']) present(userId, 'online');
    show('20', { 30: all });
    present('22', 'online');
    pass();
    happen({ type: 'roleUpdated' }, () => {});
    pass();
    rewrite('23', { roles: ['10'] });
    pass();
    happen({ type: 'messageCreated' }, () => {});
    clock.advance(10_000);
    expect(sent).toEqual([]);
    show('21', { 31: all, 99: all });
    expect(needed).toEqual([['20', '21'], ['22'], ['20', '21', '22'], ['23'], []]);
    happen({ type: 'channelUpdated' }, () => {
      guild.visibilityVersion += 1;
    });
    pass();
    expect(needed.at(-1)).toEqual(['20', '21', '22']);
  });

  it('are kept when a session requests them again within 30 seconds', () => {
    const { show, present, pass, rows } = arrange();
    show('20', { 30: all });
    show('20', {});
    show('20', { 31: all });
    pass(LIMITS.member_list_kept_ms + 20);
    present('22', 'online');
    pass();
    expect(rows('20')[0]).toBe('online 1');
  });

  it('forget an object of a session that another one replaced', () => {
    const { show, lists, guild, run, request, updates, pass } = arrange({ membersMax: 4 });
    show('20', { 30: all });
    const again = new RecordingSession('s20', '20');
    guild.audiences.add(again);
    run(lists.show(again, request({ 31: all })));
    run(lists.show(again, request({})));
    expect([updates('20').length, again.received.length]).toEqual([1, 1]);
    pass(LIMITS.member_list_kept_ms + 20);
    run(lists.show(again, request({ 32: all })));
    expect(again.received).toHaveLength(2);
  });

  it('share one bound, and an unused list is removed after 30 seconds', () => {
    const { show, present, pass, updates } = arrange({ membersMax: 6 });
    for (const userId of ['20', '21']) present(userId, 'online');
    show('20', { 30: all, 32: all });
    expect(updates('20').map(({ id }) => id)).toEqual(['everyone']);
    show('20', {});
    show('20', { 32: all });
    expect(updates('20')).toHaveLength(1);
    pass(LIMITS.member_list_kept_ms + 20);
    show('20', { 32: all });
    expect(updates('20').map(({ online_count: count }) => count)).toEqual([2, 2]);
  });

  it('are updated for 30 seconds after the last session has left', () => {
    const { show, present, pass, rows } = arrange();
    show('20', { 30: all });
    show('20', {});
    present('22', 'online');
    pass();
    pass(LIMITS.member_list_kept_ms - 2 * LIMITS.member_list_update_ms);
    show('21', { 30: all });
    expect(rows('21').slice(0, 2)).toEqual(['online 1', 'user online']);
  });

  it('read a member again whose row changed and who was evicted meanwhile', () => {
    const { show, present, pass, rows, guild } = arrange();
    show('20', { 30: all });
    present('22', 'online');
    const evicted = guild.members.get(id<UserId>('22')) ?? null;
    guild.members.delete(id('22'));
    pass();
    expect(rows('20')[0]).toBe('offline 5');
    guild.members.set(id('22'), evicted);
    pass();
    expect(rows('20').slice(0, 2)).toEqual(['online 1', 'user online']);
  });
});
