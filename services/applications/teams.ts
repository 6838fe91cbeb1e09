import type { Routing } from '../../actors/placement/routing.ts';
import { keyedMutex } from '../../actors/runtime/keyedmutex.ts';
import {
  type ApplicationAction,
  changeTeam,
  mayOn,
  type Team,
  type TeamChange,
} from '../../engine/application/teams.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Application } from '../../engine/user/facts.ts';
import type { TeamId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { TeamStore } from '../../storage/application/port.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import type { UpdateApplication } from './applications.ts';

interface TeamPorts {
  readonly storage: Pick<Storage, 'teams'>;
  commitAsOwner(ownerId: string, facts: Commit['facts']): Promise<void>;
  readonly routing: Routing;
  readonly updateApplication: UpdateApplication;
}

type Owned = Pick<Application, 'owner_id' | 'team_id'>;

export interface Teams {
  /** The team of an application; null for an application of one person. */
  of(application: Owned): Promise<Team | null>;
  may(application: Owned, userId: UserId, action: ApplicationAction): Promise<boolean>;
  /** Changes a team. The value is null when it was deleted. */
  change(teamId: TeamId, change: TeamChange): Promise<Reply<Team | null>>;
}

/** Reads teams for decisions about applications. */
export function teamRights({ teams }: { readonly teams: Pick<TeamStore, 'get'> }): Pick<Teams, 'of' | 'may'> {
  const teamOf: Teams['of'] = async ({ team_id: id }) => (id == null ? null : teams.get(id));
  return {
    of: teamOf,
    may: async (application, userId, action) => mayOn(application, await teamOf(application), userId, action),
  };
}

/**
 * Changes teams one after another, each on its owner shard. The applications of a team have its owner as theirs; they are
 * written after the team, and again when the call is repeated after a crash.
 */
export function createTeams({ storage, commitAsOwner, routing, updateApplication }: TeamPorts): Teams {
  const mutex = keyedMutex<string>();
  const change: Teams['change'] = (teamId, change) =>
    mutex(teamId, async () => {
      const team = await storage.teams.get(teamId);
      if (!team) return { ok: false, refusal: unknownTeam(teamId) };
      const applications = await storage.teams.applications(teamId);
      const outcome = changeTeam(team, change, applications.length > 0);
      if (!outcome.ok) return outcome;
      if (outcome.facts.length > 0) await commitAsOwner(teamId, outcome.facts);
      const ownerId = outcome.value?.ownerId ?? team.ownerId;
      const changed = change.kind === 'adopt' ? [change.applicationId] : [];
      if (change.kind === 'setOwner') changed.push(...applications.map(({ id }) => id));
      for (const id of changed) {
        const reply = await updateApplication(id, { team_id: teamId, owner_id: ownerId });
        if (!reply.ok) return reply;
      }
      return { ok: true, value: outcome.value };
    });
  return { ...teamRights(storage), change: routing.ask('teams.change', change) };
}

export const unknownTeam = (id: string) => ({
  ...refusal('NOT_FOUND'),
  message: `There is no team ${id}.`,
});
