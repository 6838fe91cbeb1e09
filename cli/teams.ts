import type { Command } from 'commander';
import { isRecord } from '../protocol/json.ts';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import type { World } from './world.ts';

type Fields = Record<string, unknown>;
const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Adds `team`, with which the operator says who owns applications together, and `app owner`. */
export function addTeamCommands(program: Command, app: Command, world: World): void {
  const team = program.command('team').description('people who own applications together');
  remote(team, 'create <name>', world, 'make a team', createTeam).requiredOption(
    '--owner <user id>',
    'who owns it',
  );
  remote(team, 'list', world, 'all teams', listTeams);
  remote(team, 'show <team>', world, 'a team, its members and its applications', showTeam);
  remote(
    team,
    'member <team> <user>',
    world,
    'add a person, or change the role of a member; an owner replaces the earlier one',
    setMember,
  )
    .option('--role <role>', 'owner, admin, developer or read_only', 'developer')
    .option('--invited', 'the person has not accepted yet, and may do nothing');
  remote(team, 'remove <team> <user>', world, 'take a person out of a team', removeMember);
  remote(team, 'adopt <team> <application>', world, 'give a team an application', adopt);
  remote(team, 'delete <team>', world, 'delete a team without applications', deleteTeam);
  remote(app, 'owner <application> <user>', world, 'give an application to one person', setOwner);
}

const memberLine = ({ user_id: id, role, accepted }: Fields): string =>
  `    ${id}  ${role}${accepted === true ? '' : ', invited'}`;

function linesOf(team: Fields): readonly string[] {
  return [`Team ${team.name} (${team.id})`, ...listOf(team.members).map(memberLine)];
}

async function createTeam(ask: Remote, [name]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('POST', '/teams', { name, owner_id: flags.owner });
  const team = fieldsOf(value.team);
  return {
    value,
    lines: [...linesOf(team), `Next: guildhall team adopt ${team.id} <application id>`],
  };
}

async function listTeams(ask: Remote): Promise<CommandOutput> {
  const value = await ask('GET', '/teams');
  const rows = listOf(value.teams).map(
    ({ id, name, members }) => `${id}  ${listOf(members).length}  ${name}`,
  );
  return { value, lines: [...rows, 'Next: guildhall team show <team id>'] };
}

async function showTeam(ask: Remote, [id]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('GET', `/teams/${id}`);
  const applications = listOf(value.applications).map((each) => `    ${each.id}  ${each.name}`);
  return {
    value,
    lines: [
      ...linesOf(fieldsOf(value.team)),
      `  applications  ${applications.length}`,
      ...applications,
      `Next: guildhall team member ${id} <user id> --role developer`,
    ],
  };
}

async function setMember(
  ask: Remote,
  [id, userId]: readonly string[],
  { role, invited }: Flags,
): Promise<CommandOutput> {
  const value = await ask('POST', `/teams/${id}/members`, {
    ...{ user_id: userId, role },
    ...(invited && { invited: true }),
  });
  return { value, lines: [...linesOf(fieldsOf(value.team)), `Next: guildhall team show ${id}`] };
}

async function removeMember(ask: Remote, [id, userId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/teams/${id}/members/remove`, { user_id: userId });
  return { value, lines: [...linesOf(fieldsOf(value.team)), `Next: guildhall team show ${id}`] };
}

async function adopt(ask: Remote, [id, applicationId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/teams/${id}/applications`, { application_id: applicationId });
  return {
    value,
    lines: [
      `Application ${applicationId} belongs to team ${id}.`,
      `Next: guildhall app owner ${applicationId} <user id> gives it to one person.`,
    ],
  };
}

async function deleteTeam(ask: Remote, [id]: readonly string[]): Promise<CommandOutput> {
  await ask('POST', `/teams/${id}/delete`, {});
  return { value: { id, deleted: true }, lines: [`Deleted team ${id}.`, 'Next: guildhall team list'] };
}

async function setOwner(ask: Remote, [id, userId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/owner`, { user_id: userId });
  return {
    value,
    lines: [`Application ${id} belongs to ${userId}.`, `Next: guildhall app show ${id}`],
  };
}
