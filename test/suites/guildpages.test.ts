// Goal: a guild's pages and its inactive members are read back as they were written, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JoinRequest } from '../../engine/guild/joinrequests.types.ts';
import type { GuildId, JoinRequestId, RoleId, UserId } from '../../protocol/ids.ts';
import { commit, GUILD, id, member, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const guildId = id<GuildId>(GUILD);

describe.each(databases())('pages of a guild on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.guilds;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, GUILD, ...facts);

  beforeAll(async () => {
    fresh = await openFresh(kind);
    await seed(fresh.storage.writer);
  });
  afterAll(() => fresh.close());

  test('are loaded with their guild, replaced and removed', async () => {
    const screen = { description: 'Hello', welcome_channels: [] };
    await write({ type: 'pageWritten', page: 'welcome_screen', data: { ...screen, description: 'first' } });
    await write({ type: 'pageWritten', page: 'welcome_screen', data: screen });
    expect((await store().load(guildId))?.pages).toEqual({ welcome_screen: screen });
    await write({ type: 'pageWritten', page: 'welcome_screen', data: null });
    expect((await store().load(guildId))?.pages).toEqual({});
  });

  test('inactive members are found by the times at which they joined and were last seen', async () => {
    const added = (userId: string, more: object = {}) =>
      ({ type: 'memberAdded', member: member(user(userId), more) }) as const;
    await write(
      added('11'),
      added('12', { roles: ['50'] }),
      added('13', { joined_at: '2026-02-01T00:00:00.000000+00:00' }),
      added('14'),
      added('15'),
    );
    await commit(fresh.storage.writer, '14', { type: 'userSeen', day: 20_500 });
    // The day on which a user was last seen never decreases.
    await commit(fresh.storage.writer, '14', { type: 'userSeen', day: 20_400 });
    await commit(fresh.storage.writer, '15', { type: 'userUpdated', user: { ...user('15'), bot: true } });
    const joinedBeforeMs = Date.UTC(2026, 0, 15);
    const inactive = (given: object, after: UserId | null = null, limit = 10) =>
      store().inactiveMembers(
        guildId,
        { beforeDay: 20_450, joinedBeforeMs, roleIds: [], ...given },
        after,
        limit,
      );
    expect(await inactive({})).toEqual(['10', '11']);
    expect(await inactive({ roleIds: [id<RoleId>('50')] })).toEqual(['10', '11', '12']);
    expect(await inactive({ beforeDay: 20_501 })).toEqual(['10', '11', '14']);
    expect(await inactive({ joinedBeforeMs: Date.UTC(2026, 1, 2) })).toEqual(['10', '11', '13']);
    expect(await inactive({}, id<UserId>('10'), 1)).toEqual(['11']);
  });

  test('join requests are listed by status, newest first, and found by id and by user', async () => {
    const request = (userId: string, requestId: string, status: JoinRequest['status'] = 'SUBMITTED') =>
      ({
        type: 'joinRequestWritten',
        request: {
          ...{
            id: id<JoinRequestId>(requestId),
            user: user(userId),
            status,
            created_at: '2026-01-01T00:00:00.000000+00:00',
          },
          ...{ reviewed_at: null, rejection_reason: null, form_responses: null, actioned_by_user: null },
        },
      }) as const;
    await write(request('11', '901'), request('12', '902', 'STARTED'), request('13', '903'));
    await write(request('14', '904'), request('15', '905', 'REJECTED'), request('11', '906'));
    const listed = async (more: object = {}) => {
      const filter = { statuses: ['SUBMITTED', 'REJECTED'] as const, limit: 2, ...more };
      const { total, requests } = await store().joinRequests(guildId, filter);
      return [total, requests.map((each) => each.id)];
    };
    expect(await listed()).toEqual([4, ['906', '905']]);
    expect(await listed({ before: '905' })).toEqual([4, ['904', '903']]);
    expect(await listed({ after: '903' })).toEqual([4, ['905', '904']]);
    expect(await listed({ statuses: ['STARTED'] })).toEqual([1, ['902']]);
    expect(await store().joinRequestUser(guildId, id('906'))).toBe('11');
    expect(await store().joinRequestUser(guildId, id('901'))).toBeNull();
    const found = await store().joinRequestsOf(guildId, [id<UserId>('12'), id<UserId>('99')]);
    expect(found).toEqual([request('12', '902', 'STARTED').request]);
    await write({ type: 'joinRequestDeleted', request: found[0]! });
    expect(await store().joinRequestUser(guildId, id('902'))).toBeNull();
  });

  test('members who have not passed the screening are listed', async () => {
    const changed = (userId: string, pending: boolean) =>
      ({ type: 'memberUpdated', member: member(user(userId), { pending }) }) as const;
    await write(changed('11', true), changed('12', true), changed('13', false), changed('14', true));
    expect(await store().pendingMembers(guildId, null, 2)).toEqual(['11', '12']);
    expect(await store().pendingMembers(guildId, id<UserId>('12'), 2)).toEqual(['14']);
  });

  test('answers to the onboarding are found until their member leaves', async () => {
    const answers = { chosen: ['7'], promptsSeen: { 5: 1 }, optionsSeen: { 7: 2 } };
    const written = (userId: string) =>
      ({ type: 'onboardingAnswered', userId: id<UserId>(userId), answers }) as const;
    await write(written('11'), written('12'));
    await write({ ...written('11'), answers: { ...answers, chosen: ['8', '9'] } });
    const both = [id<UserId>('11'), id<UserId>('12'), id<UserId>('13')];
    const found = () => store().onboardingAnswersOf(guildId, both);
    expect((await found()).map(({ userId, answers: { chosen } }) => [userId, chosen]).sort()).toEqual([
      ['11', ['8', '9']],
      ['12', ['7']],
    ]);
    await write({ type: 'memberRemoved', user: user('11') });
    expect(await found()).toEqual([{ userId: '12', answers }]);
  });

  test('a former member is found, with the end of a time-out, until the user joins again', async () => {
    const timedOutUntil = '2030-01-01T00:00:00.000Z';
    const ids = ['11', '12', '13'].map((text) => id<UserId>(text));
    const found = async () =>
      (await store().formerMembersOf(guildId, ids)).sort((a, b) => a.userId.localeCompare(b.userId));
    await write(
      { type: 'memberRemoved', user: user('11'), timedOutUntil },
      { type: 'memberRemoved', user: user('12') },
    );
    expect(await found()).toEqual([
      { userId: '11', timedOutUntil },
      { userId: '12', timedOutUntil: null },
    ]);
    await write({ type: 'memberAdded', member: member(user('11')) });
    expect(await found()).toEqual([{ userId: '12', timedOutUntil: null }]);
  });

  test('are deleted with the guild, and so is the code of its template', async () => {
    const codes = () => fresh.driver.query('SELECT * FROM template_directory');
    await write(
      { type: 'pageWritten', page: 'welcome_screen', data: { description: null, welcome_channels: [] } },
      { type: 'templateCodeTaken', code: 'abc' },
    );
    expect(await fresh.storage.directory.templateGuild('abc')).toBe(GUILD);
    await write({ type: 'templateCodeDropped', code: 'abc' }, { type: 'templateCodeTaken', code: 'abd' });
    expect(await fresh.storage.directory.templateGuild('abc')).toBeNull();
    await write({ type: 'guildDeleted', memberIds: [] });
    expect(await codes()).toEqual([]);
    expect(await fresh.driver.query('SELECT * FROM guild_pages')).toEqual([]);
    expect(await fresh.driver.query('SELECT * FROM join_requests')).toEqual([]);
    expect(await fresh.driver.query('SELECT * FROM onboarding_answers')).toEqual([]);
    expect(await fresh.driver.query('SELECT * FROM former_members')).toEqual([]);
  });

  test('a guild tag is queued for its users when it changes, for leavers, and when the guild is deleted', async () => {
    const { tags } = fresh.storage;
    const OTHER = '700000000000000002';
    const showing = (userId: string, guild: string) => ({
      ...user(userId),
      primary_guild: { identity_guild_id: guild, identity_enabled: true, tag: 'HALL', badge: null },
    });
    const tag = { tag: 'HALL', badge: null };
    for (const [userId, guild] of [
      ['11', GUILD],
      ['12', OTHER],
    ] as const)
      await commit(fresh.storage.writer, userId, { type: 'userUpdated', user: showing(userId, guild) });
    await write({ type: 'pageWritten', page: 'tag', data: tag });
    // The guild has outdated copies of a user who shows the tag and of one who does not.
    for (const userId of ['11', '12', '13']) await write({ type: 'memberRemoved', user: user(userId) });
    const queued = () => tags.updates(null, 9);
    const first = await queued();
    expect(first.map(({ guildId: of, userId }) => [of, userId])).toEqual([
      [GUILD, null],
      [GUILD, '11'],
    ]);
    expect([await tags.of(guildId), await tags.of(id<GuildId>(OTHER))]).toEqual([tag, null]);
    expect(await tags.users(guildId, null, 9)).toEqual(['11']);
    expect(await tags.updates(first[0]!.seq, 1)).toEqual([first[1]]);
    await write({ type: 'pageWritten', page: 'tag', data: { ...tag, tag: 'HUT' } });
    // Finishing the update for the earlier tag does not finish the update for the later one.
    await tags.drop(first[0]!);
    await tags.drop(first[1]!);
    const [again, ...rest] = await queued();
    expect([again?.userId, rest, again && BigInt(again.seq) > BigInt(first[0]!.seq)]).toEqual([
      null,
      [],
      true,
    ]);
    await tags.drop(again!);
    await write({ type: 'pageWritten', page: 'welcome_screen', data: null });
    expect(await queued()).toEqual([]);
    await commit(fresh.storage.writer, OTHER, { type: 'pageWritten', page: 'tag', data: tag });
    for (const one of await queued()) await tags.drop(one);
    await commit(fresh.storage.writer, OTHER, { type: 'guildDeleted', memberIds: [] });
    expect((await queued()).map(({ guildId: of }) => of)).toEqual([OTHER]);
  });
});
