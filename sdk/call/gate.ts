import { AudioModeType } from './enums.ts';

/** When a voice counts as one. */
export interface VADThresholdSettings {
  /** Decibels relative to full scale, -100 to 0; used unless `automatic`. */
  readonly vadThreshold: number;
  /** The threshold follows the noise of the room. */
  readonly automatic: boolean;
}

/** Nothing is quieter. */
export const SILENCE_DB = -100;
const THRESHOLD_DB = -60;
/** Words have gaps: the gate stays open so long after the last sound. */
const HANG_MS = 400;
/** How far above the noise of the room a voice is, and what is taken for a voice, or for none, in any room. */
const ABOVE_NOISE_DB = 12;
const AUTOMATIC_DB = { min: -60, max: -35 } as const;
/** How fast noise that has grown is believed to be noise. */
const NOISE_DB_PER_SEC = 3;

/** Loudness of samples with this root mean square (1 is full scale), in decibels, never below `SILENCE_DB`. */
export const decibels = (rms: number): number =>
  rms > 0 ? Math.max(SILENCE_DB, 20 * Math.log10(rms)) : SILENCE_DB;

/** Whether the microphone is sent: while it is loud, or while a key is held. It is told the time and how loud it is. */
export class Gate {
  mode: AudioModeType = AudioModeType.MODE_VAD;
  vad: VADThresholdSettings = { vadThreshold: THRESHOLD_DB, automatic: true };
  /** How long after the key was let go the gate stays open. */
  releaseDelayMs = 0;
  #isHeld = false;
  #openUntilMs = 0;
  #noiseDb = SILENCE_DB;
  #heardMs: number | null = null;

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** The key is pressed, or let go. */
  hold(isHeld: boolean, nowMs: number): void {
    if (this.#isHeld && !isHeld) this.#openUntilMs = nowMs + this.releaseDelayMs;
    this.#isHeld = isHeld;
  }

  /** The microphone was so loud just now; call it at least every 100 ms. */
  hear(levelDb: number, nowMs: number): void {
    const sec = this.#heardMs === null ? 0 : Math.max(0, nowMs - this.#heardMs) / 1000;
    this.#heardMs = nowMs;
    this.#noiseDb = Math.min(levelDb, this.#noiseDb + sec * NOISE_DB_PER_SEC);
    if (this.mode === AudioModeType.MODE_VAD && levelDb >= this.#thresholdDb())
      this.#openUntilMs = nowMs + HANG_MS;
  }

  /** Nothing measures the microphone: rather silence is sent than a voice lost. Call it as often as `hear`. */
  hearUnmeasured(nowMs: number): void {
    if (this.mode === AudioModeType.MODE_VAD) this.#openUntilMs = nowMs + HANG_MS;
  }

  isOpen(nowMs: number): boolean {
    if (this.mode === AudioModeType.MODE_PTT && this.#isHeld) return true;
    return this.mode !== AudioModeType.MODE_UNINIT && nowMs < this.#openUntilMs;
  }

  #thresholdDb(): number {
    const { automatic, vadThreshold } = this.vad;
    if (!automatic) return vadThreshold;
    return Math.min(Math.max(this.#noiseDb + ABOVE_NOISE_DB, AUTOMATIC_DB.min), AUTOMATIC_DB.max);
  }
}
