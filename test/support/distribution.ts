/** For each distributed table, the column whose value decides on which node a row is: the columns of docs/scale.md. */
export const DISTRIBUTION: ReadonlyMap<string, string> = new Map(
  Object.entries({
    guild_id: `audit_log auto_moderation_rules bans channels crosspost_copies crossposts former_members guild_expressions
      guild_pages invites join_requests members onboarding_answers roles scheduled_event_users scheduled_events
      stage_instances tag_updates thread_members threads voice_channels voice_states webhooks`,
    user_id: `accounts oauth_chains oauth_codes oauth_grants private_channel_members relationships role_connections
      seen_users server_bans sign_ins tokens user_guilds user_lobbies user_settings username_renames`,
    application_id: `app_command_creates app_command_permissions app_commands application_emojis entitlements identities
      lobby_secrets orders subscriptions webhook_events`,
    owner_id: `activity_instances actor_snapshots channel_activity command_records ephemeral_messages interactions messages
      poll_counts poll_deadlines poll_votes purges reaction_counts reactions told_users`,
    lobby_id: 'lobby_members lobby_voice_states',
    team_id: 'team_members',
    channel_id: 'channel_directory group_channels linked_lobbies private_calls private_channels',
    code: 'invite_directory template_directory',
    login: 'login_directory',
    key: 'usernames',
    writer: 'writer_transactions',
    id: `expression_directory guilds lobbies lobby_listings oauth_device_requests teams users
      webhook_directory`,
  }).flatMap(([column, tables]) => tables.split(/\s+/).map((table) => [table, column] as const)),
);

/** Tables that are small, read everywhere and seldom written: every node has a copy. */
export const REFERENCE: ReadonlySet<string> = new Set([
  'account_moves',
  'applications',
  'child_applications',
  'id_marks',
  'identity_providers',
  'partition_epochs',
  'role_connection_metadata',
  'schema_migrations',
  'settings',
  'skus',
]);

/** Statements of commits that look for rows on all nodes, with the reason. Each is rare. */
const ON_ALL_NODES: readonly (readonly [start: RegExp, reason: string])[] = [
  [/^DELETE FROM oauth_device_requests t USING .* WHERE t\.expires_ms </, 'removes what has expired'],
  [/^UPDATE private_channel_members t SET peer_id/, 'an account was merged'],
  [/^DELETE FROM lobby_secrets t USING .* WHERE t\.lobby_id = /, 'a lobby has ended'],
  [/^DELETE FROM usernames t USING .* WHERE t\.user_id = /, 'an account is deleted'],
  [/^DELETE FROM template_directory t USING r WHERE t\.guild_id = /, 'a guild is deleted'],
  [/^DELETE FROM relationships t USING .* WHERE t\.application_id = /, 'a game is deleted'],
];

const WRITE =
  /\b(INSERT INTO|DELETE FROM|UPDATE) (?!SET\b)(\w+)(?: AS)?(?: (?!SET\b|USING\b|SELECT\b|WHERE\b)(\w+))?/g;

/** The columns that an INSERT fills, as they are named: `INSERT INTO t (a, b)`, or `INSERT INTO t SELECT a, b FROM`. */
function filledColumns(insert: string): string[] {
  const [, listed = ''] =
    /^INSERT INTO \w+(?: AS \w+)? \(([^)]*)\)/.exec(insert) ??
    /^INSERT INTO \w+ SELECT (?:DISTINCT )?(.*?) FROM /.exec(insert) ??
    [];
  return listed.split(',').map((column) => column.trim());
}

/** The tables that a statement of a commit writes without their distribution column; empty when all is well. */
export function undistributed(sql: string): string[] {
  const text = sql.replace(/\s+/g, ' ').trim();
  const writes = [...text.matchAll(WRITE)];
  return writes.flatMap((write, at) => {
    const [, verb, table = '', alias = table] = write;
    if (REFERENCE.has(table)) return [];
    const part = text.slice(write.index, writes[at + 1]?.index);
    if (ON_ALL_NODES.some(([start]) => start.test(part))) return [];
    const column = DISTRIBUTION.get(table);
    if (column === undefined) return [`${table} has no distribution column`];
    const isMet =
      verb === 'INSERT INTO'
        ? // The rows of a purge are those of a guild or a channel, which own them.
          filledColumns(part).includes(column) || table === 'purges'
        : new RegExp(
            `\\b(${alias}|${table})\\.${column} = |\\(?\\b${column}\\)? (=|IN) |= ${alias}\\.${column}\\b`,
          ).test(part);
    return isMet ? [] : [`${table} is written without ${column}: ${part.slice(0, 200)}`];
  });
}
