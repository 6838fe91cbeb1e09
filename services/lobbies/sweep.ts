import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import { type ChannelId, snowflakeAt } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { LobbyStore } from '../../storage/lobby/port.ts';

interface SweepPorts {
  readonly lobbies: Pick<LobbyStore, 'sweep'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly routing: Pick<Routing, 'owns'>;
  readonly onFault: (error: unknown) => void;
}

const STEP = { lobbies: 256, limit: 1_000 };
const STEP_MS = 500;
const INTERVAL_MS = 3_600_000;
/** Only the owner shard of this name sweeps. */
const SWEEPER = 'lobbies.sweep';

/** Deletes expired messages and secrets hourly, in bounded batches. */
export class Sweep {
  readonly #ports: SweepPorts;
  #timer: Timer | null = null;
  #running = false;

  constructor(ports: SweepPorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  /** Schedules the first sweep. */
  start(): void {
    this.#later(null, STEP_MS);
  }

  /** Something will expire: schedules a sweep within the hour. */
  wake(): void {
    if (!this.#timer && !this.#running) this.#later(null, INTERVAL_MS);
  }

  #later(after: ChannelId | null, delayMs: number): void {
    if (this.#ports.scope.over) return;
    this.#timer = this.#ports.wheel.add(() => {
      this.#timer = null;
      void this.#step(after);
    }, delayMs);
  }

  async #step(after: ChannelId | null): Promise<void> {
    const { lobbies, clock, routing, scope, onFault } = this.#ports;
    if (!routing.owns(SWEEPER)) return this.#later(null, INTERVAL_MS);
    const nowMs = clock.now();
    const beforeId = snowflakeAt(nowMs - LIMITS.lobby_messages_ms);
    this.#running = true;
    try {
      const done = await lobbies.sweep({ ...STEP, after, beforeId, nowMs });
      // Without lobbies the sweep pauses until the next message.
      if (done.after !== null) this.#later(done.after, STEP_MS);
      else if (after !== null || done.lobbies > 0) this.#later(null, INTERVAL_MS);
    } catch (error) {
      if (!scope.over) onFault(error);
      this.#later(null, INTERVAL_MS);
    } finally {
      this.#running = false;
    }
  }
}
