import { isRecord } from '../../protocol/json.ts';

/** A condition on a table's rows, with the id as $1. */
type Condition = string;

const byGuild: Condition = 'guild_id = $1';
const byOwner: Condition = 'owner_id = $1';
const byUser: Condition = 'user_id = $1';
const byApplication: Condition = 'application_id = $1';

/** Leaves out messages of deleted channels that the server is still deleting. */
const inChannel: Condition =
  'owner_id = $1 AND channel_id IN (SELECT channel_id FROM channel_directory WHERE guild_id = $1)';
/** Webhooks that follow a channel of another guild. */
const FOLLOWERS = 'SELECT id FROM webhooks WHERE guild_id = $1 AND source_channel_id IS NOT NULL';

/**
 * The rows that make a guild, and that a server can take over from another one. Each condition begins with the column that
 * names the guild.
 */
export const GUILD_TABLES: Readonly<Record<string, Condition>> = {
  guilds: 'id = $1',
  roles: byGuild,
  channels: byGuild,
  channel_activity: inChannel,
  channel_directory: byGuild,
  threads: byGuild,
  thread_members: byGuild,
  members: byGuild,
  user_guilds: byGuild,
  bans: byGuild,
  join_requests: byGuild,
  onboarding_answers: byGuild,
  former_members: byGuild,
  invites: byGuild,
  invite_directory: byGuild,
  messages: inChannel,
  reactions: byOwner,
  reaction_counts: byOwner,
  poll_votes: byOwner,
  poll_counts: byOwner,
  poll_deadlines: inChannel,
  audit_log: byGuild,
  stage_instances: byGuild,
  scheduled_events: byGuild,
  scheduled_event_users: byGuild,
  auto_moderation_rules: byGuild,
  guild_pages: byGuild,
  template_directory: byGuild,
  guild_expressions: byGuild,
  expression_directory: "owner_id = $1 AND kind <> 'application emoji'",
  webhooks: 'guild_id = $1 AND source_channel_id IS NULL',
  webhook_directory: `guild_id = $1 AND id NOT IN (${FOLLOWERS})`,
};

/** The column of a table of a guild that names the guild. */
export const ownerColumn = (table: string): string => GUILD_TABLES[table]?.split(' ', 1)[0] ?? '';

/** The tables of a guild whose ids own files. */
export const FILE_OWNERS: ReadonlySet<string> = new Set([
  ...['guilds', 'roles', 'channels', 'threads', 'scheduled_events', 'guild_expressions'],
]);

/** The owner of a file: the guild of a member's picture, the channel of an attachment, or else the second part of the key. */
export const fileOwner = (key: string): string => key.split('/')[1]?.split('.', 1)[0] ?? '';

const PUBLIC_FIELDS = [
  ...[
    'id',
    'username',
    'discriminator',
    'global_name',
    'avatar',
    'banner',
    'accent_color',
    'bot',
    'public_flags',
  ],
  ...['avatar_decoration_data', 'collectibles', 'primary_guild'],
];

/** The public fields of a user. */
export function publicUser(data: unknown): Record<string, unknown> {
  const user = isRecord(data) ? data : {};
  return Object.fromEntries(PUBLIC_FIELDS.flatMap((name) => (name in user ? [[name, user[name]]] : [])));
}

/** Selects the people and bots that rows of the guild $1 refer to. */
export const GUILD_PEOPLE = `id IN (
  SELECT user_id FROM members WHERE guild_id = $1
  UNION SELECT user_id FROM bans WHERE guild_id = $1
  UNION SELECT user_id FROM join_requests WHERE guild_id = $1
  UNION SELECT author_id FROM messages WHERE owner_id = $1
  UNION SELECT user_id FROM audit_log WHERE guild_id = $1 AND user_id IS NOT NULL)`;

/**
 * Every table with data about a person. `credentials`: fields with secrets or their hashes are
 * left out of what the person gets.
 * `left`: the effect of deleting the person on the rows; conversations and records of others stay.
 */
