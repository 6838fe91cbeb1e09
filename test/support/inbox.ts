import { WebSocket } from 'ws';

/** How a connection ended. 1006: it was cut. */
interface Closed {
  readonly code: number;
  readonly reason: string;
}

const TIMEOUT_MS = 10_000;

/** A connection without comfort: it keeps all that came, in order, and lets a test wait for some of it. */
export abstract class Inbox<T extends object> {
  /** Everything, in order. */
  readonly received: T[] = [];
  /** Resolves when the connection is gone. */
  readonly closed: Promise<Closed>;
  readonly #ws: WebSocket;
  /** The close code. */
  #end: number | null = null;
  readonly #waiting = new Set<() => void>();
  readonly #taken = new Set<T>();
  #beating: NodeJS.Timeout | undefined;

  protected constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on('error', () => ws.terminate());
    // Not `once`, which takes the refusal of an upgrade for its own failure.
    this.closed = new Promise((resolve) => {
      ws.on('close', (code, reason) => {
        this.silence();
        this.#end = code;
        this.#look();
        resolve({ code, reason: String(reason) });
      });
    });
  }

  /** Name of an item in the error of a failed wait. */
  protected abstract nameOf(item: T): string;

  protected put(item: T): void {
    this.received.push(item);
    this.#look();
  }

  protected beatEvery(intervalMs: number, beat: () => void): void {
    this.#beating = setInterval(beat, intervalMs);
  }

  /** Sends bytes as they are. */
  sendRaw(data: string | Uint8Array, binary = typeof data !== 'string'): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#ws.send(data, { binary });
  }

  /** Sends no more heartbeats. */
  silence(): void {
    clearInterval(this.#beating);
  }

  get isOpen(): boolean {
    return this.#ws.readyState === WebSocket.OPEN;
  }

  /** Stops reading. */
  pause(): void {
    this.#ws.pause();
  }

  wake(): void {
    this.#ws.resume();
  }

  close(code = 1000): Promise<Closed> {
    this.#ws.close(code);
    return this.closed;
  }

  /** Drops the connection without a word. */
  terminate(): Promise<Closed> {
    this.#ws.terminate();
    return this.closed;
  }

  /** The first that matches and was not asked for before: already here, or yet to come. */
  next(matches: (item: T) => boolean, wanted = 'a payload', patienceMs = TIMEOUT_MS): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
      };
      const fail = (why: string) => {
        stop();
        const last = this.received.slice(-8).map((item) => this.nameOf(item));
        reject(new Error(`${why} while ${wanted} was awaited; last came ${last.join(', ') || 'nothing'}`));
      };
      const check = () => {
        const found = this.received.find((item) => !this.#taken.has(item) && matches(item));
        if (found) {
          stop();
          this.#taken.add(found);
          resolve(found);
        } else if (this.#end !== null) fail(`The connection was closed with ${this.#end}`);
      };
      const timer = setTimeout(() => fail('Time ran out'), patienceMs);
      this.#waiting.add(check);
      check();
    });
  }

  #look(): void {
    for (const check of [...this.#waiting]) check();
  }
}
