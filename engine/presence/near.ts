import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { Dispatch } from '../kernel/dispatch.ts';

/**
 * Whether a session is shown the presences of a guild only near its user. Bots choose by their intents instead.
 *
 * @source https://docs.discord.com/developers/events/gateway-events#identify, `large_threshold`
 */
export const isFarIn = (
  { memberCount }: { readonly memberCount: number },
  { bot, largeThreshold }: { readonly bot: boolean; readonly largeThreshold?: number },
): boolean => !bot && largeThreshold !== undefined && memberCount > largeThreshold;

type VoiceStates<Id extends string> = ReadonlyMap<Id, { readonly channel_id: string | null }>;

/** The user, and everyone in the same call. */
export function nearTo<Id extends string>(
  { voiceStates }: { readonly voiceStates: VoiceStates<Id> },
  userId: Id,
): Id[] {
  const channelId = voiceStates.get(userId)?.channel_id ?? null;
  if (channelId === null) return [userId];
  return [...voiceStates].flatMap(([id, { channel_id }]) => (channel_id === channelId ? [id] : []));
}

/**
 * The presences that a user who has just joined a call and the others there receive of each other. They go to sessions
 * that are shown only what is near them, as these have received none before. None above `LIMITS.call_presences_max`
 * users: then N users who join would cause N² dispatches.
 */
export function presencesOnJoining(
  guild: {
    readonly memberCount: number;
    readonly voiceStates: VoiceStates<UserId>;
    readonly presences: ReadonlyMap<UserId, GatewayPresenceUpdate>;
  },
  userId: UserId,
): Dispatch[] {
  // No session calls a smaller guild large.
  if (guild.memberCount <= LIMITS.large_threshold_min) return [];
  const others = nearTo(guild, userId).filter((id) => id !== userId);
  if (others.length === 0 || others.length >= LIMITS.call_presences_max) return [];
  const shown = (of: UserId, userIds: readonly UserId[]): Dispatch[] => {
    const d = guild.presences.get(of);
    return d ? [{ t: 'PRESENCE_UPDATE', d, to: { kind: 'users', userIds } }] : [];
  };
  return [...shown(userId, others), ...others.flatMap((other) => shown(other, [userId]))];
}
