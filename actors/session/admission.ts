import type { Timer } from '../runtime/clock.ts';
import type { Wheel } from '../runtime/wheel.ts';

interface AdmissionPorts {
  /** Admitted sessions per second, and the burst after an idle second. */
  readonly perSec: number;
  /** Upper bound on waiting sessions; further ones are rejected. */
  readonly waitingMax: number;
  readonly wheel: Wheel;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
}

const STEP_MS = 20;

/**
 * Limits the rate of session starts, in order of arrival, so that a connection storm does not stall existing sessions.
 */
export class Admission {
  readonly waitingMax: number;
  readonly #ports: AdmissionPorts;
  #waiting: (() => void)[] = [];
  #credit: number;
  #countedMs: number;
  #timer: Timer | null = null;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
    this.waitingMax = ports.waitingMax;
    this.#credit = ports.perSec;
    this.#countedMs = ports.nowMs();
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves to true when the caller is admitted; to false at once when too many wait. */
  async turn(): Promise<boolean> {
    if (this.#waiting.length === 0 && this.#take()) return true;
    if (this.#waiting.length >= this.waitingMax) return false;
    const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#serveLater();
    await turn;
    return true;
  }

  #take(): boolean {
    const { nowMs, perSec } = this.#ports;
    const atMs = nowMs();
    this.#credit = Math.min(perSec, this.#credit + ((atMs - this.#countedMs) * perSec) / 1000);
    this.#countedMs = atMs;
    if (this.#credit < 1) return false;
    this.#credit -= 1;
    return true;
  }

  #serveLater(): void {
    this.#timer ??= this.#ports.wheel.add(() => {
      this.#timer = null;
      let served = 0;
      while (served < this.#waiting.length && this.#take()) served += 1;
      for (const resolve of this.#waiting.splice(0, served)) resolve();
      if (this.#waiting.length > 0) this.#serveLater();
    }, STEP_MS);
  }
}
