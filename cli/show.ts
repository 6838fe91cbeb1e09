import type { Command } from 'commander';
import { snowflakeMs } from '../protocol/ids.ts';
import { isRecord } from '../protocol/json.ts';
import { EVENTS_STATUS } from '../protocol/webhookevents.ts';
import { type CommandOutput, type Flags, type Remote, remote } from './remote.ts';
import { CommandError, type World } from './world.ts';

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields => (isRecord(value) ? value : {});
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
const createdAt = (id: unknown): string => new Date(snowflakeMs(String(id))).toISOString();

/** Most rows of a list inside a record. */
const ROWS_MAX = 50;

/** Adds `show` to `app`, `user` and `guild`, and `delete` to `guild`. */
export function addShowCommands(
  { app, user, guild }: { readonly app: Command; readonly user: Command; readonly guild: Command },
  world: World,
): void {
  remote(app, 'show <application>', world, 'an application, its bot and its settings', showApplication);
  remote(user, 'show <user>', world, 'a user by id, or a person by name: guilds and tokens', showUser);
  remote(guild, 'show <guild>', world, 'a guild, its channels and its bots', showGuild);
  remote(guild, 'delete <guild>', world, 'delete a guild with everything in it', deleteGuild).option(
    '--yes',
    'delete it; without this the command only says what would be deleted',
  );
}

async function showApplication(ask: Remote, [id]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('GET', `/applications/${id}`);
  const application = fieldsOf(value.application);
  const bot = fieldsOf(value.bot);
  const endpoint = application.interactions_endpoint_url ?? 'the gateway';
  return {
    value,
    lines: [
      `Application ${application.name} (${application.id})`,
      `  created       ${createdAt(application.id)}`,
      `  owner         ${application.owner_id}${application.team_id ? ` of team ${application.team_id}` : ''}`,
      `  bot           ${value.bot === null ? 'none' : `${bot.username} (${bot.id})`}`,
      `  public key    ${application.verify_key}`,
      `  interactions  sent to ${endpoint}`,
      `  events        ${eventsOf(application)}`,
      `  commands      ${value.commands} global`,
      `Next: guildhall token rotate ${bot.id ?? '<bot id>'}`,
    ],
  };
}

function eventsOf({ event_webhooks_status: status, event_webhooks_url: url }: Fields): string {
  if (status === EVENTS_STATUS.DISABLED)
    return `turned off by the server: ${url} acknowledged none for ten minutes`;
  return status === EVENTS_STATUS.ON && typeof url === 'string' ? `sent to ${url}` : 'off';
}

/** The id of a user that is named by it, or by a username; digits alone are an id. */
async function userIdOf(ask: Remote, given: string): Promise<string> {
  if (/^\d+$/.test(given)) return given;
  const { users } = await ask('GET', `/users?${new URLSearchParams({ username: given })}`);
  const [found] = Array.isArray(users) ? users.map(fieldsOf) : [];
  if (found === undefined)
    throw new CommandError(
      `No user has the username ${given}.`,
      '`guildhall user list` lists ids and names.',
    );
  return String(found.id);
}

async function showUser(ask: Remote, [given = '']: readonly string[]): Promise<CommandOutput> {
  const value = await ask('GET', `/users/${await userIdOf(ask, given)}`);
  const user = fieldsOf(value.user);
  const guildIds = Array.isArray(value.guild_ids) ? value.guild_ids.map(String) : [];
  return {
    value,
    lines: [
      `${user.bot ? 'Bot' : 'User'} ${user.username} (${user.id})`,
      `  created  ${createdAt(user.id)}`,
      `  shown    ${user.global_name ?? user.username}`,
      `  tokens   ${value.tokens}`,
      `  banned   ${value.banned ? 'yes' : 'no'}`,
      `  guilds   ${guildIds.length === 0 ? 'none' : shortened(guildIds).join(' ')}`,
      `Next: guildhall token rotate ${user.id}, or guildhall user ban ${user.id}`,
    ],
  };
}

async function showGuild(ask: Remote, [id]: readonly string[]): Promise<CommandOutput> {
  const value = await ask('GET', `/guilds/${id}`);
  const guild = fieldsOf(value.guild);
  const channels = listOf(value.channels).map(
    (channel) => `${channel.id}  ${kindOf(channel.type)}  ${channel.name}`,
  );
  const bots = listOf(value.bots).map((bot) => `${bot.id}  ${bot.name}`);
  return {
    value,
    lines: [
      `Guild ${guild.name} (${guild.id})`,
      `  created   ${createdAt(guild.id)}`,
      `  owner     ${guild.owner_id}`,
      `  members   ${guild.approximate_member_count}, ${guild.approximate_presence_count} online`,
      `  channels  ${channels.length}`,
      ...shortened(channels).map((row) => `    ${row}`),
      `  bots      ${bots.length}`,
      ...shortened(bots).map((row) => `    ${row}`),
      `Next: guildhall guild add ${guild.id} <user or bot id>`,
    ],
  };
}

async function deleteGuild(ask: Remote, [id]: readonly string[], flags: Flags): Promise<CommandOutput> {
  const value = await ask('GET', `/guilds/${id}`);
  const guild = fieldsOf(value.guild);
  const what = `guild ${guild.name} (${guild.id}) with ${listOf(value.channels).length} channels and ${guild.approximate_member_count} members`;
  if (!flags.yes)
    throw new CommandError(
      `This would delete ${what}, and cannot be undone.`,
      `Add --yes to delete it: guildhall guild delete ${id} --yes`,
    );
  await ask('POST', `/guilds/${id}/delete`, {});
  return {
    value: { id, deleted: true },
    lines: [`Deleted ${what}.`, 'Next: guildhall guild list'],
  };
}

/** @source https://docs.discord.com/developers/resources/channel#channel-object-channel-types */
const KINDS: Readonly<Record<number, string>> = {
  0: 'text',
  2: 'voice',
  4: 'category',
  5: 'announcements',
  13: 'stage',
  15: 'forum',
  16: 'media',
};
const kindOf = (type: unknown): string => (KINDS[Number(type)] ?? `type ${type}`).padEnd(13);

const shortened = (rows: readonly string[]): readonly string[] =>
  rows.length <= ROWS_MAX ? rows : [...rows.slice(0, ROWS_MAX), `and ${rows.length - ROWS_MAX} more`];
