import type { Admin } from '../../embedding.ts';
import type { Team } from '../../engine/application/teams.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { nameObjection } from '../../engine/user/user.ts';
import { ApiError } from '../../protocol/apierror.ts';
import type { FreshId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Commit, Storage } from '../../storage/ports.ts';
import type { UpdateApplication } from '../applications/applications.ts';
import { type Teams, unknownTeam } from '../applications/teams.ts';

interface TeamAdminPorts {
  readonly storage: Pick<Storage, 'teams' | 'applications'>;
  readonly teams: Pick<Teams, 'change'>;
  readonly updateApplication: UpdateApplication;
  readonly nextId: () => FreshId;
  commit(ownerId: string, facts: Commit['facts']): Promise<void>;
  /** @throws ApiError when there is no such user. */
  readonly account: (userId: UserId) => Promise<APIUser>;
  readonly granted: <Value>(reply: Reply<Value>) => Value;
  readonly unknown: (kind: 'user' | 'application', id: string) => Error;
}

type TeamAdmin = Pick<Admin, 'createTeam' | 'changeTeam' | 'setApplicationOwner' | 'showTeam' | 'listTeams'>;

/** Teams of people who own applications together. The public interface has no operations for them. */
export function teamsOf(ports: TeamAdminPorts): TeamAdmin {
  const { storage, granted } = ports;

  /** @throws ApiError for a bot: it signs in nowhere, and owns nothing. */
  async function person(userId: UserId): Promise<void> {
    if ((await ports.account(userId)).bot) throw new ApiError(refusal('OWNERSHIP_CANNOT_GO_TO_BOT'));
  }
  async function exists(applicationId: Parameters<Admin['showApplication']>[0]): Promise<void> {
    if ((await storage.applications.get(applicationId)) === null)
      throw ports.unknown('application', applicationId);
  }

  return {
    async createTeam({ name, ownerId }) {
      const objection = nameObjection(name, 'name');
      if (objection) throw new ApiError(objection);
      await person(ownerId);
      const team = { id: ports.nextId(), name, icon: null, ownerId };
      await ports.commit(team.id, [{ type: 'teamWritten', team }]);
      return { ...team, members: [] };
    },

    async changeTeam(teamId, change) {
      if ('userId' in change && change.kind !== 'removeMember') await person(change.userId);
      if (change.kind === 'adopt') await exists(change.applicationId);
      return granted(await ports.teams.change(teamId, change));
    },

    async setApplicationOwner({ applicationId, ownerId }) {
      await exists(applicationId);
      await person(ownerId);
      return granted(await ports.updateApplication(applicationId, { team_id: null, owner_id: ownerId }));
    },

    async showTeam(teamId) {
      const team: Team | null = await storage.teams.get(teamId);
      if (!team) throw new ApiError(unknownTeam(teamId));
      return { team, applications: await storage.teams.applications(teamId) };
    },

    listTeams: () => storage.teams.list(),
  };
}
