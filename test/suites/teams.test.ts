// Goal: teams, their members and their applications are read as they were written, and a deleted person leaves them, on every database.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Team } from '../../engine/application/teams.ts';
import { newApplication } from '../../engine/user/application.ts';
import type { ApplicationId, TeamId, UserId } from '../../protocol/ids.ts';
import { commit, id } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const team: Omit<Team, 'members'> = { id: id('900'), name: 'Crew', icon: null, ownerId: id<UserId>('1') };
const member = (userId: string) => ({ userId: id<UserId>(userId), role: 'developer', state: 2 }) as const;

describe.each(databases())('teams, on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, '900', ...facts);
  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());

  test('are read with their members and applications until they are deleted', async () => {
    const { teams } = fresh.storage;
    await write({ type: 'teamWritten', team });
    expect(await teams.get(id('900'))).toEqual({ ...team, members: [] });
    await write(
      ...['4', '3', '5'].map(
        (userId) =>
          ({ type: 'teamMemberWritten', teamId: id<TeamId>('900'), member: member(userId) }) as const,
      ),
    );
    await write({ type: 'teamMemberRemoved', teamId: id('900'), userId: id('5') });
    const ofUser = async (userId: string) => (await teams.ofUser(id(userId), 9)).map((each) => each.id);
    expect(await Promise.all(['1', '3', '5'].map(ofUser))).toEqual([['900'], ['900'], []]);
    expect(await teams.list()).toEqual([{ ...team, members: [member('3'), member('4')] }]);
    const application = newApplication(id<ApplicationId>('70'), id<UserId>('70'), {
      ...{ name: 'Ship', ownerId: id<UserId>('1'), flags: 0, verifyKey: 'ab' },
    });
    const owned = { ...application, team_id: id<TeamId>('900') };
    await write({ type: 'applicationCreated', application: owned, signingKey: 'k', clientSecretHash: 'h' });
    expect(await teams.applications(id('900'))).toEqual([owned]);
    await write({ type: 'applicationUpdated', application: { ...owned, team_id: null } });
    expect(await teams.applications(id('900'))).toEqual([]);
    await write({ type: 'teamDeleted', teamId: id('900') });
    expect([await teams.get(id('900')), await teams.list()]).toEqual([null, []]);
  });
});
