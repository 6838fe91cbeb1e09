import type { Command } from 'commander';
import { isRecord } from '../protocol/json.ts';
import { addApplicationActivityCommand } from './activities.ts';
import { addApplicationPlayerCommands, addBanCommands } from './players.ts';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import { addShowCommands } from './show.ts';
import { addTeamCommands } from './teams.ts';
import type { World } from './world.ts';

type Fields = Record<string, unknown>;

/** The object that an answer has there; without one, no fields. */
const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
const ADMINISTRATOR = '8';

/** Adds `app`, `bot`, `user`, `guild` and `token`, which call the admin API of a running server. */
export function addRecordCommands(program: Command, world: World): void {
  const app = program.command('app').description('applications');
  const bot = program.command('bot').description('bots: each belongs to an application of the same name');
  const user = program.command('user').description('human users');
  const guild = program.command('guild').description('guilds');
  const token = program.command('token').description('tokens');

  const creates = (parent: Command, what: string) =>
    remote(
      parent,
      'create <name>',
      world,
      `make an application with its bot and print ${what}`,
      createApplication,
    )
      .option('--owner <user id>', 'who owns it')
      .option('--guild <guild id>', 'a guild the bot joins')
      .option('--permissions <bits>', 'permissions of the bot in that guild, decimal', ADMINISTRATOR);
  creates(app, 'its secrets');
  creates(bot, 'its token');
  remote(app, 'oauth2 <application>', world, 'set an application up to sign people in', configureClient)
    .option('--redirect <uri...>', 'where its requests may be answered to; those it had are replaced')
    .option('--public', 'it runs with its users and keeps no secret')
    .option('--confidential', 'it keeps its secret')
    .option('--approve <scope...>', 'the partner scopes it may ask for; those it had are replaced')
    .option(
      '--rpc-origin <origin...>',
      'origins of its pages that may reach `guildhall rpc`; those it had are replaced',
    );
  addApplicationActivityCommand(app, world);
  addApplicationPlayerCommands(app, world);
  paged(remote(app, 'list', world, 'applications, a page at a time', listApplications));
  paged(remote(bot, 'list', world, 'bots, a page at a time', listApplications));

  remote(user, 'create <username>', world, 'make a human user and print the token', createUser)
    .option('--display <name>', 'the name that is shown')
    .option('--email <address>', 'lets the user sign in: it gets a letter, and then a password by /reset')
    .option('--guild <guild id>', 'a guild the user joins');
  remote(user, 'password <user>', world, 'give a person a new password to sign in with', setPassword);
  addBanCommands(user, world);
  paged(remote(user, 'list', world, 'users, a page at a time', listUsers));

  remote(guild, 'create <name>', world, 'make a guild', createGuild).requiredOption(
    '--owner <user id>',
    'who owns it',
  );
  remote(guild, 'add <guild> <user>', world, 'add a user or bot to a guild', addMember).option(
    '--permissions <bits>',
    'permissions of the role it gets, decimal',
  );
  paged(remote(guild, 'list', world, 'guilds, a page at a time', listGuilds));

  addShowCommands({ app, user, guild }, world);
  addTeamCommands(program, app, world);

  remote(
    token,
    'rotate <user>',
    world,
    'give a user or bot a new token and end the earlier ones',
    rotateToken,
  );
  remote(token, 'revoke <user>', world, 'end all tokens of a user or bot', revokeTokens);
}

function paged(command: Command): Command {
  return command
    .option('--after <id>', 'start behind this id')
    .option('--limit <n>', 'how many at most', '100');
}

function pageQuery({ after, limit }: Flags): string {
  const query = new URLSearchParams({ limit: String(limit) });
  if (typeof after === 'string') query.set('after', after);
  return query.toString();
}

async function createApplication(
  ask: Remote,
  [name]: readonly string[],
  flags: Flags,
): Promise<CommandOutput> {
  const made = await ask('POST', '/applications', {
    name,
    ...(flags.owner && { owner_id: flags.owner }),
    ...(flags.guild && { guild_id: flags.guild, permissions: flags.permissions }),
  });
  const application = fieldsOf(made.application);
  const bot = fieldsOf(made.bot);
  return {
    value: made,
    lines: [
      `Application ${application.name} (${application.id})`,
      `  public key     ${application.verify_key}`,
      `  client secret  ${made.client_secret}`,
      `  bot user       ${bot.id}`,
      `  bot token      ${bot.token}`,
      'The secret and the token are shown this once; only hashes are kept.',
      flags.guild
        ? `Next: guildhall connect discord.js --token <bot token>`
        : `Next: guildhall guild add <guild id> ${bot.id} --permissions ${ADMINISTRATOR}`,
    ],
  };
}

