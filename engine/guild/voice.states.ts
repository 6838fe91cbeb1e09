import { CHANNEL, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { channelById, channelPermissions } from '../permissions/permissions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel, Member } from './guild.ts';

/** The client's part of a voice state: everything that does not follow from guild and channel. */
export interface VoiceWish {
  readonly sessionId: string;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
  /** Granted only where the member may show video. */
  readonly selfVideo: boolean;
}

/** The client's part that stays when another user moves the member. */
export const wishOf = (state: GatewayVoiceState): VoiceWish => ({
  sessionId: state.session_id,
  selfMute: state.self_mute,
  selfDeaf: state.self_deaf,
  selfVideo: state.self_video,
});

/**
 * The voice state of a member in a channel. A member who is there already keeps the place on the stage. New members of
 * a stage start in the audience, except its moderators.
 */
export function inVoice(
  guild: Guild,
  member: Member,
  channel: GuildChannel,
  wish: VoiceWish,
  nowMs: number,
): GatewayVoiceState {
  const userId = member.user.id;
  const before = guild.voiceStates.get(userId);
  const stays = before?.channel_id === channel.id && before.session_id === wish.sessionId;
  const permissions = channelPermissions(guild, userId, channel, nowMs);
  const audience = stays ? before.suppress : isStage(channel) && !moderatesStage(permissions);
  const suppress = suppressed(guild, channel, permissions, audience);
  const shows = wish.selfVideo && mayStream(guild, channel, permissions, suppress);
  return {
    guild_id: guild.id,
    channel_id: channel.id,
    user_id: userId,
    member: member,
    session_id: wish.sessionId,
    deaf: member.deaf,
    mute: member.mute,
    self_deaf: wish.selfDeaf,
    self_mute: wish.selfMute,
    self_video: shows && ((stays && before.self_video) || hasRoomForVideo(guild, channel, userId)),
    self_stream: stays && before.self_stream === true && mayStream(guild, channel, permissions, suppress),
    suppress,
    request_to_speak_timestamp: stays && suppress ? before.request_to_speak_timestamp : null,
  };
}

/** The state of a user who has left voice. */
export function leftVoice(state: GatewayVoiceState, member: Member | null | undefined): GatewayVoiceState {
  return {
    ...state,
    ...(member ? { member: member } : {}),
    channel_id: null,
    self_video: false,
    self_stream: false,
    suppress: false,
    request_to_speak_timestamp: null,
  };
}

/** Removes everyone from a voice channel, or from all of them. */
export function voiceEnds(guild: Guild, channelId?: ChannelId): GuildFact[] {
  return [...guild.voiceStates]
    .filter(([, state]) => channelId === undefined || state.channel_id === channelId)
    .map(([userId, state]) => ({
      type: 'voiceStateChanged',
      userId,
      voiceState: leftVoice(state, guild.members.get(userId)),
    }));
}

const isStage = (channel: GuildChannel): boolean => channel.type === CHANNEL.GUILD_STAGE_VOICE;

const STAGE_MODERATOR = P.MANAGE_CHANNELS | P.MUTE_MEMBERS | P.MOVE_MEMBERS;
/** @source https://docs.discord.com/developers/resources/stage-instance#definitions */
const moderatesStage = (permissions: bigint): boolean => (permissions & STAGE_MODERATOR) === STAGE_MODERATOR;

/**
 * Whether a member with these permissions in a voice channel must be silent, whatever the member or a moderator set: in
 * the AFK channel everyone; on a stage its audience, and members who may no longer connect (as in a time-out);
 * elsewhere members without SPEAK.
 *
 * @param audience The previous value; counts on a stage only.
 */
export function suppressed(
  guild: Guild,
  channel: GuildChannel,
  permissions: bigint,
  audience: boolean,
): boolean {
  if (channel.id === guild.info.afk_channel_id) return true;
  if (isStage(channel)) return audience || (permissions & P.CONNECT) === 0n;
  return (permissions & P.SPEAK) === 0n;
}

/** Whether a member may show video. The audience of a stage may not, nor anyone in the AFK channel. */
export function mayStream(
  guild: Guild,
  channel: GuildChannel,
  permissions: bigint,
  suppress: boolean,
): boolean {
  if ((permissions & P.STREAM) === 0n || channel.id === guild.info.afk_channel_id) return false;
  return !(isStage(channel) && suppress);
}

/** Users whose `suppress` is outdated, because permissions or time-outs changed; checks all in voice by default. */
export function unsettled(
  guild: Guild,
  nowMs: number,
  userIds: Iterable<UserId> = guild.voiceStates.keys(),
): UserId[] {
  return [...userIds].filter((userId) => {
    const state = guild.voiceStates.get(userId);
    const channel = state && channelById(guild, state.channel_id);
    if (!channel) return false;
    const permissions = channelPermissions(guild, userId, channel, nowMs);
    return suppressed(guild, channel, permissions, state.suppress) !== state.suppress;
  });
}

/**
 * Why a user may not enter a voice channel, given the `permissions` there of the user or of the one who moves them;
 * null when allowed. MOVE_MEMBERS may exceed the user limit; MANAGE_CHANNELS may exceed the limit for video by one.
 */
export function voiceRefusal(
  guild: Guild,
  channel: GuildChannel,
  permissions: bigint,
  userId: UserId,
): Refusal | null {
  if (!VOICE_LIKE.has(channel.type)) return refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE');
  if ((permissions & P.VIEW_CHANNEL) === 0n) return refusal('MISSING_ACCESS');
  if ((permissions & P.CONNECT) === 0n) return refusal('MISSING_PERMISSIONS');
  const limit = userLimit(channel);
  const { count, video } = othersIn(guild, channel, userId);
  const full = limit > 0 && count >= limit && (permissions & P.MOVE_MEMBERS) === 0n;
  const voiceMembers = videoLimit(guild, channel) + ((permissions & P.MANAGE_CHANNELS) === 0n ? 0 : 1);
  return full || (video && count >= voiceMembers) ? refusal('MISSING_PERMISSIONS') : null;
}

/** User limit of a voice channel; 0 for no limit. */
const userLimit = (channel: GuildChannel): number =>
  'user_limit' in channel && typeof channel.user_limit === 'number' ? channel.user_limit : 0;

/** User limit of a channel while someone shows video in it. */
const videoLimit = ({ info }: Guild, channel: GuildChannel): number =>
  isStage(channel) ? info.max_stage_video_channel_users : info.max_video_channel_users;

const hasRoomForVideo = (guild: Guild, channel: GuildChannel, userId: UserId): boolean =>
  othersIn(guild, channel, userId).count < videoLimit(guild, channel);

function othersIn(guild: Guild, channel: GuildChannel, userId: UserId): { count: number; video: boolean } {
  let count = 0;
  let video = false;
  for (const state of guild.voiceStates.values()) {
    if (state.channel_id !== channel.id || state.user_id === userId) continue;
    count += 1;
    video ||= state.self_video;
  }
  return { count, video };
}
