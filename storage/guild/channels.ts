import { ChannelType } from 'discord-api-types/v10';
import type { ChannelFacts } from '../../engine/guild/facts.ts';
import type { GuildChannel } from '../../engine/guild/guild.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';

const WRITE = upsert('channels', { guild_id: 'bigint', id: 'bigint', data: 'jsonb' }, 'guild_id, id');
const WRITE_DIRECTORY = upsert(
  'channel_directory',
  { channel_id: 'bigint', guild_id: 'bigint' },
  'channel_id',
);

/**
 * Deletes a channel with its threads, invites and webhooks. The purge deletes the messages later, as there may be millions.
 */
const DELETE = `
WITH r AS (SELECT guild_id, id FROM ${rows({ guild_id: 'bigint', id: 'bigint' })}),
  child AS (SELECT t.guild_id, t.id FROM threads t JOIN r ON t.guild_id = r.guild_id AND t.parent_id = r.id),
  gone AS (SELECT guild_id, id FROM r UNION SELECT guild_id, id FROM child),
  purge AS (INSERT INTO purges SELECT guild_id, id FROM gone ON CONFLICT DO NOTHING),
  a AS (DELETE FROM channel_directory t USING gone WHERE t.channel_id = gone.id),
  b AS (DELETE FROM channel_activity t USING gone WHERE t.owner_id = gone.guild_id AND t.channel_id = gone.id),
  b1 AS (DELETE FROM thread_members t USING child WHERE t.guild_id = child.guild_id AND t.thread_id = child.id),
  b2 AS (DELETE FROM threads t USING child WHERE t.guild_id = child.guild_id AND t.id = child.id),
  c AS (DELETE FROM invites t USING r WHERE t.guild_id = r.guild_id AND t.channel_id = r.id RETURNING t.code),
  d AS (DELETE FROM invite_directory t USING c WHERE t.code = c.code),
  e AS (DELETE FROM webhooks t USING r WHERE t.guild_id = r.guild_id AND t.channel_id = r.id RETURNING t.id),
  f AS (DELETE FROM webhook_directory t USING e WHERE t.id = e.id),
  g AS (DELETE FROM crosspost_copies t USING r WHERE t.guild_id = r.guild_id AND t.channel_id = r.id)
DELETE FROM channels t USING r WHERE t.guild_id = r.guild_id AND t.id = r.id`;

/** Channel types with messages. */
const TEXT_LIKE: ReadonlySet<number> = new Set([
  ChannelType.GuildText,
  ChannelType.GuildVoice,
  ChannelType.GuildAnnouncement,
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
  ChannelType.GuildStageVoice,
]);

export interface Activity {
  readonly last_message_id: string | null;
  readonly last_pin_ms: string | null;
}

/** Adds the fields that are stored in `channel_activity`. */
export function withActivity(channel: GuildChannel, activity: Activity): GuildChannel {
  if (!TEXT_LIKE.has(channel.type)) return channel;
  const { last_message_id, last_pin_ms } = activity;
  const last_pin_timestamp = last_pin_ms === null ? null : isoTimestamp(Number(last_pin_ms));
  // TypeScript does not distribute the union of channel types over a spread.
  return { ...channel, last_message_id, last_pin_timestamp } as GuildChannel;
}

/** The row of a channel. A text channel's activity is stored separately, or every message would rewrite the row. */
function written(guildId: string, channel: GuildChannel): Statement {
  if (!TEXT_LIKE.has(channel.type))
    return { sql: WRITE, row: { guild_id: guildId, id: channel.id, data: channel } };
  const {
    last_message_id: _,
    last_pin_timestamp: __,
    ...data
  } = channel as GuildChannel & Partial<Activity> & { last_pin_timestamp?: unknown };
  return { sql: WRITE, row: { guild_id: guildId, id: channel.id, data } };
}

export const channelCreated = (
  guildId: string,
  { channel }: ChannelFacts['channelCreated'],
): readonly Statement[] => [
  written(guildId, channel),
  { sql: WRITE_DIRECTORY, row: { channel_id: channel.id, guild_id: guildId } },
];

export const channelStatements: StatementTable<ChannelFacts> = {
  channelCreated,
  channelUpdated: (guildId, { channel }) => [written(guildId, channel)],
  channelDeleted: (guildId, { channel }) => [{ sql: DELETE, row: { guild_id: guildId, id: channel.id } }],
};
