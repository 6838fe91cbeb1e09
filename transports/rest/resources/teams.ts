import type { Team } from '../../../engine/application/teams.ts';
import { type Refusal, refusal } from '../../../protocol/refusal.ts';
import { Team as TeamObject } from '../../../protocol/schemas/application.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { teamBody } from '../accounts.ts';
import { op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

/** Most teams that a person is shown. */
const TEAMS_MAX = 100;

/**
 * A person's own part in teams, by the person's token. The platform's file has none of it; the operator makes teams and
 * invites people.
 */
export const teamsUnlisted = resource({
  /** @source https://docs.discord.food/resources/team#get-teams */
  get_my_teams: op({
    method: 'GET',
    path: '/teams',
    auth: 'user',
    bucket: { per: null, limit: 10, windowMs: 10_000 },
    status: 200,
    reply: list(TeamObject),
    async handle({ caller }, services) {
      const teams = await services.read.teams.ofUser(caller.userId, TEAMS_MAX);
      return { ok: true, value: await rendered(teams, services) };
    },
  }),

  accept_team_invitation: op({
    method: 'PUT',
    path: '/teams/:team_id/members/@me',
    auth: 'user',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    status: 200,
    reply: TeamObject,
    async handle({ params, caller }, services) {
      const { userId } = caller;
      const reply = await services.teams.change(params.team_id, { kind: 'accept', userId });
      if (!reply.ok) return unnamed(reply);
      const [body] = await rendered(reply.value === null ? [] : [reply.value], services);
      return { ok: true, value: body };
    },
  }),

  /** Refuses an invitation too. */
  leave_team: op({
    method: 'DELETE',
    path: '/teams/:team_id/members/@me',
    auth: 'user',
    bucket: { per: null, limit: 5, windowMs: 10_000 },
    status: 204,
    reply: none,
    async handle({ params, caller }, { teams }) {
      const reply = await teams.change(params.team_id, { kind: 'leave', userId: caller.userId });
      return reply.ok ? { ok: true } : unnamed(reply);
    },
  }),
});

/** One answer both for a team that does not exist and for a team without the caller. */
const unnamed = ({ refusal: no }: { readonly refusal: Refusal }): { ok: false; refusal: Refusal } => ({
  ok: false,
  refusal: no.status === 404 ? refusal('NOT_FOUND') : no,
});

async function rendered(teams: readonly Team[], { read }: Services): Promise<readonly object[]> {
  const people = teams.flatMap(({ ownerId, members }) => [ownerId, ...members.map(({ userId }) => userId)]);
  const users = await read.users.get([...new Set(people)]);
  return teams.map((team) => teamBody(team, (id) => users.find((user) => user.id === id) ?? null));
}
