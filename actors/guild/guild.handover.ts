import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { Guild } from '../../engine/guild/guild.ts';
import { dispatchRow } from '../../protocol/dispatches.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GuildSnapshot } from '../../storage/guild/port.ts';
import type { KeptReply } from '../runtime/commandkeys.ts';
import type { OwnerEpoch } from '../runtime/ownerepoch.ts';
import type { StreamDispatch } from '../runtime/stream.ts';

/** State of a guild that is in no table, passed from one owner to the next as JSON. */
export interface HandoverState {
  /** The epoch of the owner that handed the guild over; absent from earlier versions. */
  readonly epoch?: number;
  readonly presences: readonly GatewayPresenceUpdate[];
  readonly slowmode: readonly (readonly [string, number])[];
  readonly replies: readonly KeptReply[];
  /** The number up to which such dispatches may be missing. */
  readonly floor?: number;
  /** Recent dispatches of this state; the next owner delivers them to sessions that were unreachable. */
  readonly told?: readonly StreamDispatch[];
}

const RECENT_MAX = 1_000;

/** The complete handover state, for a planned change of owner. */
export const handoverStateOf = (
  guild: Guild,
  { keys, stream, fence: { epoch } }: Pick<OwnerEpoch, 'keys' | 'stream' | 'fence'>,
): HandoverState => {
  const told = stream.lastOf((t) => dispatchRow(t).showsUnstored === true, RECENT_MAX);
  // Older ones may have been left out: a session behind this number must receive the guild again.
  const [oldest] = told.length < RECENT_MAX ? [] : told;
  return {
    ...{ epoch, told },
    floor: Math.max(stream.floor, oldest ? oldest.n - 1 : 0),
    presences: [...guild.presences.values()],
    slowmode: [...guild.slowmode].filter(([, atMs]) => atMs > 0),
    replies: [...keys.unrecorded()],
  };
};

export const isEmpty = ({ epoch: _, floor: __, ...lists }: HandoverState): boolean =>
  Object.values(lists).every((list: readonly unknown[]) => list.length === 0);

/**
 * Restores handover state, except for channels and members that no longer exist. Members in voice must be in the window.
 *
 * @param epoch The new owner's. Presences are restored from the owner just before: one in between, which was lost before it replaced
 * the state, may have sent others, and a presence that equals the restored one is not sent again.
 */
export function restoreHandoverState(guild: Guild, handover: HandoverState, epoch: number): void {
  const isCurrent = handover.epoch === undefined || handover.epoch === epoch - 1;
  for (const presence of isCurrent ? handover.presences : [])
    guild.presences.set(presence.user.id as UserId, presence);
  for (const [key, atMs] of handover.slowmode) guild.slowmode.set(key, atMs);
}

/** Continues voice, except for channels and members that no longer exist. Members in voice must be in the window. */
export function restoreVoice(
  guild: Guild,
  { voiceStates, liveVoice }: Pick<GuildSnapshot, 'voiceStates' | 'liveVoice'>,
): void {
  for (const state of voiceStates) {
    const userId = state.user_id;
    const member = guild.members.get(userId);
    if (member && guild.channels.has(state.channel_id as ChannelId))
      guild.voiceStates.set(userId, { ...state, member });
  }
  for (const [channelId, live] of liveVoice)
    if (guild.channels.has(channelId)) guild.liveVoice.set(channelId, live);
}
