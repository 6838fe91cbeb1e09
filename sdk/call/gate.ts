import { AudioModeType } from './enums.ts';

/** Settings of voice activity detection. */
export interface VADThresholdSettings {
  /** Decibels relative to full scale, -100 to 0; used unless `automatic`. */
  readonly vadThreshold: number;
  /** The threshold follows the background noise. */
  readonly automatic: boolean;
}

/** Lower bound of all levels, decibels. */
export const SILENCE_DB = -100;
const THRESHOLD_DB = -60;
/** The gate stays open this long after the last voice, milliseconds, to bridge pauses between words. */
const HANG_MS = 400;
/** Automatic threshold: distance above the noise level, and the range it is clamped to, in decibels. */
const ABOVE_NOISE_DB = 12;
const AUTOMATIC_DB = { min: -60, max: -35 } as const;
/** How fast the noise estimate rises, decibels a second. */
const NOISE_DB_PER_SEC = 3;

/** Level of samples with this root mean square (1 is full scale) in decibels, at least `SILENCE_DB`. */
export const decibels = (rms: number): number =>
  rms > 0 ? Math.max(SILENCE_DB, 20 * Math.log10(rms)) : SILENCE_DB;

/** Decides whether the microphone is sent: by voice activity or push to talk. Time and level are arguments. */
export class Gate {
  mode: AudioModeType = AudioModeType.MODE_VAD;
  vad: VADThresholdSettings = { vadThreshold: THRESHOLD_DB, automatic: true };
  /** How long the gate stays open after the key is released, milliseconds. */
  releaseDelayMs = 0;
  #isHeld = false;
  #openUntilMs = 0;
  #noiseDb = SILENCE_DB;
  #measuredMs: number | null = null;

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** The push-to-talk key was pressed or released. */
  setHeld(isHeld: boolean, nowMs: number): void {
    if (this.#isHeld && !isHeld) this.#openUntilMs = nowMs + this.releaseDelayMs;
    this.#isHeld = isHeld;
  }

  /** Takes the current microphone level; call it at least every 100 ms. */
  measure(levelDb: number, nowMs: number): void {
    const sec = this.#measuredMs === null ? 0 : Math.max(0, nowMs - this.#measuredMs) / 1000;
    this.#measuredMs = nowMs;
    this.#noiseDb = Math.min(levelDb, this.#noiseDb + sec * NOISE_DB_PER_SEC);
    if (this.mode === AudioModeType.MODE_VAD && levelDb >= this.#thresholdDb())
      this.#openUntilMs = nowMs + HANG_MS;
  }

  /** The level is unknown: keeps the gate open so that no speech is lost. Call it as often as `measure`. */
  levelUnknown(nowMs: number): void {
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
