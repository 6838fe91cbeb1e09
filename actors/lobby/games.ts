import type { Wheel } from '../runtime/wheel.ts';
import type { LobbyHandlers } from './game.ports.ts';

const TICK_MS = { min: 10, max: 60_000 };
const NAME = /^[\w.-]{1,64}$/;

/** The ports that all games of this shard share. */
export interface GamePorts {
  /** Its resolution is the shortest tick. */
  readonly wheel: Wheel;
  readonly monotonic: () => number;
  readonly nowMs: () => number;
  /** At least 0, below 1. */
  readonly random: () => number;
  /** The resident lobbies. A lobby that waits for a game starts it when the game is defined. */
  readonly lobbies: () => Iterable<{ play(): void }>;
  /** Receives what a handler threw. */
  readonly onFault: (error: unknown, lobbyId: string) => void;
}

/** The games that the embedding program has defined, by name. */
export class Games {
  readonly ports: GamePorts;
  readonly #handlers = new Map<string, LobbyHandlers<unknown>>();

  constructor(ports: GamePorts) {
    this.ports = ports;
  }

  /** @throws RangeError for a taken or empty name, or a tick out of bounds. */
  define<State>(name: string, handlers: LobbyHandlers<State>): void {
    const { tickMs } = handlers;
    if (!NAME.test(name))
      throw new RangeError(
        `"${name}" is not a valid name of a game: it needs 1 to 64 characters of a-z, 0-9, _, . and -.`,
      );
    if (this.#handlers.has(name)) throw new RangeError(`The game "${name}" is defined already.`);
    if (tickMs !== undefined && !(tickMs >= TICK_MS.min && tickMs <= TICK_MS.max))
      throw new RangeError(`tickMs is from ${TICK_MS.min} to ${TICK_MS.max}.`);
    this.#handlers.set(name, handlers);
    for (const lobby of this.ports.lobbies()) lobby.play();
  }

  get(name: string | null): LobbyHandlers<unknown> | undefined {
    return name === null ? undefined : this.#handlers.get(name);
  }
}
