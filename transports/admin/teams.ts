import { Type } from 'typebox';
import type { Team } from '../../engine/application/teams.ts';
import type { ApplicationId, UserId } from '../../protocol/ids.ts';
import { TEAM_ROLES } from '../../protocol/teams.ts';
import { type AdminRoute, closed, get, post, record, Snowflake } from './route.ts';

const Name = Type.String({ minLength: 1, maxLength: 100 });

const ROLE_OF_OWNER = 'owner';

/** A team as the operator sees it: its owner is the first of its members. */
const teamObject = ({ id, name, ownerId, members }: Team) => ({
  ...{ id, name, owner_id: ownerId },
  members: [
    { user_id: ownerId, role: ROLE_OF_OWNER, accepted: true },
    ...members.map(({ userId, role, state }) => ({ user_id: userId, role, accepted: state === 2 })),
  ],
});

const answerOf = (team: Team | null) =>
  team === null ? { status: 204 } : { status: 200, body: { team: teamObject(team) } };

/** Routes for teams of people who own applications together. */
export const teamRoutes: readonly AdminRoute[] = [
  get('/teams', async ({ admin }) => ({ teams: (await admin.listTeams()).map(teamObject) })),
  record('/teams/:id', async (admin, id) => {
    const { team, applications } = await admin.showTeam(id);
    return { team: teamObject(team), applications: applications.map(({ id, name }) => ({ id, name })) };
  }),
  post(
    '/teams',
    Type.Object({ name: Name, owner_id: Snowflake<UserId>() }, closed),
    async (admin, { name, owner_id }) => {
      const team = await admin.createTeam({ name, ownerId: owner_id });
      return { status: 201, body: { team: teamObject(team) } };
    },
  ),
  post(
    '/teams/:id/members',
    Type.Object(
      {
        user_id: Snowflake<UserId>(),
        role: Type.Union([Type.Enum([...TEAM_ROLES]), Type.Literal(ROLE_OF_OWNER)]),
        invited: Type.Optional(Type.Boolean()),
      },
      closed,
    ),
    async (admin, { user_id: userId, role, invited: isInvited = false }, id) =>
      answerOf(
        await admin.changeTeam(
          id,
          role === ROLE_OF_OWNER
            ? { kind: 'setOwner', userId }
            : { kind: 'setMember', userId, role, isInvited },
        ),
      ),
  ),
  post(
    '/teams/:id/members/remove',
    Type.Object({ user_id: Snowflake<UserId>() }, closed),
    async (admin, { user_id: userId }, id) =>
      answerOf(await admin.changeTeam(id, { kind: 'removeMember', userId })),
  ),
  post(
    '/teams/:id/applications',
    Type.Object({ application_id: Snowflake<ApplicationId>() }, closed),
    async (admin, { application_id: applicationId }, id) =>
      answerOf(await admin.changeTeam(id, { kind: 'adopt', applicationId })),
  ),
  post('/teams/:id/delete', Type.Object({}, closed), async (admin, _, id) =>
    answerOf(await admin.changeTeam(id, { kind: 'delete' })),
  ),
  post(
    '/applications/:id/owner',
    Type.Object({ user_id: Snowflake<UserId>() }, closed),
    async (admin, { user_id }, id) => {
      const application = await admin.setApplicationOwner({ applicationId: id, ownerId: user_id });
      return { status: 200, body: { application } };
    },
  ),
];
