import type { Rule } from '../../engine/automod/rule.ts';
import type { InfoFacts } from '../../engine/guild/facts.ts';
import type { GuildChannel, GuildInfo, LiveVoiceChannel, StageInstance } from '../../engine/guild/guild.ts';
import type { GuildPages } from '../../engine/guild/pages.types.ts';
import type { CountedEvent } from '../../engine/scheduledevent/event.ts';
import type { ChannelId, GuildId } from '../../protocol/ids.ts';
import type { APIRole } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import { rows, type StatementTable, upsert } from '../database/statement.ts';
import { COUNTED_EVENTS } from '../scheduledevent/scheduledevents.ts';
import { ACTIVE_THREADS, storedThread, type ThreadRow } from '../thread/threads.ts';
import { channelCreated, withActivity } from './channels.ts';
import { type ExpressionRow, expressionLists } from './expressions.ts';
import { memberAdded } from './members.ts';
import type { GuildSnapshot } from './port.ts';
import { roleWritten } from './roles.ts';
import { TAGS_OF_DELETED } from './tagupdates.ts';

const WRITE = upsert('guilds', { id: 'bigint', data: 'jsonb' }, 'id');

/** Deletes everything at once but messages and their reactions, which the purge deletes later. */
const DELETE = `
WITH r AS (SELECT id FROM ${rows({ id: 'bigint' })}),
  purge AS (INSERT INTO purges SELECT c.guild_id, c.id FROM channels c JOIN r ON c.guild_id = r.id ON CONFLICT DO NOTHING),
  a AS (DELETE FROM channel_directory d USING channels c, r WHERE c.guild_id = r.id AND d.channel_id = c.id),
  b AS (DELETE FROM channel_activity t USING r WHERE t.owner_id = r.id),
  c AS (DELETE FROM channels t USING r WHERE t.guild_id = r.id),
  threads1 AS (INSERT INTO purges SELECT t.guild_id, t.id FROM threads t JOIN r ON t.guild_id = r.id ON CONFLICT DO NOTHING),
  threads2 AS (DELETE FROM channel_directory d USING threads t, r WHERE t.guild_id = r.id AND d.channel_id = t.id),
  threads3 AS (DELETE FROM thread_members t USING r WHERE t.guild_id = r.id),
  threads4 AS (DELETE FROM threads t USING r WHERE t.guild_id = r.id),
  d AS (DELETE FROM roles t USING r WHERE t.guild_id = r.id),
  e AS (DELETE FROM user_guilds u USING members m, r
        WHERE m.guild_id = r.id AND u.user_id = m.user_id AND u.guild_id = m.guild_id),
  f AS (DELETE FROM members t USING r WHERE t.guild_id = r.id),
  g AS (DELETE FROM bans t USING r WHERE t.guild_id = r.id),
  g2 AS (DELETE FROM join_requests t USING r WHERE t.guild_id = r.id),
  g3 AS (DELETE FROM onboarding_answers t USING r WHERE t.guild_id = r.id),
  g4 AS (DELETE FROM former_members t USING r WHERE t.guild_id = r.id),
  h AS (DELETE FROM invite_directory d USING invites i, r WHERE i.guild_id = r.id AND d.code = i.code),
  i AS (DELETE FROM invites t USING r WHERE t.guild_id = r.id),
  j AS (DELETE FROM audit_log t USING r WHERE t.guild_id = r.id),
  k AS (DELETE FROM stage_instances t USING r WHERE t.guild_id = r.id),
  voice1 AS (DELETE FROM voice_states t USING r WHERE t.guild_id = r.id),
  voice2 AS (DELETE FROM voice_channels t USING r WHERE t.guild_id = r.id),
  k2 AS (DELETE FROM scheduled_events t USING r WHERE t.guild_id = r.id),
  k3 AS (DELETE FROM scheduled_event_users t USING r WHERE t.guild_id = r.id),
  l AS (DELETE FROM webhook_directory d USING webhooks w, r WHERE w.guild_id = r.id AND d.id = w.id),
  m AS (DELETE FROM webhooks t USING r WHERE t.guild_id = r.id),
  n AS (DELETE FROM crossposts t USING r WHERE t.guild_id = r.id),
  o AS (DELETE FROM crosspost_copies t USING r WHERE t.guild_id = r.id),
  auto_moderation AS (DELETE FROM auto_moderation_rules t USING r WHERE t.guild_id = r.id),
  tags AS (${TAGS_OF_DELETED}),
  pages AS (DELETE FROM guild_pages t USING r WHERE t.guild_id = r.id),
  codes AS (DELETE FROM template_directory t USING r WHERE t.guild_id = r.id),
  p AS (DELETE FROM expression_directory d USING guild_expressions x, r WHERE x.guild_id = r.id AND d.id = x.id),
  q AS (DELETE FROM guild_expressions t USING r WHERE t.guild_id = r.id)
DELETE FROM guilds t USING r WHERE t.id = r.id`;

