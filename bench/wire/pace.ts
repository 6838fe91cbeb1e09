const SECOND_NS = 1_000_000_000;

/**
 * Schedules the sends of a run independently of their answers. A sender that waits for answers slows down with the server and
 * so omits exactly the bad samples ("coordinated omission"); this one does not.
 *
 * Times are monotonic nanoseconds. Pure arithmetic, without a clock.
 */
export class Pacer {
  readonly total: number;
  readonly #startNs: number;
  readonly #intervalNs: number;
  #next = 0;

  constructor(plan: { readonly perSecond: number; readonly total: number; readonly startNs: number }) {
    if (!(plan.perSecond > 0)) throw new RangeError('The rate must be above 0.');
    this.total = plan.total;
    this.#startNs = plan.startNs;
    this.#intervalNs = SECOND_NS / plan.perSecond;
  }

  get done(): boolean {
    return this.#next >= this.total;
  }

  /** When send `index` should happen. */
  intendedNs(index: number): number {
    return this.#startNs + Math.round(index * this.#intervalNs);
  }

  /** Takes the next send that is due; -1 when none is. */
  take(nowNs: number): number {
    if (this.done || this.intendedNs(this.#next) > nowNs) return -1;
    this.#next += 1;
    return this.#next - 1;
  }

  /** How long to sleep until the next one; 0 when it is due. */
  waitMs(nowNs: number): number {
    return Math.max(0, (this.intendedNs(this.#next) - nowNs) / 1e6);
  }
}

/** Monotonic nanoseconds of a clock shared by all processes and threads of the machine. */
export const nowNs = (): number => Number(process.hrtime.bigint());

/** Runs `send` for every index at its time. Resolves after the last, or as soon as `stopped` returns true. */
export async function runPaced(
  pacer: Pacer,
  send: (index: number, intendedNs: number) => void,
  stopped: () => boolean = () => false,
): Promise<void> {
  while (!pacer.done && !stopped()) {
    for (let index = pacer.take(nowNs()); index >= 0; index = pacer.take(nowNs()))
      send(index, pacer.intendedNs(index));
    if (!pacer.done) await pause(pacer.waitMs(nowNs()));
  }
}

/** Timers are accurate to a millisecond; the rest is spent in turns of the event loop, which serve sockets meanwhile. */
function pause(waitMs: number): Promise<void> {
  if (waitMs < 1.5) return new Promise((resolve) => setImmediate(resolve));
  return new Promise((resolve) => setTimeout(resolve, Math.min(waitMs - 1, 100)));
}
