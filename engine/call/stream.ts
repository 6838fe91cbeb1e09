import { type ChannelId, type GuildId, snowflakeOf, type UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { VoiceMember } from './voicemember.ts';

/** The place of a stream: a user's in a voice channel of a guild, or in the call of a private channel. */
export interface StreamKey {
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
  readonly ownerId: UserId;
}

/**
 * A Go Live stream: a call of its own beside its owner's call. Never stored: it ends with the process, as all calls do.
 */
export interface GoLiveStream extends StreamKey {
  /** The key by which clients name it. */
  readonly key: string;
  /** `server_id` of Identify; names the call. */
  readonly rtcServerId: string;
  /** The owner's gateway session. */
  readonly sessionId: string;
  /** Voice members of the stream's call, the owner and the viewers, by user. */
  readonly voiceMembers: Map<UserId, VoiceMember>;
  paused: boolean;
}

/**
 * Why somebody is not, or no longer, in a stream.
 *
 * @source https://docs.discord.food/gateway/gateway-events#stream-delete
 */
export type StreamEnd =
  | 'user_requested'
  | 'stream_ended'
  | 'stream_full'
  | 'unauthorized'
  | 'invalid_channel';

export const streamKey = ({ guildId, channelId, ownerId }: StreamKey): string =>
  guildId === null ? `call:${channelId}:${ownerId}` : `guild:${guildId}:${channelId}:${ownerId}`;

/** The id under which a user's voice member of the channel is stored. */
export const serverOf = ({ guildId, channelId }: StreamKey): string => guildId ?? channelId;

/**
 * The DAVE group of a stream's call.
 *
 * @source https://docs.discord.food/topics/voice-connections#stream-media-connections; the server's id less one
 */
const streamGroup = (rtcServerId: string): ChannelId => snowflakeOf(BigInt(rtcServerId) - 1n);

/** Whether the user's session is in the stream's channel, which streaming and watching require. */
const isThere = (
  { channelId }: StreamKey,
  voiceMember: VoiceMember | null,
  sessionId: string,
): voiceMember is VoiceMember => voiceMember?.callId === channelId && voiceMember.sessionId === sessionId;

/** Why a session may not stream there; null when it may. `voiceMember` is the user's on that server. */
export function streamRefusal(
  place: StreamKey,
  voiceMember: VoiceMember | null,
  sessionId: string,
): StreamEnd | null {
  if (!isThere(place, voiceMember, sessionId)) return 'invalid_channel';
  return voiceMember.mayStream ? null : 'unauthorized';
}

/** Why a session may not watch; null when it may. */
export function watchRefusal(
  stream: GoLiveStream,
  voiceMember: VoiceMember | null,
  sessionId: string,
): StreamEnd | null {
  if (!isThere(stream, voiceMember, sessionId)) return 'invalid_channel';
  const isFull =
    !stream.voiceMembers.has(voiceMember.userId) && stream.voiceMembers.size > LIMITS.stream_viewers_max;
  return isFull ? 'stream_full' : null;
}

/**
 * The voice member of a stream, derived from the user's voice member in the channel. The owner sends video with its
 * sound, which the microphone's mute does not affect; viewers only receive.
 */
export function streamVoiceMember(
  { ownerId, rtcServerId }: GoLiveStream,
  voiceMember: VoiceMember,
): VoiceMember {
  const isOwner = voiceMember.userId === ownerId;
  return {
    ...voiceMember,
    callId: snowflakeOf(BigInt(rtcServerId)),
    groupId: streamGroup(rtcServerId),
    serverId: rtcServerId,
    silenced: !isOwner,
    mayStream: isOwner,
    mayPrioritize: false,
    afkAfterMs: null,
  };
}

/** Why a user must leave a stream after a change of their voice member in the channel; null when they may stay. */
export function leaveReason(stream: GoLiveStream, voiceMember: VoiceMember): StreamEnd | null {
  const sessionId = stream.voiceMembers.get(voiceMember.userId)?.sessionId ?? '';
  if (voiceMember.userId === stream.ownerId) return streamRefusal(stream, voiceMember, sessionId);
  return isThere(stream, voiceMember, sessionId) ? null : 'invalid_channel';
}

const viewerIds = ({ voiceMembers, ownerId }: GoLiveStream): UserId[] =>
  [...voiceMembers.keys()].filter((id) => id !== ownerId);

/** STREAM_UPDATE. */
export const streamUpdate = (stream: GoLiveStream, region: string) => ({
  stream_key: stream.key,
  region,
  viewer_ids: viewerIds(stream),
  paused: stream.paused,
});

/** STREAM_CREATE. */
export const streamCreate = (stream: GoLiveStream, region: string) => ({
  ...streamUpdate(stream, region),
  rtc_server_id: stream.rtcServerId,
  rtc_channel_id: streamGroup(stream.rtcServerId),
});

/** STREAM_SERVER_UPDATE. Without an endpoint, clients wait for the next one. */
export const streamServerUpdate = (
  { key, guildId }: GoLiveStream,
  token: string,
  endpoint: string | null,
) => ({
  stream_key: key,
  token,
  ...(guildId !== null && { guild_id: guildId }),
  endpoint,
});

/** STREAM_DELETE; the key may be one that a client invented. */
export const streamDelete = (key: string, reason: StreamEnd) => ({ stream_key: key, reason });

/** STREAM_DELETE of a stream that ended with the process of its call: for all in its channel, since nobody knows who watched. */
export const streamLost = (place: StreamKey, userIds: readonly UserId[]): Dispatch => ({
  t: 'STREAM_DELETE',
  d: streamDelete(streamKey(place), 'stream_ended'),
  to: { kind: 'users', userIds },
});
