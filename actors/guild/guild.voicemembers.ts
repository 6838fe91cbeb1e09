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
import type { Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';

/** Receives where the members of a guild are in voice, once that is durable. Never throws. */
export interface GuildVoiceListener {
  /** A seat is new, or something in it changed. */
  voiceJoined(guildId: GuildId, voiceMember: VoiceMember): void;
  voiceLeft(guildId: GuildId, userId: UserId): void;
  /** The channel is gone, or its guild is: all its seats are. `moved`: they go on with another owner. */
  callEnded(guildId: GuildId, channelId: ChannelId, moved?: boolean): void;
}

interface GuildVoiceMembersPorts {
  readonly guildId: GuildId;
  readonly listener: GuildVoiceListener;
  readonly wheel: Wheel;
  /** Has `settleVoice` decided. */
  readonly settle: () => void;
}

/** The voice members of one guild: compared after each command, reported in the order of the commands. */
export class GuildVoiceMembers {
  readonly #ports: GuildVoiceMembersPorts;
  /** As the facts applied so far leave them; some of those may not be durable yet. */
  readonly #members = new Map<UserId, VoiceMember>();
  /** Where the listener believes everyone to be. */
  readonly #notified = new Map<UserId, ChannelId>();
  #timeout: { readonly endMs: number; readonly timer: Timer } | null = null;

  constructor(ports: GuildVoiceMembersPorts) {
    this.#ports = ports;
  }

  /** Compares, and returns a function that reports the differences; call it when the facts are durable. */
  after(guild: Guild, facts: readonly GuildFact[], nowMs: number): (() => void) | null {
    const reached = membersReached(facts);
    if (reached !== 'everyone' && reached.size === 0) return null;
    if (guild.voiceStates.size === 0 && this.#members.size === 0) return null;
    const changes = voiceChanges(guild, this.#members, facts, nowMs);
    const due = unsettled(guild, nowMs, reached === 'everyone' ? undefined : reached).length > 0;
    this.#awaitTimeout(guild, nowMs);
    return () => {
      for (const change of changes) this.#notify(change);
      if (due) this.#ports.settle();
    };
  }

  /** The guild's actor is over, and the voice states with it, unless they go on with another owner. */
  end(moved: boolean): void {
    this.#timeout?.timer.cancel();
    this.#timeout = null;
    const { guildId, listener } = this.#ports;
    for (const channelId of new Set(this.#notified.values())) listener.callEnded(guildId, channelId, moved);
    this.#notified.clear();
  }

  #notify(change: VoiceChange): void {
    const { guildId, listener } = this.#ports;
    if (change.type === 'seated') {
      this.#notified.set(change.voiceMember.userId, change.voiceMember.callId);
      listener.voiceJoined(guildId, change.voiceMember);
    } else if (change.type === 'unseated') {
      this.#notified.delete(change.userId);
      listener.voiceLeft(guildId, change.userId);
    } else {
      for (const [userId, callId] of this.#notified)
        if (callId === change.channelId) this.#notified.delete(userId);
      listener.callEnded(guildId, change.channelId);
    }
  }

  /** No fact tells of the end of a time-out, and it gives a voice back. */
  #awaitTimeout(guild: Guild, nowMs: number): void {
    const endMs = nextTimeoutEndMs(guild, nowMs);
    if (endMs === (this.#timeout?.endMs ?? null)) return;
    this.#timeout?.timer.cancel();
    const over = () => {
      this.#timeout = null;
      this.#ports.settle();
    };
    this.#timeout = endMs === null ? null : { endMs, timer: this.#ports.wheel.add(over, endMs - nowMs) };
  }
}
