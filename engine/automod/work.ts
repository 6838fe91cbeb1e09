import { LIMITS } from '../../protocol/limits.ts';

/**
 * How much a guild's patterns have worked lately, in instructions times characters. Linear time is still long where a
 * guild has the largest patterns, so their work has a share of the processor; beyond it messages wait.
 */
export class PatternWork {
  #level = 0;
  #atMs = 0;

  note(units: number, nowMs: number): void {
    this.#level = this.#levelAt(nowMs) + units;
    this.#atMs = nowMs;
  }

  /** How long the next message has to wait; 0 for not at all. */
  waitMs(nowMs: number): number {
    const excess = this.#levelAt(nowMs) - LIMITS.automod_regex_work_max;
    return excess <= 0 ? 0 : (excess / LIMITS.automod_regex_work_per_sec) * 1_000;
  }

  #levelAt(nowMs: number): number {
    const passedSec = Math.max(0, nowMs - this.#atMs) / 1_000;
    return Math.max(0, this.#level - passedSec * LIMITS.automod_regex_work_per_sec);
  }
}
