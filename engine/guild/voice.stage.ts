import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { channelById } from '../permissions/permissions.ts';
import { sameValue } from './auditing.ts';
import { bitsIn } from './authorize.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';

/** A requested change of a voice state on a stage: the caller's own, or another's. An absent key keeps its part. */
export interface StageWish {
  readonly userId: UserId;
  /** The stage channel, in which the user must be. Absent: the channel that the user is in. */
  readonly channelId?: ChannelId;
  readonly suppress?: boolean;
  /** ISO 8601: raises the caller's own hand; null lowers it. A past time counts as now. */
  readonly requestToSpeak?: string | null;
}

/**
 * Rules of Modify Current User Voice State and Modify User Voice State. Everyone may leave the stage and lower their
 * own hand. Raising it requires REQUEST_TO_SPEAK; bringing a user on stage, or changing another user's state at all,
 * requires MUTE_MEMBERS. Bringing another user on stage is an invitation, except for a bot: the timestamp is the time
 * of the invitation.
 *
 * @source https://docs.discord.com/developers/resources/voice#modify-current-user-voice-state and
 * https://docs.discord.com/developers/resources/voice#modify-user-voice-state
 */
export function changeOnStage(guild: Guild, wish: StageWish, by: By, env: Env): Outcome<null, GuildFact> {
  const state = guild.voiceStates.get(wish.userId);
  const member = guild.members.get(wish.userId);
  if (!state || !member) return refused(refusal('UNKNOWN_VOICE_STATE'));
  const channel = channelById(guild, wish.channelId ?? state.channel_id);
  if (!channel) return refused(refusal('UNKNOWN_CHANNEL'));
  const held = bitsIn(guild, by, channel, env.nowMs);
  const own = by.userId === wish.userId;
  // A caller who cannot see the channel does not learn that someone is in it.
  if (!own && (held & P.VIEW_CHANNEL) === 0n) return refused(refusal('UNKNOWN_VOICE_STATE'));
  if (channel.type !== CHANNEL.GUILD_STAGE_VOICE) return refused(refusal('CANNOT_EXECUTE_ON_CHANNEL_TYPE'));
  if (channel.id !== state.channel_id) return refused(refusal('UNKNOWN_VOICE_STATE'));
  const no = stageRefusal(state, wish, own, held);
  if (no) return refused(no);
  const voiceState = { ...onStage(state, wish, own, env.nowMs), member: member };
  if (sameValue(state, voiceState)) return accepted(null);
  return accepted(null, [{ type: 'voiceStateChanged', userId: wish.userId, voiceState }]);
}

function stageRefusal(state: GatewayVoiceState, wish: StageWish, own: boolean, held: bigint): Refusal | null {
  const rises = wish.suppress === false && state.suppress;
  const needed =
    (!own || rises ? P.MUTE_MEMBERS : 0n) | (own && wish.requestToSpeak ? P.REQUEST_TO_SPEAK : 0n);
  return (held & needed) === needed ? null : refusal('MISSING_PERMISSIONS');
}

function onStage(state: GatewayVoiceState, wish: StageWish, own: boolean, nowMs: number): GatewayVoiceState {
  const { requestToSpeak: raised } = wish;
  const suppress = wish.suppress ?? state.suppress;
  let since = state.request_to_speak_timestamp;
  if (suppress && !state.suppress) since = null;
  if (!suppress && state.suppress) {
    since = own || state.member?.user.bot ? null : isoTimestamp(nowMs);
  }
  if (own && raised !== undefined) {
    since = raised === null ? null : isoTimestamp(Math.max(nowMs, Date.parse(raised)));
  }
  const selfVideo = state.self_video && !suppress;
  return { ...state, suppress, self_video: selfVideo, request_to_speak_timestamp: since };
}
