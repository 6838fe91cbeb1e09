import type { GatewayPresenceUpdate } from 'discord-api-types/v10';
import type { Guild, LiveVoiceChannel } from '../../engine/guild/guild.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import type { GatewayVoiceState } from '../../protocol/objects.ts';
import type { Timer } from '../runtime/clock.ts';
import type { KeptReply } from '../runtime/commandkeys.ts';
import type { DispatchStream, StreamDispatch } from '../runtime/stream.ts';
import type { Wheel } from '../runtime/wheel.ts';

/** What one owner of a guild leaves to the next, since no table holds it. As JSON takes it. */
export interface Estate {
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
const TOLD_MAX = 1_000;

/** All of it. */
export const estateOf = (
  guild: Guild,
  replies: Iterable<KeptReply>,
  stream: DispatchStream | null,
): Estate => ({
  ...voiceEstateOf(guild),
  presences: [...guild.presences.values()],
  slowmode: [...guild.slowmode],
  replies: [...replies],
  told: stream?.lastOf(STATES, TOLD_MAX) ?? [],
});

/** What must not be lost in a crash either. */
export const voiceEstateOf = (guild: Guild): Estate => ({
  presences: [],
  voiceStates: [...guild.voiceStates.values()],
  liveVoice: [...guild.liveVoice],
  slowmode: [],
  replies: [],
});

export const isEmpty = (estate: Estate): boolean =>
  Object.values(estate).every((list: readonly unknown[]) => list.length === 0);

/** Takes it over, but for what has gone from the guild since. The members in voice are in the window already. */
export function inherit(guild: Guild, estate: Estate): void {
  for (const presence of estate.presences) guild.presences.set(presence.user.id as UserId, presence);
  for (const state of estate.voiceStates) {
    const userId = state.user_id;
    const member = guild.members.get(userId);
    if (member && guild.channels.has(state.channel_id as ChannelId))
      guild.voiceStates.set(userId, { ...state, member });
  }
  for (const [channelId, live] of estate.liveVoice)
    if (guild.channels.has(channelId)) guild.liveVoice.set(channelId, live);
  for (const [key, atMs] of estate.slowmode) guild.slowmode.set(key, atMs);
}

/** How long changes are gathered, and how often what has not changed is written anew, as it must be fresh to count. */
const KEEP_MS = { gather: 100, refresh: 60_000 };

interface KeeperPorts {
  readonly wheel: Wheel;
  /** Writes it down; answers whether it must be kept fresh. */
  readonly keep: () => Promise<boolean>;
  readonly onFault: (error: unknown) => void;
}

/** Writes down what changes, a little later and once for many changes, one writing after the other. */
export class VoiceKeeper {
  readonly #ports: KeeperPorts;
  #timer: Timer | null = null;
  #writing: Promise<void> | null = null;
  /** It has changed since what is being written was read. */
  #changed = false;
  #kept = false;
  #over = false;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
  }

  changed(): void {
    if (this.#changed || this.#over) return;
    this.#changed = true;
    if (!this.#writing) this.#wait(KEEP_MS.gather);
  }

  /** Resolves when nothing is written any more, with whether anything ever was. */
  async end(): Promise<boolean> {
    this.#over = true;
    this.#timer?.cancel();
    await this.#writing;
    return this.#kept;
  }

  #wait(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#ports.wheel.add(() => this.#write(), delayMs);
  }

  #write(): void {
    this.#changed = false;
    this.#kept = true;
    const written = (fresh: boolean): void => {
      this.#writing = null;
      if (this.#over) return;
      if (this.#changed) this.#wait(KEEP_MS.gather);
      else if (fresh) this.#wait(KEEP_MS.refresh);
    };
    this.#writing = this.#ports.keep().then(written, (error) => {
      this.#ports.onFault(error);
      written(true);
    });
  }
}
