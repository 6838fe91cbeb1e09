import type { Lifetime, Timer } from './clock.ts';

interface LoopPorts {
  /** The loop ends with it. */
  readonly scope: Pick<Lifetime, 'over' | 'setTimer'>;
  /** Does the next step that is due. Resolves with false when none is. */
  readonly step: () => Promise<boolean>;
  /** Receives what a step throws; the step is retried. */
  readonly onFault: (error: unknown) => void;
  /** First and longest delay before a retry. */
  readonly retryMs: { readonly first: number; readonly most: number };
  /** 0 to 1: jitter, for the retries of many loops. */
  readonly random: () => number;
}

/**
 * Does steps one after the other until none is due. A request during a step causes one more step after it, so that no
 * change is missed and no two steps run at the same time.
 */
export class ReconcileLoop {
  readonly #ports: LoopPorts;
  #state: 'idle' | 'running' | 'requested' = 'idle';
  #failures = 0;
  /** The next request without a change. */
  #timer: Timer | null = null;

  constructor(ports: LoopPorts) {
    this.#ports = ports;
  }

  /** Begins a step now, or after the current one. */
  request(): void {
    if (this.#ports.scope.over) return;
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#state === 'idle') void this.#run();
    else this.#state = 'requested';
  }

  /** Requests a step `delayMs` from now, unless one is requested before. */
  requestAfter(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#ports.scope.setTimer(() => this.request(), delayMs);
  }

  async #run(): Promise<void> {
    const { scope, step, onFault } = this.#ports;
    do {
      this.#state = 'running';
      try {
        if (await step()) this.#state = 'requested';
        this.#failures = 0;
      } catch (error) {
        // Steps of an ended scope are expected to fail.
        if (scope.over) return;
        onFault(error);
        this.#retry();
        break;
      }
    } while (this.#state === 'requested' && !scope.over);
    this.#state = 'idle';
  }

  #retry(): void {
    const { retryMs, random } = this.#ports;
    const mostMs = Math.min(retryMs.most, retryMs.first * 2 ** this.#failures);
    this.#failures += 1;
    this.requestAfter(mostMs * (0.5 + random() / 2));
  }
}
