import { LinkFault } from '../../../protocol/faults.ts';
import type { LinkFrame } from '../../placement/ports.ts';
import type { Clock, Lifetime, Timer } from '../../runtime/clock.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';

export type Tell = Extract<LinkFrame, { kind: 'tell' }>;

interface OwnerTellsPorts {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wheel: Pick<TimerWheel, 'add'>;
  /** Drops all held messages when it ends. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  /** How long a message waits for an owner, in milliseconds. */
  readonly deadlineMs: number;
  readonly waitingMax: number;
  /** Shortest and longest delay between two retries, in milliseconds. */
  readonly retryMs: { readonly first: number; readonly most: number };
  /** Sends the message to the owner, or runs `here`; false while its key has no owner. */
  readonly send: (frame: Tell, here: () => void) => boolean;
  readonly onFault: (where: string, fault: unknown) => void;
}

/** A message whose key has no owner yet. */
interface WaitingTell {
  readonly frame: Tell;
  readonly here: () => void;
  readonly untilMs: number;
}

/** Sends messages to owners in order. Messages whose key has no owner are held, bounded by count and time. */
export class OwnerTells {
  readonly #ports: OwnerTellsPorts;
  #held: WaitingTell[] = [];
  #timer: Timer | null = null;
  #lost = 0;

  constructor(ports: OwnerTellsPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#drop());
  }

  get held(): number {
    return this.#held.length;
  }

  /** Number of dropped messages. */
  get lost(): number {
    return this.#lost;
  }

  send(frame: Tell, here: () => void): void {
    // Held messages were sent before this one.
    if (this.#held.length > 0) this.retry();
    const { clock, deadlineMs, scope, send, waitingMax } = this.#ports;
    if (send(frame, here)) return;
    if (this.#held.length >= waitingMax || scope.over) {
      this.lose(frame);
      return;
    }
    this.#held.push({ frame, here, untilMs: clock.monotonic() + deadlineMs });
    this.#retryLater();
  }

  /** Sends held messages whose key has an owner now, and drops those past their deadline. */
  retry(): void {
    const held = this.#held;
    this.#held = [];
    const nowMs = this.#ports.clock.monotonic();
    for (const each of held) {
      if (this.#ports.send(each.frame, each.here)) continue;
      if (each.untilMs > nowMs) this.#held.push(each);
      else this.lose(each.frame);
    }
    this.#retryLater();
  }

  lose({ method }: Tell): void {
    this.#lost += 1;
    this.#ports.onFault(method, new LinkFault('unreachable', `No owner was found in time for ${method}.`));
  }

  #drop(): void {
    this.#timer?.cancel();
    this.#lost += this.#held.length;
    this.#held = [];
  }

  #retryLater(): void {
    const [first] = this.#held;
    if (this.#timer !== null || first === undefined) return;
    const { clock, retryMs, wheel } = this.#ports;
    const waitMs = first.untilMs - clock.monotonic();
    this.#timer = wheel.add(
      () => {
        this.#timer = null;
        this.retry();
      },
      Math.min(Math.max(waitMs, retryMs.first), retryMs.most),
    );
  }
}
