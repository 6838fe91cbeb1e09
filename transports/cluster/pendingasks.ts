import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { LinkFault } from '../../protocol/faults.ts';

interface PendingAsk {
  readonly resolve: (answer: Buffer) => void;
  readonly reject: (fault: LinkFault) => void;
  readonly timer: Timer;
}

/** Requests on a stream that wait for their replies. */
export class PendingAsks {
  readonly #clock: Clock;
  readonly #byId = new Map<number, PendingAsk>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Resolves with the answer. @throws LinkFault: `timeout` after `deadlineMs`, or that of `reject` */
  wait(id: number, deadlineMs: number, timeout: () => LinkFault): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        this.#byId.delete(id);
        reject(timeout());
      };
      this.#byId.set(id, { resolve, reject, timer: this.#clock.setTimer(expire, deadlineMs) });
    });
  }

  /** Ignores replies that nobody waits for any more. */
  answered(id: number, answer: Buffer): void {
    const pending = this.#byId.get(id);
    if (!pending) return;
    this.#byId.delete(id);
    pending.timer.cancel();
    pending.resolve(answer);
  }

  /** Rejects all of them. */
  reject(fault: LinkFault): void {
    for (const { timer, reject } of this.#byId.values()) {
      timer.cancel();
      reject(fault);
    }
    this.#byId.clear();
  }
}
