import { LinkFault, type NotServed } from '../../../protocol/faults.ts';
import type { Clock, Lifetime } from '../../runtime/clock.ts';
import type { Wheel } from '../../runtime/wheel.ts';

/** The outcome of one attempt to call an owner. Null: the aggregate has no owner, or its owner changed meanwhile. */
type Attempt<T> = { readonly value: T } | { readonly fault: unknown };

/** Why attempts end without a result. */
export type RetryEnd = 'timeout' | 'unreachable' | 'overloaded';

interface RetryPorts {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wheel: Pick<Wheel, 'add'>;
  /** Rejects all waiting calls when it ends. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** 0 to 1: jitter for the delays of many calls. */
  readonly random: () => number;
  /** Upper bound on the calls that wait. */
  readonly waitingMax: number;
  /** First and longest delay between two attempts, milliseconds. */
  readonly retryMs: { readonly first: number; readonly most: number };
  /** The fault of a call whose attempts have ended. `last` is the most telling fault of its attempts. */
  readonly refusal: (message: string, kind: RetryEnd, last: unknown) => NotServed;
}

/**
 * Repeats attempts to call an owner: at once when ownership has changed since the attempt began, otherwise at the next
 * change or after a growing delay.
 */
export class OwnerRetries {
  readonly #ports: RetryPorts;
  /** Waiting calls, in order of arrival. */
  readonly #waiting = new Set<() => void>();
  /** Number of ownership changes. */
  #changes = 0;

  constructor(ports: RetryPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#wake());
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws what an attempt throws, and the refusal at the deadline, after the scope has ended, or when too many calls wait. */
  async run<T>(untilMs: number, attempt: () => Promise<Attempt<T>>): Promise<T> {
    let last: unknown = null;
    for (let attempts = 0; ; attempts += 1) {
      const changes = this.#changes;
      const outcome = await attempt();
      if ('value' in outcome) return outcome.value;
      // A fault that leaves the outcome unknown must not be hidden by a later one.
      if (outcome.fault !== null && !isLost(last)) last = outcome.fault;
      await this.#change(changes, attempts, untilMs, last);
    }
  }

  /** Ownership has changed. */
  changed(): void {
    this.#changes += 1;
    this.#wake();
  }

  async #change(changes: number, attempts: number, untilMs: number, last: unknown): Promise<void> {
    const { clock, wheel, scope, random, refusal, retryMs, waitingMax } = this.#ports;
    const leftMs = untilMs - clock.monotonic();
    if (leftMs <= 0) throw refusal('No shard answered the call before its deadline.', 'timeout', last);
    if (scope.over) throw refusal('This shard has ended.', 'unreachable', last);
    if (changes !== this.#changes) return;
    if (this.#waiting.size >= waitingMax)
      throw refusal('Too many calls wait for their owner.', 'overloaded', last);
    const waitMs = Math.min(retryMs.first * 2 ** Math.min(attempts, 8), retryMs.most);
    await new Promise<void>((resolve) => {
      const wake = () => {
        timer.cancel();
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = wheel.add(wake, Math.min(leftMs, waitMs * (0.75 + random() / 2)));
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

/** Whether the call may have run although no answer came. */
export const isLost = (fault: unknown): boolean =>
  fault instanceof LinkFault && (fault.kind === 'lost' || fault.kind === 'timeout');
