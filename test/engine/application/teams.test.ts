// Goal: a role in a team decides what its holder may do with the applications of the team, and a team always has one owner.
import { describe, expect, test } from 'vitest';
import {
  type ApplicationAction,
  changeTeam,
  mayOn,
  type Team,
  type TeamChange,
  type TeamMember,
} from '../../../engine/application/teams.ts';
import type { ApplicationId, FreshId, UserId } from '../../../protocol/ids.ts';

const [OWNER, ADMIN, DEVELOPER, READER, INVITED, STRANGER] = ['1', '2', '3', '4', '5', '6'] as UserId[];
const member = (userId: UserId, role: TeamMember['role'], state: 1 | 2 = 2): TeamMember => ({
  ...{ userId, role, state },
});
const team: Team = {
  ...{ id: '900' as FreshId, name: 'Crew', icon: null, ownerId: OWNER! },
  members: [
    member(ADMIN!, 'admin'),
    member(DEVELOPER!, 'developer'),
    member(READER!, 'read_only'),
    member(INVITED!, 'admin', 1),
  ],
};
const application = { owner_id: OWNER! };

const EVERYONE = [OWNER, ADMIN, DEVELOPER, READER] as const;
const WRITERS = [OWNER, ADMIN, DEVELOPER] as const;

describe('a role in a team', () => {
  test.each<[ApplicationAction, readonly (UserId | undefined)[]]>([
    ['view', EVERYONE],
    ['invite', EVERYONE],
    ['viewEntitlements', EVERYONE],
    ['update', WRITERS],
    ['attach', WRITERS],
    ['changeEntitlements', WRITERS],
  ])('allows %s to its holders only', (action, allowed) => {
    const all = [OWNER, ADMIN, DEVELOPER, READER, INVITED, STRANGER] as UserId[];
    expect(all.filter((userId) => mayOn(application, team, userId, action))).toEqual(allowed);
    expect(all.filter((userId) => mayOn(application, null, userId, action))).toEqual([OWNER]);
  });
});

function decided(change: TeamChange, from = team, ownsApplications = false) {
  const outcome = changeTeam(from, change, ownsApplications);
  return outcome.ok ? outcome : Object.values(outcome.refusal.errors ?? {}).length || outcome.refusal.status;
}

describe('a change of a team', () => {
  test('adds a person, and changes the role of a member', () => {
    const add = { kind: 'setMember', userId: STRANGER!, role: 'read_only', isInvited: true } as const;
    expect(decided(add)).toMatchObject({
      facts: [{ type: 'teamMemberWritten', teamId: '900', member: member(STRANGER!, 'read_only', 1) }],
    });
    const raise = { kind: 'setMember', userId: READER!, role: 'admin', isInvited: false } as const;
    const after = changeTeam(team, raise, false);
    if (!after.ok || !after.value) throw new Error('It is refused.');
    expect(mayOn(application, after.value, READER!, 'update')).toBe(true);
    expect(after.value.members).toHaveLength(team.members.length);
  });

  test('makes an accepted member the owner, and the earlier owner an admin', () => {
    const after = changeTeam(team, { kind: 'setOwner', userId: READER! }, false);
    if (!after.ok || !after.value) throw new Error('It is refused.');
    expect(after.value.ownerId).toBe(READER);
    expect(after.value.members.find(({ userId }) => userId === OWNER)).toEqual(member(OWNER!, 'admin'));
    expect(after.value.members.some(({ userId }) => userId === READER)).toBe(false);
    expect(after.facts.map(({ type }) => type)).toEqual([
      'teamWritten',
      'teamMemberRemoved',
      'teamMemberWritten',
    ]);
    expect(decided({ kind: 'setOwner', userId: OWNER! })).toMatchObject({ facts: [] });
  });

  test.each<[string, TeamChange, number]>([
    ['an owner from outside', { kind: 'setOwner', userId: '6' as UserId }, 1],
    ['an owner who has not accepted', { kind: 'setOwner', userId: '5' as UserId }, 1],
    ['a lesser role of the owner', { kind: 'setMember', userId: OWNER!, role: 'admin', isInvited: false }, 1],
    ['the removal of the owner', { kind: 'removeMember', userId: OWNER! }, 1],
    ['the removal of nobody', { kind: 'removeMember', userId: '6' as UserId }, 1],
    ['the end of a team with applications', { kind: 'delete' }, 409],
  ])('refuses %s', (_, change, expected) => {
    expect(decided(change, team, true)).toBe(expected);
  });

  test('refuses the 51st member', () => {
    const members = Array.from({ length: 50 }, (_, n) => member(String(100 + n) as UserId, 'developer'));
    const full = { ...team, members };
    const add = (userId: string) =>
      decided({ kind: 'setMember', userId: userId as UserId, role: 'admin', isInvited: false }, full);
    expect(add('500')).toBe(1);
    expect(add('100')).toMatchObject({ ok: true });
  });

  test('gives it an application without a fact of its own, and deletes it without applications', () => {
    expect(decided({ kind: 'adopt', applicationId: '7' as ApplicationId })).toMatchObject({ facts: [] });
    expect(decided({ kind: 'delete' })).toMatchObject({ value: null, facts: [{ type: 'teamDeleted' }] });
  });
});
