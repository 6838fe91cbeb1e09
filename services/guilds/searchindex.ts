import type { Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { SearchStore } from '../../storage/message/port.ts';

interface SearchIndexPorts {
  readonly store: Pick<SearchStore, 'indexSome'>;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly onFault: (error: unknown) => void;
}

const MESSAGES_AT_ONCE = 500;
/** Pause between two steps, so that indexing takes a small part of the database's time. */
const REST_MS = 20;
const RETRY_MS = 5_000;

/**
 * Indexes the messages that earlier versions have stored, a step at a time, until all are indexed. Several processes
 * may do so at once; a process that ends leaves the rest to the next start.
 */
export class SearchIndex {
  readonly #ports: SearchIndexPorts;
  #timer: Timer | null = null;

  constructor(ports: SearchIndexPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  start(): void {
    this.#next(0);
  }

  #next(delayMs: number): void {
    const { scope, wheel } = this.#ports;
    if (!scope.over) this.#timer = wheel.add(() => void this.#step(), delayMs);
  }

  async #step(): Promise<void> {
    const { store, scope, onFault } = this.#ports;
    try {
      if ((await store.indexSome(MESSAGES_AT_ONCE)) > 0) this.#next(REST_MS);
    } catch (error) {
      if (scope.over) return;
      onFault(error);
      this.#next(RETRY_MS);
    }
  }
}
