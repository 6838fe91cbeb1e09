import { type Command, InvalidArgumentError } from 'commander';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import { CommandError, type World } from './world.ts';

/** Identity providers as they are typed: the server's name for each, and its required settings. */
const PROVIDERS = {
  oidc: { type: 'OIDC', settings: ['issuer', 'client_id'] },
  steam: { type: 'STEAM', settings: ['app_id', 'web_api_key'] },
  epic: { type: 'EPIC_ONLINE_SERVICES', settings: ['client_id'] },
  unity: { type: 'UNITY', settings: ['project_id'] },
  apple: { type: 'APPLE', settings: ['client_id'] },
  playstation: { type: 'PLAYSTATION_NETWORK', settings: ['issuer', 'client_id'] },
} as const;
type ProviderName = keyof typeof PROVIDERS;
type Setting = (typeof PROVIDERS)[ProviderName]['settings'][number];

/** Environment variable of the secret, which on the command line would stay in the shell's history. */
const WEB_API_KEY = 'GUILDHALL_WEB_API_KEY';

/** Adds to `app` the commands for players: identity providers, and the publisher of a game. */
export function addApplicationPlayerCommands(app: Command, world: World): void {
  const provider = app
    .command('identity-provider')
    .description('who vouches for the players of an application');
  const about = (usage: string, description: string, run: Parameters<typeof remote>[4]): Command => {
    const command = remote(provider, `${usage} <application> <provider>`, world, description, run);
    command.registeredArguments[1]?.choices(Object.keys(PROVIDERS));
    return command;
  };
  const set = (ask: Remote, names: readonly string[], flags: Flags) => setProvider(ask, names, flags, world);
  about('set', 'let players prove themselves with a provider', set)
    .option('--issuer <url>', 'as `iss` of its tokens has it; https, and public')
    .option('--client-id <id>', 'what `aud` of its tokens must hold')
    .option('--app-id <number>', 'the number of the game there')
    .option('--project-id <id>', 'the project of the game there')
    .addHelpText('after', `\nA web API key is taken from ${WEB_API_KEY}.`);
  about('remove', 'let them do so no longer', removeProvider);
  remote(app, 'link-child <child> <parent>', world, 'put an application under its publisher’s', linkChild);
}

/** Adds `ban` and `unban` to `user`. */
export function addBanCommands(user: Command, world: World): void {
  remote(user, 'ban <user>', world, 'ban a user from the server, and end all that is signed in', ban).option(
    '--until <time>',
    'when it is over, as 2030-01-31 or 2030-01-31T18:00:00Z; without it never',
    moment,
  );
  remote(user, 'unban <user>', world, 'lift the ban of a user', unban);
}

/** A time in the wire format, with milliseconds and time zone. */
function moment(text: string): string {
  const ms = Date.parse(text);
  if (!/^\d{4}-/.test(text) || Number.isNaN(ms) || ms < 0)
    throw new InvalidArgumentError('Write a date such as 2030-01-31.');
  return new Date(ms).toISOString();
}

async function setProvider(
  ask: Remote,
  [id, name]: readonly string[],
  flags: Flags,
  { env }: World,
): Promise<CommandOutput> {
  const { type, settings } = PROVIDERS[name as ProviderName];
  const given: Readonly<Record<Setting, unknown>> = {
    issuer: flags.issuer,
    client_id: flags.clientId,
    app_id: flags.appId,
    project_id: flags.projectId,
    web_api_key: env[WEB_API_KEY],
  };
  const missing = settings.filter((setting) => !given[setting]).map(wayOf);
  if (missing.length > 0) throw new CommandError(`${type} needs more.`, `Give ${missing.join(' and ')}.`);
  const body = Object.fromEntries(settings.map((setting) => [setting, given[setting]]));
  await ask('POST', `/applications/${id}/identity-providers`, { type, ...body });
  return {
    value: { application_id: id, type },
    lines: [
      `Players of ${id} may prove themselves with ${type}.`,
      'Next: the game shows their tokens at POST /partner-sdk/token; docs/accounts.md names the types.',
    ],
  };
}

const wayOf = (setting: Setting): string =>
  setting === 'web_api_key' ? `${WEB_API_KEY} in the environment` : `--${setting.replace('_', '-')}`;

async function removeProvider(ask: Remote, [id, name]: readonly string[]): Promise<CommandOutput> {
  const { type } = PROVIDERS[name as ProviderName];
  await ask('POST', `/applications/${id}/identity-providers/remove`, { type });
  return {
    value: { application_id: id, type },
    lines: [
      `Players of ${id} can no longer prove themselves with ${type}; who is signed in stays so.`,
      `Next: guildhall app identity-provider set ${id} ${name} lets them again.`,
    ],
  };
}

async function linkChild(ask: Remote, [childId, parentId]: readonly string[]): Promise<CommandOutput> {
  await ask('POST', `/applications/${childId}/parent`, { parent_id: parentId });
  return {
    value: { application_id: childId, parent_id: parentId },
    lines: [
      `${childId} is a child of ${parentId}: their players are the same, and what it had of its own is gone.`,
      'Next: the parent gets tokens for it at POST /partner-sdk/child-token.',
    ],
  };
}

async function ban(ask: Remote, [userId]: readonly string[], { until }: Flags): Promise<CommandOutput> {
  const untilMs = typeof until === 'string' ? { until_ms: Date.parse(until) } : {};
  await ask('POST', `/users/${userId}/ban`, untilMs);
  return {
    value: { user_id: userId, until: until ?? null },
    lines: [
      `User ${userId} is banned from this server ${until ? `until ${until}` : 'for good'}.`,
      'Tokens and browsers are signed out; players who were linked play on with restricted accounts.',
      `Next: guildhall user unban ${userId} lifts it.`,
    ],
  };
}

async function unban(ask: Remote, [userId]: readonly string[]): Promise<CommandOutput> {
  await ask('POST', `/users/${userId}/unban`, {});
  return {
    value: { user_id: userId },
    lines: [
      `User ${userId} may come again.`,
      'Next: they sign in again; sessions from before the ban stay closed.',
    ],
  };
}
