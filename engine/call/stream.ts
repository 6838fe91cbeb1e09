import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { VoiceMember } from './voicemember.ts';

/** Where a stream belongs: to somebody in a voice channel of a guild, or in the call of a private channel. */
export interface StreamPlace {
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
  readonly ownerId: UserId;
}

/** A Go Live stream: a call of its own, beside the one its owner is in. Lost with the process, as all calls are. */
export interface GoLiveStream extends StreamPlace {
  /** By which clients name it. */
  readonly key: string;
  /** What Identify calls `server_id`; names the call. */
  readonly rtcServerId: string;
  /** The owner's gateway session. */
  readonly sessionId: string;
  /** The owner's and the viewers' seats in the call of the stream, by user. */
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

export const streamKey = ({ guildId, channelId, ownerId }: StreamPlace): string =>
  guildId === null ? `call:${channelId}:${ownerId}` : `guild:${guildId}:${channelId}:${ownerId}`;

/** The server by whose name a user's seat in the voice channel is known. */
export const serverOf = ({ guildId, channelId }: StreamPlace): string => guildId ?? channelId;

/**
 * The DAVE group of a stream's call.
 *
 * @source https://docs.discord.food/topics/voice-connections#stream-media-connections; the server's id less one
 */
const streamGroup = (rtcServerId: string): ChannelId => String(BigInt(rtcServerId) - 1n) as ChannelId;

/** Whether the seat of a user's session is in the stream's channel: from elsewhere nobody streams or watches. */
const isThere = (
  { channelId }: StreamPlace,
  voiceMember: VoiceMember | null,
  sessionId: string,
): voiceMember is VoiceMember => voiceMember?.callId === channelId && voiceMember.sessionId === sessionId;

/** Why a session may not stream there, or null; `seat` is its user's on that server. */
export function streamRefusal(
  place: StreamPlace,
  voiceMember: VoiceMember | null,
  sessionId: string,
): StreamEnd | null {
  if (!isThere(place, voiceMember, sessionId)) return 'invalid_channel';
  return voiceMember.mayStream ? null : 'unauthorized';
}

/** Why a session may not watch, or null. */
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
 * The seat in a stream that follows from a seat in its voice channel. Its owner sends pictures and their sound, which is
 * not the microphone that mute is about; viewers only see and hear.
 */
export function streamVoiceMember(
  { ownerId, rtcServerId }: GoLiveStream,
  voiceMember: VoiceMember,
): VoiceMember {
  const isOwner = voiceMember.userId === ownerId;
  return {
    ...voiceMember,
    callId: rtcServerId as ChannelId,
    groupId: streamGroup(rtcServerId),
    serverId: rtcServerId,
    silenced: !isOwner,
    mayStream: isOwner,
    mayPrioritize: false,
    afkAfterMs: null,
  };
}

/** Why somebody in a stream must leave it, now that their seat in the voice channel is this one; null: not at all. */
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

/** STREAM_SERVER_UPDATE. Without an endpoint clients wait for another. */
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

/** STREAM_DELETE; the key may be one that the client made up. */
export const streamDelete = (key: string, reason: StreamEnd) => ({ stream_key: key, reason });
