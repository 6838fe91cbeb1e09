import type { Sql } from '../database/driver.ts';
import { ArchiveFault } from './archivelines.ts';

/** Ids of actors are unique across kinds: messages of a guild and of a private channel are in one table. */
const ID_TAKEN = `SELECT 1 AS one FROM users WHERE id = $1 UNION ALL SELECT 1 FROM applications WHERE id = $1
UNION ALL SELECT 1 FROM lobbies WHERE id = $1 UNION ALL SELECT 1 FROM channel_directory WHERE channel_id = $1
UNION ALL SELECT 1 FROM webhook_directory WHERE id = $1 UNION ALL SELECT 1 FROM expression_directory WHERE id = $1 LIMIT 1`;

/** @throws ArchiveFault when a guild with this id, or something else with it, exists. */
export async function checkFree(sql: Sql, guildId: string): Promise<void> {
  const [guild] = await sql.query('SELECT 1 AS one FROM guilds WHERE id = $1', [guildId]);
  if (guild) throw new ArchiveFault(`The guild ${guildId} is here already.`);
  const [purge] = await sql.query('SELECT 1 AS one FROM purges WHERE owner_id = $1 LIMIT 1', [guildId]);
  if (purge)
    throw new ArchiveFault(
      `Messages of guild ${guildId} are still being deleted here: start the server, and try again later.`,
    );
  const [taken] = await sql.query(ID_TAKEN, [guildId]);
  if (taken) throw new ArchiveFault(`The id ${guildId} belongs to something else here.`);
}

const differ = (one: string, other: string): string =>
  `(${one} EXCEPT ${other}) UNION ALL (${other} EXCEPT ${one}) LIMIT 1`;

const CHANNELS =
  '(SELECT id FROM channels WHERE guild_id = $1 UNION SELECT id FROM threads WHERE guild_id = $1)';
const LISTED = 'SELECT channel_id FROM channel_directory WHERE guild_id = $1';
const USED = ['channel_activity', 'messages', 'poll_deadlines']
  .map((table) => `SELECT channel_id FROM ${table} WHERE owner_id = $1`)
  .concat(['invites', 'webhooks'].map((table) => `SELECT channel_id FROM ${table} WHERE guild_id = $1`))
  .join(' UNION ');

/**
 * Queries that find a row which another part of the server would take for its own. Directories have one row for an id or a
 * code in the whole server, so what a directory lists belongs to this guild alone.
 */
const CHECKS: readonly (readonly [problem: string, query: string])[] = [
  ['it has no guild', 'SELECT 1 AS one WHERE NOT EXISTS (SELECT 1 FROM guilds WHERE id = $1)'],
  [
    'its owner is not a member',
    `SELECT 1 AS one FROM guilds g WHERE g.id = $1 AND NOT EXISTS (SELECT 1 FROM members m
     WHERE m.guild_id = g.id AND m.user_id::text = g.data->>'owner_id')`,
  ],
  [
    'it has no role @everyone',
    'SELECT 1 AS one WHERE NOT EXISTS (SELECT 1 FROM roles WHERE guild_id = $1 AND id = $1)',
  ],
  [
    'a member is no user',
    'SELECT 1 AS one FROM members m WHERE m.guild_id = $1 AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = m.user_id) LIMIT 1',
  ],
  [
    'a thread is in no channel of it',
    `SELECT 1 AS one FROM threads t WHERE t.guild_id = $1 AND NOT EXISTS (SELECT 1 FROM channels c
     WHERE c.guild_id = t.guild_id AND c.id = t.parent_id) LIMIT 1`,
  ],
  ['its channels differ from its channel directory', differ(CHANNELS, LISTED)],
  ['a row names a channel of another guild', `(${USED}) EXCEPT ${LISTED} LIMIT 1`],
  [
    'its invites differ from its invite directory',
    differ(
      'SELECT code FROM invites WHERE guild_id = $1',
      'SELECT code FROM invite_directory WHERE guild_id = $1',
    ),
  ],
  [
    'its webhooks differ from its webhook directory',
    differ(
      'SELECT id FROM webhooks WHERE guild_id = $1',
      'SELECT id FROM webhook_directory WHERE guild_id = $1',
    ),
  ],
  [
    'its emoji, stickers and sounds differ from their directory',
    differ(
      'SELECT id FROM guild_expressions WHERE guild_id = $1',
      'SELECT id FROM expression_directory WHERE owner_id = $1',
    ),
  ],
  [
    'its members differ from the lists of their guilds',
    differ(
      'SELECT user_id FROM members WHERE guild_id = $1',
      'SELECT user_id FROM user_guilds WHERE guild_id = $1',
    ),
  ],
  [
    'it follows channels of other guilds',
    'SELECT 1 AS one FROM webhooks WHERE guild_id = $1 AND source_channel_id IS NOT NULL LIMIT 1',
  ],
  ...['roles', 'scheduled_events'].map(
    (table) =>
      [
        `an id of its ${table.replace('_', ' ')} belongs to another guild`,
        `SELECT 1 AS one FROM ${table} t JOIN ${table} o ON o.id = t.id AND o.guild_id <> t.guild_id
         WHERE t.guild_id = $1 LIMIT 1`,
      ] as const,
  ),
  [
    'the id of a channel belongs to a lobby',
    'SELECT 1 AS one FROM channel_directory d JOIN lobbies l ON l.id = d.channel_id WHERE d.guild_id = $1 LIMIT 1',
  ],
  [
    'the id of a webhook belongs to a user',
    'SELECT 1 AS one FROM webhooks w JOIN users u ON u.id = w.id WHERE w.guild_id = $1 LIMIT 1',
  ],
];

/** @throws ArchiveFault when the inserted rows of a guild do not fit each other or the rows of others. */
export async function checkImported(sql: Sql, guildId: string): Promise<void> {
  for (const [problem, query] of CHECKS) {
    const found = await sql.query(query, [guildId]);
    if (found.length > 0) throw new ArchiveFault(`The guild cannot be imported: ${problem}.`);
  }
}
