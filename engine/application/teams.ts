import type { ApplicationId, TeamId, UserId } from '../../protocol/ids.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import { TEAM_ROLES, type TeamRole } from '../../protocol/teams.ts';
import type { FactOf, Outcome } from '../kernel/aggregate.ts';
import type { Application } from '../user/facts.ts';

/** @source https://docs.discord.com/developers/topics/teams#data-models-membership-state-enum */
const MEMBERSHIP = { INVITED: 1, ACCEPTED: 2 } as const;

export interface TeamMember {
  readonly userId: UserId;
  readonly role: TeamRole;
  /** An invited person has no part in the team's applications yet. */
  readonly state: 1 | 2;
}

/** People who own applications together. */
export interface Team {
  readonly id: TeamId;
  readonly name: string;
  readonly icon: string | null;
  readonly ownerId: UserId;
  /** Without the owner. */
  readonly members: readonly TeamMember[];
}

export type TeamFacts = {
  teamWritten: { readonly team: Omit<Team, 'members'> };
  teamMemberWritten: { readonly teamId: TeamId; readonly member: TeamMember };
  teamMemberRemoved: { readonly teamId: TeamId; readonly userId: UserId };
  teamDeleted: { readonly teamId: TeamId };
};
export type TeamFact = FactOf<TeamFacts>;

/** Most members of a team beside its owner. Our bound. */
const MEMBERS_MAX = 50;

/**
 * Actions on the application of a team over the public interface, and the least role that may.
 *
 * @source https://docs.discord.com/developers/topics/teams#team-member-roles
 */
const LEAST_ROLE = {
  /** Reads the application. */
  view: 'read_only',
  /** Adds its private bot to a guild. */
  invite: 'read_only',
  /** Reads what people have of it. */
  viewEntitlements: 'read_only',
  /** Changes its settings, such as the interactions endpoint. */
  update: 'developer',
  /** Stores files of its activities. */
  attach: 'developer',
  /** Makes, consumes and deletes entitlements. */
  changeEntitlements: 'developer',
  /** Adds, renames, publishes and withdraws what it sells. */
  changeSkus: 'developer',
} as const satisfies Record<string, TeamRole>;
export type ApplicationAction = keyof typeof LEAST_ROLE;

const isMember = (team: Team, userId: UserId): boolean =>
  team.ownerId === userId || team.members.some((member) => member.userId === userId);

/** Whether a person may do this with the application. `team` is the one it belongs to; null for an application of one person. */
export function mayOn(
  application: Pick<Application, 'owner_id'>,
  team: Team | null,
  userId: UserId,
  action: ApplicationAction,
): boolean {
  if (team === null) return application.owner_id === userId;
  if (team.ownerId === userId) return true;
  const member = team.members.find((each) => each.userId === userId && each.state === MEMBERSHIP.ACCEPTED);
  return member !== undefined && TEAM_ROLES.indexOf(member.role) >= TEAM_ROLES.indexOf(LEAST_ROLE[action]);
}

/** A change of a team by the operator; `accept` and `leave` also by the person that they name. */
export type TeamChange =
  /** Adds a person, or changes the role of a member. */
  | {
      readonly kind: 'setMember';
      readonly userId: UserId;
      readonly role: TeamRole;
      readonly isInvited: boolean;
    }
  | { readonly kind: 'removeMember'; readonly userId: UserId }
  /** The invited person accepts. */
  | { readonly kind: 'accept'; readonly userId: UserId }
  /** The invited person refuses, or a member leaves. */
  | { readonly kind: 'leave'; readonly userId: UserId }
  /** Makes a member the owner; the earlier owner stays as an admin. */
  | { readonly kind: 'setOwner'; readonly userId: UserId }
  | { readonly kind: 'delete' }
  /** Gives an application to the team. */
  | { readonly kind: 'adopt'; readonly applicationId: ApplicationId };

