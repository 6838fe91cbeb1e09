import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { snowflakeAt } from '../../protocol/ids.ts';
import { TOKEN_MS } from '../../protocol/interactions.ts';
import type { EndedInteractions, InteractionStore } from '../../storage/interaction/port.ts';

interface SweepPorts {
  readonly store: Pick<InteractionStore, 'end'>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly nowMs: () => number;
  /** Called with what has ended and is no longer stored. */
  readonly ended: (ended: EndedInteractions) => Promise<void>;
  readonly onFault: (error: unknown) => void;
}

const INTERVAL_MS = 10_000;
const ROWS_MAX = 500;

/** Deletes interactions whose tokens have ended, and their ephemeral messages. */
export class EndedSweep {
  readonly #ports: SweepPorts;
  #timer: Timer | null = null;

  constructor(ports: SweepPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  start(): void {
    const { scope, wheel } = this.#ports;
    if (!scope.over) this.#timer = wheel.add(() => void this.#work(), INTERVAL_MS);
  }

  async #work(): Promise<void> {
    const { store, nowMs, ended, scope, onFault } = this.#ports;
    try {
      for (let isMore = true; isMore && !scope.over; ) {
        const gone = await store.end(snowflakeAt(nowMs() - TOKEN_MS), ROWS_MAX);
        await ended(gone);
        isMore = gone.interactions.length === ROWS_MAX || gone.messages.length === ROWS_MAX;
      }
    } catch (error) {
      if (!scope.over) onFault(error);
    }
    this.start();
  }
}
