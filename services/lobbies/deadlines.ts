import type { Routing } from '../../actors/cluster/routing.ts';
import type { Clock, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { LobbyStore } from '../../storage/ports.lobbies.ts';

interface DeadlinePorts {
  readonly lobbies: Pick<LobbyStore, 'due' | 'nextDueMs' | 'inUse'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly routing: Pick<Routing, 'alone' | 'owns'>;
  /** Lets the lobby see whether its time is over. */
  readonly expire: (id: ChannelId) => Promise<unknown>;
  /** Lets it write down since when it is idle. */
  readonly settle: (id: ChannelId) => Promise<unknown>;
  readonly onFault: (error: unknown) => void;
}

/** Lobbies looked at in one go, and the rest between two goes. */
const STEP_LOBBIES = 64;
const STEP_MS = 100;
const RETRY_MS = 5_000;
/** Sessions may take as long to come back to lobbies that have changed hands. */
const REJOIN_MS = 10_000;
/** What others are late with is looked at no more often. */
const FOREIGN_RETRY_MS = 1_000;

/**
 * Ends idle lobbies in time. The store knows every deadline, so none is lost with the process; here only the next one
 * is waited for. The lobby itself decides whether it ends.
 */
export class Deadlines {
  readonly #ports: DeadlinePorts;
  /** The next look, Unix milliseconds, and the wait for it. */
  #nextMs = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #looking = false;
  #over = false;
  /** Which lobbies have changed hands and are to be looked at; null: none. */
  #came: ((id: string) => boolean) | null = null;

  constructor(ports: DeadlinePorts) {
    this.#ports = ports;
  }

  /**
   * Takes up what an earlier process has left: lobbies that were in use when it ended are idle from now on, unless
   * somebody comes back. A bounded number at a time.
   */
  async start(): Promise<void> {
    // Of many shards each takes up what it comes to own.
    if (this.#ports.routing.alone) await this.#settleOwned(() => true);
  }

  /** The same of lobbies that have come from another shard. */
  moved(moved: (id: string) => boolean): void {
    const before = this.#came;
    this.#came = before ? (id) => before(id) || moved(id) : moved;
    if (before || this.#over) return;
    this.#ports.wheel.after(() => {
      const came = this.#came;
      this.#came = null;
      if (came) void this.#settleOwned((id) => came(id) && this.#ports.routing.owns(id));
    }, REJOIN_MS);
  }

  async #settleOwned(ours: (id: string) => boolean): Promise<void> {
    const { lobbies, settle, onFault } = this.#ports;
    try {
      for (let after: ChannelId | null = null; !this.#over; ) {
        const page: ChannelId[] = await lobbies.inUse(after, STEP_LOBBIES);
        await Promise.all(page.filter(ours).map((id) => settle(id)));
        after = page.at(-1) ?? null;
        if (page.length < STEP_LOBBIES) break;
        if (!(await this.#ports.wheel.pause(STEP_MS))) return;
      }
      const nextMs = this.#over ? null : await lobbies.nextDueMs();
      if (nextMs !== null) this.schedule(nextMs);
    } catch (error) {
      if (!this.#over) onFault(error);
    }
  }

  /** There is something to look at then, Unix milliseconds. */
  schedule(atMs: number): void {
    if (this.#over || atMs >= this.#nextMs) return;
    this.#nextMs = atMs;
    this.#timer?.cancel();
    const { clock, wheel } = this.#ports;
    this.#timer = wheel.add(() => void this.#expireDue(), atMs - clock.now());
  }

  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  async #expireDue(): Promise<void> {
    const { lobbies, clock, expire, onFault } = this.#ports;
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#timer = null;
    if (this.#looking) return this.schedule(clock.now() + STEP_MS);
    this.#looking = true;
    try {
      const late = await lobbies.due(clock.now(), STEP_LOBBIES);
      const due = late.filter((id) => this.#ports.routing.owns(id));
      await Promise.all(due.map((id) => expire(id)));
      const nextMs = this.#over ? null : await lobbies.nextDueMs();
      const restMs = late.length === 0 ? 0 : due.length === 0 ? FOREIGN_RETRY_MS : STEP_MS;
      if (nextMs !== null) this.schedule(Math.max(nextMs, restMs === 0 ? nextMs : clock.now() + restMs));
    } catch (error) {
      if (!this.#over) onFault(error);
      this.schedule(clock.now() + RETRY_MS);
    } finally {
      this.#looking = false;
    }
  }
}
