import type { Socket } from 'node:net';

/** Time between two frames. A game that reads within it reads one frame of each chunk. */
const GAP_MS = 15;
/** With more frames than this waiting, all are written at once. */
const WAITING_MAX = 64;

/**
 * Writes each frame by itself, some time after the frame before. Published clients take what one read returns for one frame:
 * a reply that arrives together with an event is lost there.
 */
export class SpacedWriter {
  readonly #socket: Pick<Socket, 'write'>;
  readonly #waiting: Uint8Array[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(socket: Pick<Socket, 'write'>) {
    this.#socket = socket;
  }

  write(frame: Uint8Array): void {
    if (this.#timer === null) {
      this.#socket.write(frame);
      this.#timer = setTimeout(() => this.#next(), GAP_MS);
      return;
    }
    this.#waiting.push(frame);
    if (this.#waiting.length > WAITING_MAX) this.#writeAll();
  }

  /** Writes what waits, before the socket ends. */
  end(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#writeAll();
  }

  /** The socket is gone. */
  drop(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#waiting.length = 0;
  }

  #next(): void {
    this.#timer = null;
    const frame = this.#waiting.shift();
    if (frame !== undefined) this.write(frame);
  }

  #writeAll(): void {
    for (const frame of this.#waiting.splice(0)) this.#socket.write(frame);
  }
}