export const PERSON_TABLES: Readonly<
  Record<
    string,
    {
      readonly where: Condition;
      /** Fields of an export for the user, if fewer: it must not reveal who has blocked the user. */
      readonly exported?: Condition;
      readonly left: 'deleted' | 'kept';
      readonly credentials?: true;
    }
  >
> = {
  users: { where: 'id = $1', left: 'kept' },
  accounts: { where: byUser, left: 'deleted', credentials: true },
  login_directory: { where: byUser, left: 'deleted' },
  usernames: { where: byUser, left: 'deleted' },
  username_renames: { where: byUser, left: 'deleted' },
  tokens: { where: byUser, left: 'deleted', credentials: true },
  sign_ins: { where: byUser, left: 'deleted', credentials: true },
  oauth_grants: { where: byUser, left: 'deleted' },
  oauth_chains: { where: byUser, left: 'deleted', credentials: true },
  oauth_codes: { where: byUser, left: 'deleted', credentials: true },
  identities: { where: byUser, left: 'deleted' },
  user_settings: { where: byUser, left: 'deleted' },
  seen_users: { where: byUser, left: 'deleted' },
  relationships: { where: 'user_id = $1 OR peer_id = $1', exported: byUser, left: 'deleted' },
  role_connections: { where: byUser, left: 'deleted' },
  members: { where: byUser, left: 'deleted' },
  user_guilds: { where: byUser, left: 'deleted' },
  thread_members: { where: byUser, left: 'deleted' },
  join_requests: { where: byUser, left: 'deleted' },
  onboarding_answers: { where: byUser, left: 'deleted' },
  former_members: { where: byUser, left: 'deleted' },
  scheduled_event_users: { where: byUser, left: 'deleted' },
  lobby_members: { where: byUser, left: 'deleted' },
  user_lobbies: { where: byUser, left: 'deleted' },
  bans: { where: byUser, left: 'kept' },
  server_bans: { where: byUser, left: 'kept' },
  messages: { where: 'author_id = $1', left: 'kept' },
  reactions: { where: byUser, left: 'kept' },
  poll_votes: { where: byUser, left: 'kept' },
  private_channel_members: { where: byUser, left: 'kept' },
  private_channels: { where: 'low_id = $1 OR high_id = $1', left: 'kept' },
  group_channels: { where: '$1 = ANY (recipient_ids)', left: 'kept' },
  audit_log: { where: byUser, left: 'kept' },
  team_members: { where: byUser, left: 'deleted' },
  entitlements: { where: byUser, left: 'deleted' },
  subscriptions: { where: byUser, left: 'deleted' },
  orders: { where: 'user_id = $1 OR payer_id = $1', left: 'kept' },
};

/** Tables whose rows belong to an application, and are deleted with it. Orders are kept: they are records of payments. */
export const APPLICATION_TABLES: Readonly<Record<string, Condition>> = {
  applications: 'id = $1',
  app_commands: byApplication,
  app_command_permissions: byApplication,
  app_command_creates: byApplication,
  application_emojis: byApplication,
  webhook_events: byApplication,
  role_connection_metadata: byApplication,
  role_connections: byApplication,
  oauth_grants: byApplication,
  oauth_chains: byApplication,
  oauth_codes: byApplication,
  identities: byApplication,
  identity_providers: byApplication,
  child_applications: 'child_id = $1 OR parent_id = $1',
  relationships: 'application_id = $1 AND application_id <> 0',
  lobby_listings: byApplication,
  lobby_secrets: byApplication,
  user_lobbies: byApplication,
  lobbies: byApplication,
  activity_instances: byApplication,
  skus: byApplication,
  entitlements: byApplication,
  subscriptions: byApplication,
};

/** Rows that belong to an application only through its lobbies; deleted before the lobbies. */
export const LOBBY_TABLES: Readonly<Record<string, Condition>> = {
  lobby_members: 'lobby_id IN (SELECT id FROM lobbies WHERE application_id = $1)',
  linked_lobbies: 'lobby_id IN (SELECT id FROM lobbies WHERE application_id = $1)',
  channel_activity: 'owner_id IN (SELECT id FROM lobbies WHERE application_id = $1)',
};
