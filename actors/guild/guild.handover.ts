import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { Guild, LiveVoiceChannel } from '../../engine/guild/guild.ts';
import { dispatchRow } from '../../protocol/dispatches.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import type { Timer } from '../runtime/clock.ts';
import type { KeptReply } from '../runtime/commandkeys.ts';
import type { OwnerEpoch } from '../runtime/ownerepoch.ts';
import type { DispatchStream, StreamDispatch } from '../runtime/stream.ts';
import type { Wheel } from '../runtime/wheel.ts';

/** State of a guild that is in no table, passed from one owner to the next as JSON. */
export interface HandoverState {
  /** The epoch of an owner that handed the guild over; absent where only voice was stored, and from earlier versions. */
  readonly epoch?: number;
  readonly presences: readonly GatewayPresenceUpdate[];
  readonly voiceStates: readonly GatewayVoiceState[];
  readonly liveVoice: readonly (readonly [ChannelId, LiveVoiceChannel])[];
  readonly slowmode: readonly (readonly [string, number])[];
  readonly replies: readonly KeptReply[];
  /** The number up to which such dispatches may be missing. */
  readonly floor?: number;
  /** Recent dispatches of this state; the next owner delivers them to sessions that were unreachable. */
  readonly told?: readonly StreamDispatch[];
}

const RECENT_MAX = 1_000;
/** Dispatches in the snapshots for a crash, which are written after every change. */
const RECENT_VOICE: ReadonlySet<string> = new Set(['VOICE_STATE_UPDATE', 'STREAM_DELETE']);
const RECENT_VOICE_MAX = 32;

/** The complete handover state, for a planned change of owner. */
export const handoverStateOf = (
  guild: Guild,
  { keys, stream, fence: { epoch } }: Pick<OwnerEpoch, 'keys' | 'stream' | 'fence'>,
): HandoverState => {
  const told = stream.lastOf((t) => dispatchRow(t).showsUnstored === true, RECENT_MAX);
  // Older ones may have been left out: a session behind this number must receive the guild again.
  const [oldest] = told.length < RECENT_MAX ? [] : told;
  return {
    ...{ ...voiceHandoverStateOf(guild, stream), epoch, told },
    floor: Math.max(stream.floor, oldest ? oldest.n - 1 : 0),
    presences: [...guild.presences.values()],
    slowmode: [...guild.slowmode].filter(([, atMs]) => atMs > 0),
    replies: [...keys.unrecorded()],
  };
};

/**
 * The part of the handover state that must survive a crash. Its last dispatches reach sessions that the lost owner did not: these would
 * show users in voice who have left since.
 */
export const voiceHandoverStateOf = (guild: Guild, stream: DispatchStream | null): HandoverState => ({
  told: stream?.lastOf((t) => RECENT_VOICE.has(t), RECENT_VOICE_MAX) ?? [],
  presences: [],
  voiceStates: [...guild.voiceStates.values()],
  liveVoice: [...guild.liveVoice],
  slowmode: [],
  replies: [],
});

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
  for (const state of handover.voiceStates) {
    const userId = state.user_id;
    const member = guild.members.get(userId);
    if (member && guild.channels.has(state.channel_id as ChannelId))
      guild.voiceStates.set(userId, { ...state, member });
  }
  for (const [channelId, live] of handover.liveVoice)
    if (guild.channels.has(channelId)) guild.liveVoice.set(channelId, live);
  for (const [key, atMs] of handover.slowmode) guild.slowmode.set(key, atMs);
}

/**
 * How long changes are collected after a write, how long after that an unchanged snapshot is written again, because an old one is ignored, and
 * how soon one that could not be written is: until then the next owner would restore who has left.
 */
const WRITE_MS = { gather: 100, refresh: 60_000, retry: 2_000 };

interface SnapshotWriterPorts {
  readonly wheel: Wheel;
  /** Writes the snapshot. @returns Whether it must be refreshed. */
  readonly write: () => Promise<boolean>;
  readonly onFault: (error: unknown) => void;
}

/**
 * Writes a snapshot in the turn of a change, because an owner that dies before loses the change; those that follow soon share a write. One
 * write at a time.
 */
export class VoiceSnapshotWriter {
  readonly #ports: SnapshotWriterPorts;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  /** Whether changes are collected since a write. */
  #isGathering = false;
  /** Whether there is a change that no write has begun with; no write begins after `ended`. */
  #state: 'unchanged' | 'changed' | 'ended' = 'unchanged';
  #wasWritten = false;

  constructor(ports: SnapshotWriterPorts) {
    this.#ports = ports;
  }

  changed(): void {
    if (this.#state !== 'unchanged') return;
    this.#state = 'changed';
    if (!this.#writing && !this.#isGathering) this.#write();
  }

  /** Resolves after the last write, with whether anything was ever written. */
  async end(): Promise<boolean> {
    this.#state = 'ended';
    this.#timer?.cancel();
    await this.#writing;
    return this.#wasWritten;
  }

  #wait(run: () => void, delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#ports.wheel.add(run, delayMs);
  }

  #write(): void {
    this.#timer?.cancel();
    this.#writing = this.#begun().then(
      (fresh) => this.#gather(WRITE_MS.gather, fresh),
      (error) => {
        this.#ports.onFault(error);
        if (this.#state !== 'ended') this.#state = 'changed';
        this.#gather(WRITE_MS.retry, false);
      },
    );
  }

  /** Takes the snapshot at the end of the turn, with all that changes in it. */
  async #begun(): Promise<boolean> {
    await null;
    if (this.#state === 'ended') return false;
    this.#state = 'unchanged';
    this.#wasWritten = true;
    return this.#ports.write();
  }

  #gather(delayMs: number, fresh: boolean): void {
    this.#writing = null;
    if (this.#state === 'ended') return;
    this.#isGathering = true;
    this.#wait(() => {
      this.#isGathering = false;
      if (this.#state === 'changed') this.#write();
      else if (fresh) this.#wait(() => this.#write(), WRITE_MS.refresh);
    }, delayMs);
  }
}
