import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Seat } from './seat.ts';

/** Where a stream belongs: to somebody in a voice channel of a guild, or in the call of a private channel. */
export interface StreamPlace {
  readonly guildId: GuildId | null;
  readonly channelId: ChannelId;
  readonly ownerId: UserId;
}

/** A Go Live stream: a call of its own, beside the one its owner is in. Lost with the process, as all calls are. */
export interface Stream extends StreamPlace {
  /** By which clients name it. */
  readonly key: string;
  /** What Identify calls `server_id`; names the call. */
  readonly rtcServerId: string;
  /** The owner's gateway session. */
  readonly sessionId: string;
  /** The owner's and the viewers' seats in the call of the stream, by user. */
  readonly seats: Map<UserId, Seat>;
  paused: boolean;
}

/** Why somebody is not, or no longer, in a stream. @source the user documentation's "Stream Delete" */
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

/** The DAVE group of a stream's call. @source the user documentation: the server's id less one */
const streamGroup = (rtcServerId: string): ChannelId => String(BigInt(rtcServerId) - 1n) as ChannelId;

/** Whether the seat of a user's session is in the stream's channel: from elsewhere nobody streams or watches. */
const isThere = ({ channelId }: StreamPlace, seat: Seat | null, sessionId: string): seat is Seat =>
  seat?.callId === channelId && seat.sessionId === sessionId;

/** Why a session may not stream there, or null; `seat` is its user's on that server. */
export function streamRefusal(place: StreamPlace, seat: Seat | null, sessionId: string): StreamEnd | null {
  if (!isThere(place, seat, sessionId)) return 'invalid_channel';
  return seat.mayStream ? null : 'unauthorized';
}

/** Why a session may not watch, or null. */
export function watchRefusal(stream: Stream, seat: Seat | null, sessionId: string): StreamEnd | null {
  if (!isThere(stream, seat, sessionId)) return 'invalid_channel';
  const isFull = !stream.seats.has(seat.userId) && stream.seats.size > LIMITS.stream_viewers_max;
  return isFull ? 'stream_full' : null;
}

/**
 * The seat in a stream that follows from a seat in its voice channel. Its owner sends pictures and their sound, which is
 * not the microphone that mute is about; viewers only see and hear.
 */
export function streamSeat({ ownerId, rtcServerId }: Stream, seat: Seat): Seat {
  const isOwner = seat.userId === ownerId;
  return {
    ...seat,
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
export function leaveReason(stream: Stream, seat: Seat): StreamEnd | null {
  const sessionId = stream.seats.get(seat.userId)?.sessionId ?? '';
  if (seat.userId === stream.ownerId) return streamRefusal(stream, seat, sessionId);
  return isThere(stream, seat, sessionId) ? null : 'invalid_channel';
}

const viewerIds = ({ seats, ownerId }: Stream): UserId[] => [...seats.keys()].filter((id) => id !== ownerId);

/** STREAM_UPDATE. */
export const streamUpdate = (stream: Stream, region: string) => ({
  stream_key: stream.key,
  region,
  viewer_ids: viewerIds(stream),
  paused: stream.paused,
});

/** STREAM_CREATE. */
export const streamCreate = (stream: Stream, region: string) => ({
  ...streamUpdate(stream, region),
  rtc_server_id: stream.rtcServerId,
  rtc_channel_id: streamGroup(stream.rtcServerId),
});

/** STREAM_SERVER_UPDATE. Without an endpoint clients wait for another. */
export const streamServerUpdate = ({ key, guildId }: Stream, token: string, endpoint: string | null) => ({
  stream_key: key,
  token,
  ...(guildId !== null && { guild_id: guildId }),
  endpoint,
});

/** STREAM_DELETE; the key may be one that the client made up. */
export const streamDelete = (key: string, reason: StreamEnd) => ({ stream_key: key, reason });
