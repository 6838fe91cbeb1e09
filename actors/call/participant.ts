import { timingSafeEqual } from 'node:crypto';
import type { CallCommands } from '../../engine/call/rules.ts';
import { silenceLeftMs } from '../../engine/call/silence.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { UserId } from '../../protocol/ids.ts';
import type { Timer } from '../runtime/clock.ts';
import type { VoiceIdentify, VoiceSink } from './ports.ts';
import type { CallSession, Close } from './session.ts';

interface Wheel {
  add(run: () => void, delayMs: number): Timer;
}

/** The call of a voice channel, as far as a change of its voice members concerns it. */
interface ParticipantCall {
  readonly callId: string;
  enter(participant: Participant, identify: VoiceIdentify, sink: VoiceSink): CallSession;
  run<N extends keyof CallCommands>(type: N, input: CallCommands[N]['input']): void;
  /** Whether audio of the user arrives. */
  isAudioReceived(userId: UserId): boolean;
  vacate(participant: Participant, close: Close): void;
}

/** A user's membership of a call: the voice member, the token for it, and the voice session that uses it, if any. */
export class Participant {
  voiceMember: VoiceMember;
  readonly call: ParticipantCall;
  session: CallSession | null = null;
  /** Users who may hear this one. Null when everyone may. */
  audience: ReadonlySet<UserId> | null = null;
  #token = '';
  #spokeMs: number;
  #afk: Timer | null = null;
  #absence: Timer | null = null;

  constructor(voiceMember: VoiceMember, call: ParticipantCall, nowMs: number) {
    this.voiceMember = voiceMember;
    this.call = call;
    this.#spokeMs = nowMs;
  }

  get token(): string {
    return this.#token;
  }

  renew(randomBytes: (size: number) => Uint8Array): string {
    this.#token = Buffer.from(randomBytes(24)).toString('base64url');
    return this.#token;
  }

  admits(token: string): boolean {
    const given = Buffer.from(token);
    const own = Buffer.from(this.#token);
    return given.byteLength === own.byteLength && timingSafeEqual(given, own);
  }

  /** Records that the user has just spoken. */
  spoke(nowMs: number): void {
    this.#spokeMs = nowMs;
  }

  /** Calls `run` each time the user has not spoken for the AFK timeout of the voice member. */
  watchSilence(wheel: Wheel, nowMs: () => number, run: () => void): void {
    this.#afk?.cancel();
    this.#afk = null;
    const { afkAfterMs } = this.voiceMember;
    if (afkAfterMs === null) return;
    const leftMs = (): number => silenceLeftMs(this.#spokeMs, afkAfterMs, nowMs());
    const look = (): void => {
      if (this.call.isAudioReceived(this.voiceMember.userId)) this.#spokeMs = nowMs();
      const isSilent = leftMs() === 0;
      if (isSilent) this.#spokeMs = nowMs();
      // Before `run`, which may move the user to another channel and so end the watch.
      this.#afk = wheel.add(look, leftMs());
      if (isSilent) run();
    };
    this.#afk = wheel.add(look, leftMs());
  }

  /**
   * The voice session ended and the user is still a voice member: calls `run` unless another session connects in time.
   */
  awaitReturn(wheel: Wheel, windowMs: number, run: () => void): void {
    this.#absence?.cancel();
    this.#absence = wheel.add(run, windowMs);
  }

  take(session: CallSession): void {
    this.#absence?.cancel();
    this.#absence = null;
    this.session = session;
  }

  /** The user is no longer a voice member: ends all watches. */
  leave(): void {
    this.#afk?.cancel();
    this.#absence?.cancel();
  }
}