const noMember = () =>
  invalidField(['user_id'], 'TEAM_MEMBER_UNKNOWN', 'This person is no member of the team.');

/** Decides a change. `ownsApplications`: whether applications belong to the team. */
export function changeTeam(
  team: Team,
  change: TeamChange,
  ownsApplications: boolean,
): Outcome<Team | null, TeamFact> {
  const accepted = (next: Team | null, facts: readonly TeamFact[]) =>
    ({ ok: true, value: next, facts }) as const;
  if (change.kind === 'adopt') return accepted(team, []);
  if (change.kind === 'delete') {
    if (ownsApplications) return { ok: false, refusal: stillOwns() };
    return accepted(null, [{ type: 'teamDeleted', teamId: team.id }]);
  }
  const { userId } = change;
  const others = team.members.filter((member) => member.userId !== userId);
  if (change.kind === 'setOwner') return newOwner(team, userId);
  // A person without a part in the team does not learn that the team exists.
  const isOwn = change.kind === 'accept' || change.kind === 'leave';
  if (isOwn && !isMember(team, userId)) return { ok: false, refusal: refusal('NOT_FOUND') };
  if (change.kind === 'accept') return acceptInvitation(team, userId);
  if (team.ownerId === userId) return { ok: false, refusal: ownsTheTeam() };
  if (change.kind === 'removeMember' || change.kind === 'leave') {
    if (!isMember(team, userId)) return { ok: false, refusal: noMember() };
    return accepted({ ...team, members: others }, [{ type: 'teamMemberRemoved', teamId: team.id, userId }]);
  }
  if (others.length >= MEMBERS_MAX) return { ok: false, refusal: tooMany() };
  const state = change.isInvited ? MEMBERSHIP.INVITED : MEMBERSHIP.ACCEPTED;
  const member: TeamMember = { userId, role: change.role, state };
  return accepted({ ...team, members: [...others, member] }, [
    { type: 'teamMemberWritten', teamId: team.id, member },
  ]);
}

function acceptInvitation(team: Team, userId: UserId): Outcome<Team, TeamFact> {
  const invited = team.members.find((member) => member.userId === userId);
  // The owner and accepted members ask again without effect.
  if (invited?.state !== MEMBERSHIP.INVITED) return { ok: true, value: team, facts: [] };
  const member: TeamMember = { ...invited, state: MEMBERSHIP.ACCEPTED };
  const members = team.members.map((each) => (each === invited ? member : each));
  const facts: TeamFact[] = [{ type: 'teamMemberWritten', teamId: team.id, member }];
  return { ok: true, value: { ...team, members }, facts };
}

function newOwner(team: Team, userId: UserId): Outcome<Team | null, TeamFact> {
  if (team.ownerId === userId) return { ok: true, value: team, facts: [] };
  const heir = team.members.find((member) => member.userId === userId);
  if (heir?.state !== MEMBERSHIP.ACCEPTED) return { ok: false, refusal: noMember() };
  const before: TeamMember = { userId: team.ownerId, role: 'admin', state: MEMBERSHIP.ACCEPTED };
  const members = [...team.members.filter((member) => member !== heir), before];
  const { members: _, ...rest } = team;
  const facts: TeamFact[] = [
    { type: 'teamWritten', team: { ...rest, ownerId: userId } },
    { type: 'teamMemberRemoved', teamId: team.id, userId },
    { type: 'teamMemberWritten', teamId: team.id, member: before },
  ];
  return { ok: true, value: { ...team, ownerId: userId, members }, facts };
}

const stillOwns = () => ({
  ...refusal('CONFLICT'),
  message: 'The team has applications: give them to somebody else first.',
});
const ownsTheTeam = () =>
  invalidField(['user_id'], 'TEAM_OWNER', 'This person owns the team: make another member its owner first.');
const tooMany = () =>
  invalidField(
    ['user_id'],
    'TEAM_MEMBERS_MAX',
    `A team has at most ${MEMBERS_MAX} members beside its owner.`,
  );
