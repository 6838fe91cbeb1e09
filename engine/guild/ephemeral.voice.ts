import type { APIGuildMember, GatewayVoiceState } from 'discord-api-types/v10';
import { CHANNEL, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';

import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { channelPermissions } from '../permissions/permissions.ts';
import type { Guild, GuildChannel, Member } from './guild.ts';

/** The member's side of a voice state: all that does not follow from guild and channel. */
export interface VoiceWish {
  readonly sessionId: string;
  readonly selfMute: boolean;
  readonly selfDeaf: boolean;
}

/** A member in a voice channel. In a stage everyone begins in the audience, but for its moderators. */
export function inVoice(
  guild: Guild,
  member: Member,
  channel: GuildChannel,
  wish: VoiceWish,
  nowMs: number,
): GatewayVoiceState {
  const permissions = channelPermissions(guild, member.user.id as UserId, channel, nowMs);
  const speaks = (permissions & P.SPEAK) !== 0n;
  const stage = channel.type === CHANNEL.GUILD_STAGE_VOICE;
  return {
    guild_id: guild.id,
    channel_id: channel.id,
    user_id: member.user.id,
    member: member as APIGuildMember,
    session_id: wish.sessionId,
    deaf: member.deaf,
    mute: member.mute,
    self_deaf: wish.selfDeaf,
    self_mute: wish.selfMute,
    self_video: false,
    suppress: stage ? (permissions & P.MUTE_MEMBERS) === 0n : !speaks,
    request_to_speak_timestamp: null,
  };
}

/** The state that says a user is no longer in any voice channel. */
export function leftVoice(state: GatewayVoiceState, member: Member): GatewayVoiceState {
  return {
    ...state,
    channel_id: null,
    member: member as APIGuildMember,
    suppress: false,
    request_to_speak_timestamp: null,
  };
}

/**
 * Why a user may not be put into a voice channel by someone who holds `permissions` there (the user, or whoever moves
 * them), or null when they may. A full channel still opens for those who may move members.
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
  if (limit === 0 || (permissions & P.MOVE_MEMBERS) !== 0n) return null;
  let others = 0;
  for (const state of guild.voiceStates.values()) {
    if (state.channel_id === channel.id && state.user_id !== userId) others++;
  }
  return others < limit ? null : refusal('MISSING_PERMISSIONS');
}

/** Seats of a voice channel; 0 is without limit. */
const userLimit = (channel: GuildChannel): number =>
  'user_limit' in channel && typeof channel.user_limit === 'number' ? channel.user_limit : 0;
