import { timingSafeEqual } from 'node:crypto';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { Timer } from '../runtime/clock.ts';
import type { VoiceIdentify, VoiceSink } from './ports.ts';
import type { CallSession, Close } from './session.ts';

interface Wheel {
  add(run: () => void, delayMs: number): Timer;
}

/** The call of a place, as far as a change of the place concerns it. */
interface ParticipantCall {
  readonly callId: string;
  enter(participant: Participant, identify: VoiceIdentify, sink: VoiceSink): CallSession;
  memberChanged(participant: Participant): void;
  introduce(session: CallSession): void;
  audienceChanged(participant: Participant): void;
  vacate(participant: Participant, close: Close): void;
}

/** A user's place in a call: what the seat says, the ticket to it, and the voice session that has taken it, if any. */
export class Participant {
  voiceMember: VoiceMember;
  readonly call: ParticipantCall;
  session: CallSession | null = null;
  /** Users who may hear this one; null: everyone. */
  audience: ReadonlySet<string> | null = null;
  #token = '';
  #spokeMs: number;
  #afk: Timer | null = null;
  #absence: Timer | null = null;
  #gone = false;

  constructor(voiceMember: VoiceMember, call: ParticipantCall, nowMs: number) {
    this.voiceMember = voiceMember;
    this.call = call;
    this.#spokeMs = nowMs;
  }

  get gone(): boolean {
    return this.#gone;
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

  /** The user has just been speaking. */
  spoke(nowMs: number): void {
    this.#spokeMs = nowMs;
  }

  /** Calls `run` whenever the user has not spoken for as long as the seat says. */
  watchSilence(wheel: Wheel, nowMs: () => number, run: () => void): void {
    this.#afk?.cancel();
    this.#afk = null;
    const { afkAfterMs } = this.voiceMember;
    if (afkAfterMs === null) return;
    const look = () => {
      if (this.session?.member.speech.heard) this.#spokeMs = nowMs();
      const leftMs = this.#spokeMs + afkAfterMs - nowMs();
      if (leftMs <= 0) {
        this.#spokeMs = nowMs();
        run();
      }
      // The run may have taken the user elsewhere.
      if (!this.#gone) this.#afk = wheel.add(look, leftMs > 0 ? leftMs : afkAfterMs);
    };
    this.#afk = wheel.add(look, Math.max(0, this.#spokeMs + afkAfterMs - nowMs()));
  }

  /** The voice session has ended and the seat stands: `run` is called unless another takes it in time. */
  awaitReturn(wheel: Wheel, windowMs: number, run: () => void): void {
    this.#absence?.cancel();
    this.#absence = wheel.add(run, windowMs);
  }

  take(session: CallSession): void {
    this.#absence?.cancel();
    this.#absence = null;
    this.session = session;
  }

  /** The seat is given up. */
  leave(): void {
    this.#gone = true;
    this.#afk?.cancel();
    this.#absence?.cancel();
  }
}
