import type { Routing } from '../../actors/placement/routing.ts';
import type { Clock, Lifetime, Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { LobbyStore } from '../../storage/lobby/port.ts';

interface DeadlinePorts {
  readonly lobbies: Pick<LobbyStore, 'due' | 'nextDueMs' | 'inUse'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  /** Ends the work in the background, with its timer. */
  readonly scope: Pick<Lifetime, 'over' | 'own'>;
  readonly routing: Pick<Routing, 'standalone' | 'owns'>;
  /** Asks the lobby to end if its deadline has passed. */
  readonly expire: (id: ChannelId) => Promise<unknown>;
  /** Asks the lobby to store since when it is idle. */
  readonly settle: (id: ChannelId) => Promise<unknown>;
  readonly onFault: (error: unknown) => void;
}

/** Lobbies processed at a time, and the pause between batches. */
const STEP_LOBBIES = 64;
const STEP_MS = 100;
const RETRY_MS = 5_000;
/** Time for sessions to rejoin lobbies that changed shards. */
const REJOIN_MS = 10_000;
/** Retry interval for overdue lobbies of other shards. */
const FOREIGN_RETRY_MS = 1_000;

/**
 * Ends idle lobbies at their deadlines. Deadlines are in the database and survive a crash; only the next one is awaited
 * here. The lobby decides whether it ends.
 */
export class Deadlines {
  readonly #ports: DeadlinePorts;
  /** Time of the next check, Unix milliseconds, and its timer. */
  #nextMs = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #looking = false;
  /** Matches lobbies taken over from other shards that are still to be settled; null when there are none. */
  #came: ((id: string) => boolean) | null = null;

  constructor(ports: DeadlinePorts) {
    this.#ports = ports;
    ports.scope.own(() => this.#timer?.cancel());
  }

  /**
   * Settles lobbies of an earlier process: lobbies in use when it ended are idle from now on unless a member returns.
   * Works in bounded batches.
   */
  async start(): Promise<void> {
    // In a cluster each shard settles the lobbies that it takes over.
    if (this.#ports.routing.standalone) await this.#settleOwned(() => true);
  }

  /** Settles lobbies taken over from another shard, after their sessions had time to rejoin. */
  moved(moved: (id: string) => boolean): void {
    const before = this.#came;
    this.#came = before ? (id) => before(id) || moved(id) : moved;
    if (before || this.#ports.scope.over) return;
    this.#ports.wheel.after(() => {
      const came = this.#came;
      this.#came = null;
      if (came) void this.#settleOwned((id) => came(id) && this.#ports.routing.owns(id));
    }, REJOIN_MS);
  }

  async #settleOwned(ours: (id: string) => boolean): Promise<void> {
    const { lobbies, settle, onFault } = this.#ports;
    try {
      for (let after: ChannelId | null = null; !this.#ports.scope.over; ) {
        const page: ChannelId[] = await lobbies.inUse(after, STEP_LOBBIES);
        await Promise.all(page.filter(ours).map((id) => settle(id)));
        after = page.at(-1) ?? null;
        if (page.length < STEP_LOBBIES) break;
        if (!(await this.#ports.wheel.pause(STEP_MS))) return;
      }
      const nextMs = this.#ports.scope.over ? null : await lobbies.nextDueMs();
      if (nextMs !== null) this.schedule(nextMs);
    } catch (error) {
      if (!this.#ports.scope.over) onFault(error);
    }
  }

  /** Schedules a check at this time, Unix milliseconds. */
  schedule(atMs: number): void {
    if (this.#ports.scope.over || atMs >= this.#nextMs) return;
    this.#nextMs = atMs;
    this.#timer?.cancel();
    const { clock, wheel } = this.#ports;
    this.#timer = wheel.add(() => void this.#expireDue(), atMs - clock.now());
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
      const nextMs = this.#ports.scope.over ? null : await lobbies.nextDueMs();
      const restMs = late.length === 0 ? 0 : due.length === 0 ? FOREIGN_RETRY_MS : STEP_MS;
      if (nextMs !== null) this.schedule(Math.max(nextMs, restMs === 0 ? nextMs : clock.now() + restMs));
    } catch (error) {
      if (!this.#ports.scope.over) onFault(error);
      this.schedule(clock.now() + RETRY_MS);
    } finally {
      this.#looking = false;
    }
  }
}
