import { ChannelType } from 'discord-api-types/v10';
import type { ChannelFacts } from '../../engine/guild/facts.ts';
import type { GuildChannel } from '../../engine/guild/guild.ts';
import { rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';

const WRITE = upsert('channels', { guild_id: 'bigint', id: 'bigint', data: 'jsonb' }, 'guild_id, id');
const WRITE_DIRECTORY = upsert(
  'channel_directory',
  { channel_id: 'bigint', guild_id: 'bigint' },
  'channel_id',
);

/** The channel goes with its invites; its messages are left to the purge, as there may be millions. */
const DELETE = `
WITH r AS (SELECT guild_id, id FROM ${rows({ guild_id: 'bigint', id: 'bigint' })}),
  purge AS (INSERT INTO purges SELECT DISTINCT guild_id, id FROM r ON CONFLICT DO NOTHING),
  a AS (DELETE FROM channel_directory t USING r WHERE t.channel_id = r.id),
  b AS (DELETE FROM channel_activity t USING r WHERE t.owner_id = r.guild_id AND t.channel_id = r.id),
  c AS (DELETE FROM invites t USING r WHERE t.guild_id = r.guild_id AND t.channel_id = r.id RETURNING t.code),
  d AS (DELETE FROM invite_directory t USING c WHERE t.code = c.code)
DELETE FROM channels t USING r WHERE t.guild_id = r.guild_id AND t.id = r.id`;

/** Channels that hold messages of their own. */
const TEXT_LIKE: ReadonlySet<number> = new Set([
  ChannelType.GuildText,
  ChannelType.GuildVoice,
  ChannelType.GuildAnnouncement,
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
  ChannelType.GuildStageVoice,
]);

/** A time as the wire writes it: microseconds and an offset. */
const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000+00:00`;

export interface Activity {
  readonly last_message_id: string | null;
  readonly last_pin_ms: string | null;
}

/** Puts back what `channel_activity` keeps apart. */
export function withActivity(channel: GuildChannel, activity: Activity): GuildChannel {
  if (!TEXT_LIKE.has(channel.type)) return channel;
  const { last_message_id, last_pin_ms } = activity;
  const last_pin_timestamp = last_pin_ms === null ? null : timestamp(Number(last_pin_ms));
  // The union of channel types does not distribute over a spread.
  return { ...channel, last_message_id, last_pin_timestamp } as GuildChannel;
}

/** A text-like channel without its activity, which every message would otherwise rewrite. */
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
