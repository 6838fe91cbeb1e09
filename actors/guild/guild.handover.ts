import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { Guild, LiveVoiceChannel } from '../../engine/guild/guild.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import type { Timer } from '../runtime/clock.ts';
import type { KeptReply } from '../runtime/commandkeys.ts';
import type { DispatchStream, StreamDispatch } from '../runtime/stream.ts';
import type { Wheel } from '../runtime/wheel.ts';

/** What one owner of a guild leaves to the next, since no table holds it. As JSON takes it. */
export interface HandoverState {
  readonly presences: readonly GatewayPresenceUpdate[];
  readonly voiceStates: readonly GatewayVoiceState[];
  readonly liveVoice: readonly (readonly [ChannelId, LiveVoiceChannel])[];
  readonly slowmode: readonly (readonly [string, number])[];
  readonly replies: readonly KeptReply[];
  /** What it told of these of late: who was out of reach then hears it from the next. */
  readonly told?: readonly StreamDispatch[];
}

/** Dispatches of what is never stored, and tells how something is from then on. */
const STATES: ReadonlySet<string> = new Set([
  ...['PRESENCE_UPDATE', 'VOICE_STATE_UPDATE', 'VOICE_CHANNEL_STATUS_UPDATE'],
  'VOICE_CHANNEL_START_TIME_UPDATE',
]);
const RECENT_MAX = 1_000;

/** All of it. */
export const handoverStateOf = (
  guild: Guild,
  replies: Iterable<KeptReply>,
  stream: DispatchStream | null,
): HandoverState => ({
  ...voiceHandoverStateOf(guild),
  presences: [...guild.presences.values()],
  slowmode: [...guild.slowmode],
  replies: [...replies],
  told: stream?.lastOf(STATES, RECENT_MAX) ?? [],
});

/** What must not be lost in a crash either. */
export const voiceHandoverStateOf = (guild: Guild): HandoverState => ({
  presences: [],
  voiceStates: [...guild.voiceStates.values()],
  liveVoice: [...guild.liveVoice],
  slowmode: [],
  replies: [],
});

export const isEmpty = (handover: HandoverState): boolean =>
  Object.values(handover).every((list: readonly unknown[]) => list.length === 0);

/** Takes it over, but for what has gone from the guild since. The members in voice are in the window already. */
export function restoreHandoverState(guild: Guild, handover: HandoverState): void {
  for (const presence of handover.presences) guild.presences.set(presence.user.id as UserId, presence);
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

/** How long changes are gathered, and how often what has not changed is written anew, as it must be fresh to count. */
const WRITE_MS = { gather: 100, refresh: 60_000 };

interface SnapshotWriterPorts {
  readonly wheel: Wheel;
  /** Writes it down; answers whether it must be kept fresh. */
  readonly write: () => Promise<boolean>;
  readonly onFault: (error: unknown) => void;
}

/** Writes down what changes, a little later and once for many changes, one writing after the other. */
export class VoiceSnapshotWriter {
  readonly #ports: SnapshotWriterPorts;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  /** It has changed since what is being written was read. */
  #changed = false;
  #wasWritten = false;
  #over = false;

  constructor(ports: SnapshotWriterPorts) {
    this.#ports = ports;
  }

  changed(): void {
    if (this.#changed || this.#over) return;
    this.#changed = true;
    if (!this.#writing) this.#wait(WRITE_MS.gather);
  }

  /** Resolves when nothing is written any more, with whether anything ever was. */
  async end(): Promise<boolean> {
    this.#over = true;
    this.#timer?.cancel();
    await this.#writing;
    return this.#wasWritten;
  }

  #wait(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#ports.wheel.add(() => this.#write(), delayMs);
  }

  #write(): void {
    this.#changed = false;
    this.#wasWritten = true;
    const written = (fresh: boolean): void => {
      this.#writing = null;
      if (this.#over) return;
      if (this.#changed) this.#wait(WRITE_MS.gather);
      else if (fresh) this.#wait(WRITE_MS.refresh);
    };
    this.#writing = this.#ports.write().then(written, (error) => {
      this.#ports.onFault(error);
      written(true);
    });
  }
}
