import type { Lifetime, Timer } from '../../runtime/clock.ts';
import type { Directory } from '../ports.ts';

interface LeasePorts {
  readonly scope: Pick<Lifetime, 'monotonic' | 'setTimer'>;
  readonly directory: Pick<Directory, 'safeUntilMs'>;
  /** Receives `unsafe` once for each lapse, and `safe` with each renewal. */
  readonly send: (event: { readonly type: 'safe' | 'unsafe' }) => void;
}

/** Reports when the lease of a membership stops being safe, and when it is safe again. A lease without end needs no timer. */
export class LeaseWatch {
  readonly #ports: LeasePorts;
  /** Runs at the end of the lease. Null after the end was reported, and for a lease without end. */
  #timer: Timer | null = null;
  /** The end of the lease as of its last renewal, monotonic milliseconds. */
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(ports: LeasePorts) {
    this.#ports = ports;
    this.#watch();
  }

  /** Reads the lease on each call, because after a suspension of the process no timer may have run yet. */
  get isSafe(): boolean {
    return this.#ports.scope.monotonic() < this.#ports.directory.safeUntilMs();
  }

  renewed(): void {
    const { scope, send } = this.#ports;
    // Callers were rejected meanwhile although the timer has not run yet.
    if (this.#timer && scope.monotonic() >= this.#untilMs) send({ type: 'unsafe' });
    this.#watch();
    if (this.isSafe) send({ type: 'safe' });
  }

  #watch(): void {
    const { scope, directory } = this.#ports;
    this.#untilMs = directory.safeUntilMs();
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#untilMs === Number.POSITIVE_INFINITY) return;
    // Timers have whole milliseconds; a shorter one would run before the end.
    const leftMs = Math.ceil(this.#untilMs - scope.monotonic());
    this.#timer = scope.setTimer(() => this.#expired(), Math.max(0, leftMs));
  }

  #expired(): void {
    this.#timer = null;
    // The timer was early, or the lease was extended meanwhile.
    if (this.isSafe) this.#watch();
    else this.#ports.send({ type: 'unsafe' });
  }
}
