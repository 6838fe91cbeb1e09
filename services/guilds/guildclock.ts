import type { Routing } from '../../actors/placement/routing.ts';
import type { Timer } from '../../actors/runtime/clock.ts';
import type { Wheel } from '../../actors/runtime/wheel.ts';
import type { GuildId } from '../../protocol/ids.ts';

interface GuildClockPorts {
  readonly store: {
    /** Guilds in which something is due at `nowMs`; ascending by id. */
    due(nowMs: number, after: GuildId | null, limit: number): Promise<GuildId[]>;
    /** When something is due next, Unix milliseconds; null for never. */
    nextDueMs(): Promise<number | null>;
  };
  /** Has the guild do what is due. */
  settle(guildId: GuildId): Promise<unknown>;
  readonly routing: Pick<Routing, 'owns' | 'onMoved'>;
  readonly wheel: Wheel;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly onFault: (error: unknown) => void;
}

/** Guilds read together, and guilds asked at once. */
const [GUILDS_PAGE, AT_ONCE] = [100, 8];
/** Checks at least this often, because a guild may have been left by another shard. */
const INTERVAL_MS = 60_000;
/** The shortest time between two looks, also after a fault. */
const REST_MS = 1_000;

/**
 * Has guilds do at its time what they have stored a time for: scheduled events begin and end, threads are archived. The times
 * are in the database, so they survive a crash and a change of owner; only the next one is awaited here.
 */
export class GuildClock {
  readonly #ports: GuildClockPorts;
  /** Time of the next look, Unix milliseconds, and its timer. */
  #nextMs = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #looking = false;
  #over = false;

  constructor(ports: GuildClockPorts) {
    this.#ports = ports;
  }

  /** Looks for what became due while no process ran, and after each change of ownership. */
  start(): void {
    const { routing, nowMs } = this.#ports;
    routing.onMoved(() => this.schedule(nowMs()));
    this.schedule(nowMs());
  }

  /** Something is due at this time, Unix milliseconds. */
  schedule(atMs: number): void {
    if (this.#over || atMs >= this.#nextMs) return;
    this.#nextMs = atMs;
    this.#timer?.cancel();
    const { wheel, nowMs } = this.#ports;
    this.#timer = wheel.add(() => void this.#look(), atMs - nowMs());
  }

  /** Looks at once: the time was moved. */
  look(): void {
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.schedule(this.#ports.nowMs());
  }

  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { store, nowMs, onFault } = this.#ports;
    this.#nextMs = Number.POSITIVE_INFINITY;
    this.#timer = null;
    if (this.#looking) return this.schedule(nowMs() + REST_MS);
    this.#looking = true;
    try {
      await this.#settleAll();
      const nextMs = this.#over ? null : await store.nextDueMs();
      this.schedule(Math.max(nowMs() + REST_MS, Math.min(nextMs ?? Infinity, nowMs() + INTERVAL_MS)));
    } catch (error) {
      if (!this.#over) onFault(error);
      this.schedule(nowMs() + REST_MS);
    } finally {
      this.#looking = false;
    }
  }

  async #settleAll(): Promise<void> {
    const { store, routing, nowMs } = this.#ports;
    for (let after: GuildId | null = null; !this.#over; ) {
      const page: GuildId[] = await store.due(nowMs(), after, GUILDS_PAGE);
      const own = page.filter((id) => routing.owns(id));
      for (let at = 0; at < own.length && !this.#over; at += AT_ONCE)
        await Promise.all(own.slice(at, at + AT_ONCE).map((id) => this.#settle(id)));
      if (page.length < GUILDS_PAGE) return;
      after = page.at(-1) ?? null;
    }
  }

  async #settle(id: GuildId): Promise<void> {
    const { settle, onFault } = this.#ports;
    try {
      await settle(id);
    } catch (error) {
      if (!this.#over) onFault(error);
    }
  }
}
