// Goal: a prune removes inactive members below the caller and no others, and is logged once with its total.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import { prune } from '../../../engine/guild/prune.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, member, RecordingSession, role, user } from '../../support/guild.ts';
import { caller, fullMember, runner } from '../../support/people.ts';

const run = runner(prune);

/** 2 owner, 10 moderator, 11 above the moderator, 12 plain, 13 with a small role, 14 is a bot, 15 is here. */
function arrange(features: readonly string[] = []): Guild {
  const guild = buildGuild({
    roles: [role('100', P.KICK_MEMBERS | P.MANAGE_GUILD, 5), role('101', 0n, 9), role('102', 0n, 1)],
    members: [
      ...[fullMember('10', ['100']), fullMember('11', ['101']), fullMember('12'), fullMember('13', ['102'])],
      member('14', { user: user('14', true) }),
      fullMember('15'),
    ],
    sessions: [new RecordingSession('s15', '15')],
  });
  guild.info = { ...guild.info, features };
  return guild;
}

const EVERYBODY = ['2', '10', '11', '12', '13', '14', '15', '77'];
const counted = (guild: Guild, includeRoles: readonly string[], by = caller('10')) =>
  run<{ count: number }>(guild, 'countPrunable', { userIds: EVERYBODY, includeRoles }, by).outcome;

describe('a prune', () => {
  it('counts inactive members without roles, and members with only the included roles', () => {
    expect(counted(arrange(), [])).toMatchObject({ value: { count: 1 } });
    expect(counted(arrange(), ['102'])).toMatchObject({ value: { count: 2 } });
    // A member at or above the caller stays, whatever is included.
    expect(counted(arrange(), ['100', '101', '102'])).toMatchObject({ value: { count: 2 } });
    expect(counted(arrange(), ['100', '101', '102'], caller('2'))).toMatchObject({ value: { count: 4 } });
  });

  it('removes what it counts, and logs the days and the total with the last page', () => {
    const guild = arrange();
    const input = { userIds: EVERYBODY, includeRoles: ['102'] };
    const first = run(guild, 'pruneMembers', { ...input, log: null }, caller('10'));
    expect(first.types).toEqual(['memberRemoved', 'memberRemoved']);
    const last = run(
      arrange(),
      'pruneMembers',
      { ...input, log: { days: 7, removedBefore: 3 } },
      caller('10'),
    );
    expect(last.facts.at(-1)).toMatchObject({
      entry: { action_type: 21, target_id: null, options: { delete_member_days: '7', members_removed: '5' } },
    });
  });

  it('is not logged when it removes no member', () => {
    const log = { days: 7, removedBefore: 0 };
    expect(
      run(arrange(), 'pruneMembers', { userIds: [], includeRoles: [], log }, caller('10')).types,
    ).toEqual([]);
  });

  it('requires an administrator if the guild requires one', () => {
    const guild = arrange(['PRUNE_REQUIRES_ADMIN']);
    expect(run(guild, 'authorizePrune', {}, caller('10')).code).toBe(50013);
    const input = { userIds: ['12'], includeRoles: [], log: null };
    expect(run(guild, 'pruneMembers', input, caller('10')).code).toBe(50013);
    expect(run(guild, 'authorizePrune', {}, caller('2')).code).toBeUndefined();
  });
});
