import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import {
  membersReached,
  nextTimeoutEndMs,
  type VoiceChange,
  voiceChanges,
} from '../../engine/guild/voice.members.ts';
import { unsettled } from '../../engine/guild/voice.states.ts';
import type { ChannelId, GuildId, UserId } from '../../protocol/ids.ts';
import type { Ending } from '../runtime/aggregate.ports.ts';
import type { Clock, Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';

/** Receives durable changes of a guild's voice members. Never throws. */
export interface GuildVoiceListener {
  /** A member joined voice, or the member's voice data changed. */
  voiceJoined(guildId: GuildId, voiceMember: VoiceMember): void;
  voiceLeft(guildId: GuildId, userId: UserId): void;
  /** The channel or its guild was deleted, or the call continues; see `VoiceListener`. */
  callEnded(guildId: GuildId, channelId: ChannelId, because?: 'moved' | 'interrupted'): void;
}

interface GuildVoiceMembersPorts {
  readonly guildId: GuildId;
  readonly listener: GuildVoiceListener;
  readonly clock: Pick<Clock, 'now'>;
  readonly wheel: Wheel;
  /** Submits the command `settleVoice`. */
  readonly settle: () => void;
}

/** The voice members of one guild: compared after each command, reported in the order of the commands. */
export class GuildVoiceMembers {
  readonly #ports: GuildVoiceMembersPorts;
  /** The members after all applied facts, including facts that are not durable yet. */
  readonly members = new Map<UserId, VoiceMember>();
  /** The channel last reported to the listener, by user. */
  readonly #notified = new Map<UserId, ChannelId>();
  #timeout: { readonly endMs: number; readonly timer: Timer } | null = null;

  constructor(ports: GuildVoiceMembersPorts) {
    this.#ports = ports;
  }

  /** Compares, and returns a function that reports the differences; call it when the facts are durable. */
  after(guild: Guild, facts: readonly GuildFact[], nowMs: number): (() => void) | null {
    const reached = membersReached(facts);
    if (reached !== 'everyone' && reached.size === 0) return null;
    const changes = voiceChanges(guild, this.members, facts, nowMs);
    const due = unsettled(guild, nowMs, reached === 'everyone' ? undefined : reached).length > 0;
    this.#awaitTimeout(guild, nowMs);
    return () => {
      for (const change of changes) this.#notify(change);
      if (due) this.#ports.settle();
    };
  }

  /** The guild's actor has ended. The voice states end with it, unless the next actor continues them. */
  end(ending: Ending): void {
    this.#timeout?.timer.cancel();
    this.#timeout = null;
    const { guildId, listener } = this.#ports;
    const because = ending === 'moved' || ending === 'interrupted' ? ending : undefined;
    for (const channelId of new Set(this.#notified.values())) listener.callEnded(guildId, channelId, because);
    this.#notified.clear();
  }

  #notify(change: VoiceChange): void {
    const { guildId, listener } = this.#ports;
    if (change.type === 'voiceJoined') {
      this.#notified.set(change.voiceMember.userId, change.voiceMember.callId);
      listener.voiceJoined(guildId, change.voiceMember);
    } else if (change.type === 'voiceLeft') {
      this.#notified.delete(change.userId);
      listener.voiceLeft(guildId, change.userId);
    } else {
      for (const [userId, callId] of this.#notified)
        if (callId === change.channelId) this.#notified.delete(userId);
      listener.callEnded(guildId, change.channelId);
    }
  }

  /** Schedules `settleVoice` for the next end of a time-out, which restores the right to speak without a fact. */
  #awaitTimeout(guild: Guild, nowMs: number): void {
    const endMs = nextTimeoutEndMs(guild, nowMs);
    if (endMs === (this.#timeout?.endMs ?? null)) return;
    this.#timeout?.timer.cancel();
    const over = () => {
      this.#timeout = null;
      // The settling may change nothing, and then no fact schedules the next end.
      this.#awaitTimeout(guild, this.#ports.clock.now());
      this.#ports.settle();
    };
    this.#timeout = endMs === null ? null : { endMs, timer: this.#ports.wheel.add(over, endMs - nowMs) };
  }
}