async function configureClient(ask: Remote, [id]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('POST', `/applications/${id}/oauth2`, {
    ...(flags.redirect && { redirect_uris: flags.redirect }),
    ...((flags.public || flags.confidential) && { public_client: flags.public === true }),
    ...(flags.approve && { approved_scopes: flags.approve }),
    ...(flags.rpcOrigin && { rpc_origins: flags.rpcOrigin }),
  });
  const { name, redirect_uris: redirects, oauth2 } = fieldsOf(value.application);
  const settings = oauth2 as { readonly publicClient: boolean; readonly approvedScopes: readonly string[] };
  return {
    value,
    lines: [
      `Application ${name} (${id})`,
      `  redirects  ${(redirects as readonly string[]).join(' ') || 'none'}`,
      `  client     ${settings.publicClient ? 'public: does without a secret where PKCE protects it' : 'keeps its secret'}`,
      `  approved   ${settings.approvedScopes.join(' ') || 'no partner scopes'}`,
      `Next: people sign in at /oauth2/authorize?client_id=${id}&…; docs/accounts.md shows the whole way.`,
    ],
  };
}

async function listApplications(ask: Remote, _: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('GET', `/applications?${pageQuery(flags)}`);
  const applications = listOf(value.applications);
  const rows = applications.map(({ id, bot_id, name }) => `${id}  bot ${bot_id ?? 'none'}  ${name}`);
  return { value, lines: [...rows, nextPage(applications, flags, 'app')] };
}

async function createUser(ask: Remote, [username]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('POST', '/users', {
    username,
    ...(flags.display && { global_name: flags.display }),
    ...(flags.email && { email: flags.email }),
    ...(flags.guild && { guild_id: flags.guild }),
  });
  const { id, username: name } = fieldsOf(value.user);
  return {
    value,
    lines: [
      `User ${name} (${id})`,
      `  token  ${value.token}`,
      'The token is shown this once; only its hash is kept.',
      ...(flags.email ? [`A letter to ${flags.email} asks for its confirmation.`] : []),
      flags.guild
        ? `Next: call the API with "Authorization: Bearer <token>".`
        : `Next: guildhall guild add <guild id> ${id}`,
    ],
  };
}

/** Sets a password that the server generates: one on the command line would stay in the shell's history. */
async function setPassword(ask: Remote, [userId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', `/users/${userId}/password`, {});
  return {
    value,
    lines: [
      `User ${userId} signs in as ${value.login}`,
      `  password  ${value.password}`,
      'It is shown this once. Two-step sign-in is off, and every browser of the user is signed out.',
      'Next: sign in at /login of the server, and choose another password in the settings.',
    ],
  };
}

async function listUsers(ask: Remote, _: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('GET', `/users?${pageQuery(flags)}`);
  const rows = listOf(value.users).map(
    ({ id, username, bot }) => `${id}  ${bot ? 'bot ' : 'user'}  ${username}`,
  );
  return { value, lines: [...rows, nextPage(listOf(value.users), flags, 'user')] };
}

async function createGuild(ask: Remote, [name]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('POST', '/guilds', { name, owner_id: flags.owner });
  const { id } = fieldsOf(value.guild);
  return { value, lines: [`Guild ${name} (${id})`, `Next: guildhall guild add ${id} <user or bot id>`] };
}

async function listGuilds(ask: Remote, _: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('GET', `/guilds?${pageQuery(flags)}`);
  const guilds = listOf(value.guilds);
  const rows = guilds.map(({ id, name }) => `${id}  ${name}`);
  return { value, lines: [...rows, nextPage(guilds, flags, 'guild')] };
}

function nextPage(rows: readonly Fields[], { limit }: Flags, what: string): string {
  const last = rows.at(-1);
  if (last === undefined || rows.length < Number(limit))
    return `That is all. Next: guildhall ${what} create --help`;
  return `There may be more. Next: guildhall ${what} list --after ${last.id}`;
}

async function addMember(
  ask: Remote,
  [guildId, userId]: readonly string[],
  flags: Flags,
): Promise<CommandOutput> {
  const permissions = flags.permissions && { permissions: flags.permissions };
  await ask('POST', `/guilds/${guildId}/members`, { user_id: userId, ...permissions });
  return {
    value: { guild_id: guildId, user_id: userId },
    lines: [
      `${userId} is a member of ${guildId}.`,
      'Next: guildhall connect --help shows how a bot comes online.',
    ],
  };
}

async function rotateToken(ask: Remote, [userId]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('POST', '/tokens/rotate', { user_id: userId });
  return {
    value,
    lines: [
      `  token  ${value.token}`,
      'The earlier tokens no longer count and their sessions are closed (4004).',
      'Next: start the bot with the new token; it is shown this once.',
    ],
  };
}

async function revokeTokens(ask: Remote, [userId]: readonly string[]): Promise<CommandOutput> {
  await ask('POST', '/tokens/revoke', { user_id: userId });
  return {
    value: { user_id: userId },
    lines: [`${userId} has no token any more.`, `Next: guildhall token rotate ${userId} gives a new one.`],
  };
}