export const infoStatements: StatementTable<InfoFacts> = {
  guildCreated: (ownerId, { info, roles, channels, owner }) => [
    { sql: WRITE, row: { id: ownerId, data: info } },
    ...roles.flatMap((role) => roleWritten(ownerId, { role })),
    ...channels.flatMap((channel) => channelCreated(ownerId, { channel })),
    ...memberAdded(ownerId, { member: owner }),
  ],
  guildUpdated: (ownerId, { info }) => [{ sql: WRITE, row: { id: ownerId, data: info } }],
  guildDeleted: (ownerId) => [{ sql: DELETE, row: { id: ownerId } }],
};

interface GuildRow {
  readonly info: GuildInfo;
  readonly roles: readonly APIRole[];
  readonly channels: readonly {
    readonly data: GuildChannel;
    readonly last_message_id: string | null;
    readonly last_pin_ms: string | null;
  }[];
  readonly threads: readonly ThreadRow[];
  readonly stages: readonly StageInstance[];
  readonly voice: GuildSnapshot['voiceStates'];
  readonly voice_channels: readonly (LiveVoiceChannel & { readonly id: ChannelId })[];
  readonly events: readonly CountedEvent[];
  readonly auto_moderation: readonly Rule[];
  readonly pages: GuildPages;
  readonly expressions: readonly ExpressionRow[];
  readonly member_count: string;
}

const LOAD = `
SELECT g.data AS info,
  coalesce((SELECT jsonb_agg(data ORDER BY id) FROM roles WHERE guild_id = g.id), '[]') AS roles,
  coalesce((SELECT jsonb_agg(jsonb_build_object('data', c.data, 'last_message_id', a.last_message_id::text,
      'last_pin_ms', a.last_pin_ms::text) ORDER BY c.id)
    FROM channels c LEFT JOIN channel_activity a ON a.owner_id = c.guild_id AND a.channel_id = c.id
    WHERE c.guild_id = g.id), '[]') AS channels,
  coalesce((SELECT jsonb_agg(data ORDER BY channel_id) FROM stage_instances WHERE guild_id = g.id), '[]') AS stages,
  coalesce((SELECT jsonb_agg(data ORDER BY user_id) FROM voice_states WHERE guild_id = g.id), '[]') AS voice,
  coalesce((SELECT jsonb_agg(jsonb_build_object('id', channel_id::text, 'status', status, 'startedMs', started_ms))
    FROM voice_channels WHERE guild_id = g.id), '[]') AS voice_channels,
  ${ACTIVE_THREADS} AS threads,
  ${COUNTED_EVENTS} AS events,
  coalesce((SELECT jsonb_agg(data ORDER BY id) FROM auto_moderation_rules WHERE guild_id = g.id), '[]') AS auto_moderation,
  coalesce((SELECT jsonb_object_agg(page, data) FROM guild_pages WHERE guild_id = g.id), '{}') AS pages,
  coalesce((SELECT jsonb_agg(jsonb_build_object('kind', kind, 'data', data) ORDER BY id)
    FROM guild_expressions WHERE guild_id = g.id), '[]') AS expressions,
  (SELECT count(*) FROM members WHERE guild_id = g.id) AS member_count
FROM guilds g WHERE g.id = $1`;

/** Loads a guild in one round trip. */
export async function loadGuild(sql: Sql, guildId: GuildId): Promise<GuildSnapshot | null> {
  const [row] = await sql.query<GuildRow>(LOAD, [guildId]);
  if (!row) return null;
  return {
    info: row.info,
    roles: row.roles,
    channels: row.channels.map((channel) => withActivity(channel.data, channel)),
    threads: row.threads.map(storedThread),
    stageInstances: row.stages,
    voiceStates: row.voice,
    liveVoice: row.voice_channels.map(({ id, ...live }) => [id, live]),
    scheduledEvents: row.events,
    autoModerationRules: row.auto_moderation,
    pages: row.pages,
    expressions: expressionLists(row.expressions),
    memberCount: Number(row.member_count),
  };
}
