import type { VoiceChannelFacts, VoiceStateFacts } from '../../engine/guild/facts.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import type { Sql } from '../database/driver.ts';
import { remove, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { GuildStore } from './port.ts';

const STATE = { guild_id: 'bigint', user_id: 'bigint' };
const STATE_KEY = Object.keys(STATE).join(', ');
const ENTER = upsert('voice_states', { ...STATE, data: 'jsonb' }, STATE_KEY);
const LEAVE = remove('voice_states', STATE);

const CHANNEL = { guild_id: 'bigint', channel_id: 'bigint' };
const CHANNEL_KEY = Object.keys(CHANNEL).join(', ');
const STATUS = upsert('voice_channels', { ...CHANNEL, status: 'text' }, CHANNEL_KEY);
const STARTED = upsert('voice_channels', { ...CHANNEL, started_ms: 'bigint' }, CHANNEL_KEY);
const UNUSED = `${remove('voice_channels', CHANNEL)} AND t.status IS NULL AND t.started_ms IS NULL`;

const IN_VOICE = `SELECT guild_id AS id, data->>'session_id' AS "sessionId" FROM voice_states
  WHERE user_id = $1 AND guild_id = ANY($2)`;

export const inVoice = (
  sql: Sql,
  ...[userId, guildIds]: Parameters<GuildStore['inVoice']>
): ReturnType<GuildStore['inVoice']> => sql.query(IN_VOICE, [userId, guildIds]);

/** A voice state without the member, which has a table of its own. */
function written(
  guildId: string,
  { voiceState }: { readonly voiceState: GatewayVoiceState },
): readonly Statement[] {
  const { member: _, ...data } = voiceState;
  const key = { guild_id: guildId, user_id: voiceState.user_id };
  if (data.channel_id === null) return [{ sql: LEAVE, row: key }];
  return [{ sql: ENTER, row: { ...key, data } }];
}

/** The row of a voice channel is deleted when it has neither a status nor a start, as before the channel is deleted. */
function channelChanged(
  sql: string,
  guildId: string,
  channelId: string,
  change: object,
): readonly Statement[] {
  const row = { guild_id: guildId, channel_id: channelId };
  const isUnset = Object.values(change).every((value) => value === null);
  return [{ sql, row: { ...row, ...change } }, ...(isUnset ? [{ sql: UNUSED, row }] : [])];
}

export const voiceStatements: StatementTable<VoiceStateFacts & VoiceChannelFacts> = {
  voiceStateChanged: written,
  streamLost: written,
  voiceStatusChanged: (guildId, { channelId, status }) =>
    channelChanged(STATUS, guildId, channelId, { status }),
  voiceStartChanged: (guildId, { channelId, startedMs }) =>
    channelChanged(STARTED, guildId, channelId, { started_ms: startedMs }),
};
