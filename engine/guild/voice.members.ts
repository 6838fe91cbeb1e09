import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import { sameVoiceMember, type VoiceMember } from '../call/voicemember.ts';
import { channelById, channelPermissions, timedOutUntilMs } from '../permissions/permissions.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import { guildRules } from './rules.ts';
import { mayStream, suppressed } from './voice.states.ts';

/**
 * A user's voice member for the calls; null when the user is not in voice. It is computed from the user's current
 * permissions, so a revoked permission takes effect even if the voice state still shows otherwise.
 *
 * @param nowMs Unix milliseconds, for time-outs.
 */
export function voiceMemberOf(guild: Guild, userId: UserId, nowMs: number): VoiceMember | null {
  const state = guild.voiceStates.get(userId);
  const channel = state && channelById(guild, state.channel_id);
  if (!channel || !guild.members.get(userId)) return null;
  const { info } = guild;
  const held = channelPermissions(guild, userId, channel, nowMs);
  const suppress = suppressed(guild, channel, held, state.suppress);
  const idles = info.afk_channel_id && info.afk_channel_id !== channel.id;
  return {
    callId: channel.id,
    groupId: channel.id,
    serverId: guild.id,
    guildId: guild.id,
    userId,
    sessionId: state.session_id,
    silenced: state.mute || state.self_mute || suppress,
    deafened: state.deaf || state.self_deaf,
    mayStream: mayStream(guild, channel, held, suppress),
    mayPrioritize: (held & P.PRIORITY_SPEAKER) !== 0n,
    afkAfterMs: idles && channel.type === CHANNEL.GUILD_VOICE ? info.afk_timeout * 1000 : null,
  };
}

export type VoiceChange =
  | { readonly type: 'voiceJoined'; readonly voiceMember: VoiceMember }
  | { readonly type: 'voiceLeft'; readonly userId: UserId }
  /** The channel was deleted with its voice members; they are not removed one by one. */
  | { readonly type: 'ended'; readonly channelId: ChannelId };

/** The users whose voice members these facts may have changed; 'everyone' means everyone in voice. */
export function membersReached(facts: readonly GuildFact[]): ReadonlySet<UserId> | 'everyone' {
  const userIds = new Set<UserId>();
  for (const fact of facts) {
    const reached = guildRules.voiceMembers(fact);
    if (reached === 'everyone') return 'everyone';
    if (reached) userIds.add(reached);
  }
  return userIds;
}

/**
 * Changes of voice members after these facts, and repeats that users requested. `voiceMembers` holds the members from
 * before and is updated.
 *
 * Cost: none for facts that affect no voice member, otherwise O(users reached), at most all in voice.
 */
export function voiceChanges(
  guild: Guild,
  voiceMembers: Map<UserId, VoiceMember>,
  facts: readonly GuildFact[],
  nowMs: number,
): VoiceChange[] {
  const reached = membersReached(facts);
  const userIds =
    reached === 'everyone' ? new Set([...voiceMembers.keys(), ...guild.voiceStates.keys()]) : reached;
  const deleted = reached === 'everyone' && facts.some((fact) => fact.type === 'guildDeleted');
  const again = new Set(facts.flatMap((fact) => (fact.type === 'voiceStateRepeated' ? [fact.userId] : [])));
  const ended = new Set<ChannelId>();
  const changes: VoiceChange[] = [];
  for (const userId of userIds) {
    const before = voiceMembers.get(userId);
    const voiceMember = deleted ? null : voiceMemberOf(guild, userId, nowMs);
    if (before && (deleted || !guild.channels.has(before.callId))) ended.add(before.callId);
    if (voiceMember) {
      voiceMembers.set(userId, voiceMember);
      if (!before || again.has(userId) || !sameVoiceMember(before, voiceMember))
        changes.push({ type: 'voiceJoined', voiceMember });
    } else if (before) {
      voiceMembers.delete(userId);
      if (!ended.has(before.callId)) changes.push({ type: 'voiceLeft', userId });
    }
  }
  return [...[...ended].map((channelId) => ({ type: 'ended', channelId }) as const), ...changes];
}

/** When the next time-out of a member in voice ends, Unix milliseconds; null without one. */
export function nextTimeoutEndMs(guild: Guild, nowMs: number): number | null {
  let earliest = Number.POSITIVE_INFINITY;
  for (const userId of guild.voiceStates.keys()) {
    const member = guild.members.get(userId);
    const untilMs = member ? timedOutUntilMs(member) : 0;
    if (untilMs > nowMs) earliest = Math.min(earliest, untilMs);
  }
  return earliest === Number.POSITIVE_INFINITY ? null : earliest;
}
