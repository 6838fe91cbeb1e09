import { StorageFault } from '../../storage/database/driver.ts';
import type { Retry } from '../../storage/database/patience.ts';
import { copied, type Database } from './database.ts';
import type { Host, World } from './world.ts';

/** The state of the connection of one process to the database. */
export interface DatabaseWay {
  /** Nothing arrives in either direction. */
  cut: boolean;
}

/** Latency in one direction, milliseconds. */
const WAY_MS = { from: 0.2, to: 2 };
/** Messages that are late. */
const LATE = { fromMs: 20, toMs: 300 };
/** Time-out of a connection without answers. */
const LOST_MS = { from: 2_000, to: 4_000 };

/** A process's connections to the database. */
export class DatabaseLine {
  readonly #world: World;
  readonly #host: Host;
  readonly database: Database;
  readonly way: DatabaseWay;
  /** How long the process is paused before its next write, which is sent afterwards; 0: no pause. */
  stopMs = 0;
  /** Number of losses of the connection; pending requests are not answered after a loss. */
  #losses = 0;
  readonly #waiting = new Set<(fault: Error) => void>();

  constructor(world: World, host: Host, database: Database, way: DatabaseWay) {
    this.#world = world;
    this.#host = host;
    this.database = database;
    this.way = way;
  }

  /** By the clock of the world, whatever the clock of the process shows; waits while the process lives. */
  retry(forMs: number): Retry {
    const setTimer = (run: () => void, delayMs: number) => {
      this.#world.after(delayMs, run, this.#host);
      return { cancel: () => undefined };
    };
    return { forMs, clock: { monotonic: () => this.#world.nowMs, setTimer } };
  }

  get shard(): string {
    return this.#host.name;
  }

  /** Runs `act` in the database at one moment and returns its result; rejects when `act` throws or the connection is lost. */
  ask<T>(act: (nowMs: number) => T): Promise<T> {
    const world = this.#world;
    return new Promise<T>((resolve, reject) => {
      const losses = this.#losses;
      const fail = (fault: Error) => {
        this.#waiting.delete(fail);
        reject(fault);
      };
      this.#waiting.add(fail);
      const answer = (settle: () => void) => {
        world.after(
          this.#wayMs(),
          () => {
            if (this.way.cut || losses !== this.#losses || !this.#waiting.delete(fail)) return;
            settle();
          },
          this.#host,
        );
      };
      this.#standing(() => {
        // A sent request arrives although its process dies meanwhile.
        world.after(this.#wayMs(), () => {
          if (this.way.cut || losses !== this.#losses) return;
          try {
            const value = act(world.nowMs);
            answer(() => resolve(value));
          } catch (error) {
            answer(() => reject(error));
          }
        });
      });
      const lostMs = world.between(LOST_MS.from, LOST_MS.to);
      world.after(lostMs, () => this.#waiting.has(fail) && fail(lost()), this.#host);
    });
  }

  /** Every connection ends, as when the database is restarted. */
  lose(): void {
    this.#losses += 1;
    for (const fail of [...this.#waiting]) this.#world.after(this.#wayMs(), () => fail(lost()), this.#host);
  }

  /** Sends at once, or when the process continues. */
  #standing(send: () => void): void {
    const stopMs = this.stopMs;
    if (stopMs === 0) {
      send();
      return;
    }
    this.stopMs = 0;
    const world = this.#world;
    world.note(`${this.shard} stands still as it writes, for ${Math.round(stopMs)} ms`);
    world.stop(this.#host, stopMs);
    world.after(0, send, this.#host);
  }

  #wayMs(): number {
    const world = this.#world;
    return world.chance(this.database.lateShare)
      ? world.between(LATE.fromMs, LATE.toMs)
      : world.between(WAY_MS.from, WAY_MS.to);
  }
}

const lost = (): Error => new StorageFault('The database was lost.');

/** Answers `method` of a store from the database at the moment of the answer. */
type Reads<Store> = {
  readonly [K in keyof Store]?: Store[K] extends (...args: infer Args) => Promise<infer Value>
    ? (...args: Args) => Value
    : never;
};

export function storeOf<Store extends object>(line: DatabaseLine, name: string, reads: Reads<Store>): Store {
  const known = reads as Record<string, ((...args: unknown[]) => unknown) | undefined>;
  return new Proxy({} as Store, {
    get: (_, method) => {
      const read = known[String(method)];
      if (read) return (...args: unknown[]) => line.ask(() => copied(read(...args)));
      return () => Promise.reject(new Error(`${name}.${String(method)} is not simulated.`));
    },
  });
}
