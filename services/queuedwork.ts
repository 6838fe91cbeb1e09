import type { Lifetime, Timer } from '../actors/runtime/clock.ts';
import type { Wheel } from '../actors/runtime/wheel.ts';

interface QueuedWorkPorts {
  /** Does what is queued, and stops early when the scope ends. */
  readonly work: () => Promise<'done' | 'failed'>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly onFault: (error: unknown) => void;
}

/** Work is read when it is queued, and this often, because a crash or another owner may have left some. */
const INTERVAL_MS = 60_000;
const RETRY_MS = 5_000;

/** Does work that is queued in the database: soon after it is queued, and again after a failure, one run at a time. */
export class QueuedWork {
  readonly #ports: QueuedWorkPorts;
  #timer: Timer | null = null;
  #running = false;
  #again = false;

  constructor(ports: QueuedWorkPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  /** Looks for work that an earlier process has left, and from then on now and then. */
  start(): void {
    this.#later(RETRY_MS);
  }

  /** There is work in the queue. */
  wake(): void {
    if (this.#running) this.#again = true;
    else this.#later(0);
  }

  /** Reports a fault of one piece of work, unless the scope has ended. */
  report(error: unknown): void {
    if (!this.#ports.scope.over) this.#ports.onFault(error);
  }

  #later(delayMs: number): void {
    if (this.#ports.scope.over) return;
    this.#timer?.cancel();
    this.#timer = this.#ports.wheel.add(() => void this.#work(), delayMs);
  }

  async #work(): Promise<void> {
    this.#timer = null;
    this.#running = true;
    this.#again = false;
    let nextMs = INTERVAL_MS;
    try {
      const outcome = await this.#ports.work();
      if (outcome === 'failed') nextMs = RETRY_MS;
    } catch (error) {
      nextMs = RETRY_MS;
      this.report(error);
    } finally {
      this.#running = false;
      this.#later(this.#again ? 0 : nextMs);
    }
  }
}
