import type { Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { SearchStore } from '../../storage/message/port.ts';

interface SearchIndexPorts {
  readonly store: Pick<SearchStore, 'indexSome'>;
  readonly wheel: Wheel;
  readonly onFault: (error: unknown) => void;
}

const MESSAGES_AT_ONCE = 500;
/** Pause between two steps, so that indexing takes a small part of the database's time. */
const REST_MS = 20;
const RETRY_MS = 5_000;

/**
 * Indexes the messages that earlier versions have stored, a step at a time, until there are none. Several processes may do so
 * at once; a process that ends leaves the rest to the next start.
 */
export class SearchIndex {
  readonly #ports: SearchIndexPorts;
  #timer: Timer | null = null;
  #over = false;

  constructor(ports: SearchIndexPorts) {
    this.#ports = ports;
    this.#next(0);
  }

  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  #next(delayMs: number): void {
    if (!this.#over) this.#timer = this.#ports.wheel.add(() => void this.#step(), delayMs);
  }

  async #step(): Promise<void> {
    const { store, onFault } = this.#ports;
    try {
      if ((await store.indexSome(MESSAGES_AT_ONCE)) > 0) this.#next(REST_MS);
    } catch (error) {
      if (this.#over) return;
      onFault(error);
      this.#next(RETRY_MS);
    }
  }
}
