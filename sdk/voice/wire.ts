/**
 * A WebSocket as the links of this folder want it. They know neither the browser's nor a package's: whoever uses them
 * gives them a way to open one.
 */
export interface WireSocket {
  /** Does nothing while the socket is not open. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number): void;
}

export interface SocketEvents {
  message(data: string | Uint8Array): void;
  /** The last event, whoever closed; 1006 when the connection broke or never was. */
  closed(code: number, reason: string): void;
}

export type OpenSocket = (url: string, events: SocketEvents) => WireSocket;

export type Timer = ReturnType<typeof setTimeout>;

/** Closing with another code than 1000 and 1001 keeps a session for its resume. */
export const CLOSE_TO_RESUME = 4900;
/** What a connection that broke is closed with, as far as its own end can tell. */
const BROKEN = 1006;
/** How long a connection may take to be there and be greeted. */
const GREETING_MS = 15_000;
/** A timer that is later than this means that the process stood still: what was answered meanwhile is not read yet. */
const STOOD_STILL_MS = 1000;
/** What a server may ask for as the time between heartbeats. */
const BEAT_MS = { min: 100, max: 10 * 60_000 } as const;

/** How long to wait before the next of several attempts: 0.5, 1, 2, then 4 seconds, each up to a half longer. */
export function backoffMs(attempt: number): number {
  return 500 * 2 ** Math.min(attempt, 3) * (1 + Math.random() / 2);
}

/** One connection after another to a server that greets, wants heartbeats and answers them. */
export class Wire {
  readonly #open: OpenSocket;
  readonly #events: SocketEvents;
  #socket: WireSocket | null = null;
  #beating: Timer | null = null;
  #retrying: Timer | null = null;
  #attempt = 0;

  /** `closed` is told of every connection that ended, but not of one that `close` ended. */
  constructor(open: OpenSocket, events: SocketEvents) {
    this.#open = open;
    this.#events = events;
  }

  /** Attempts since the last that `succeeded`. */
  get attempt(): number {
    return this.#attempt;
  }

  succeeded(): void {
    this.#attempt = 0;
  }

  connect(url: string): void {
    const socket: WireSocket = this.#open(url, {
      message: (data) => {
        if (this.#socket === socket) this.#events.message(data);
      },
      closed: (code, reason) => {
        if (this.#socket === socket) this.#gone(code, reason);
      },
    });
    this.#socket = socket;
    // Also a server that takes the connection and says nothing is left; the first beat takes this wait's place.
    this.#beat(GREETING_MS, (stoodStill) => {
      if (stoodStill) this.#beat(GREETING_MS, () => this.leave(BROKEN));
      else this.leave(BROKEN);
    });
  }

  /** Connects again after a while that grows with every attempt. */
  connectLater(url: () => string): void {
    this.#retrying = setTimeout(() => this.connect(url()), backoffMs(this.#attempt++));
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket?.send(data);
  }

  /**
   * Calls `beat` every `intervalMs` while the connection lasts; false from it: nobody answers, so it is left. It is told
   * when this process stood still, and then judges nobody by what it has not read.
   */
  beatEvery(intervalMs: number, beat: (stoodStill: boolean) => boolean): void {
    const everyMs = Math.min(Math.max(intervalMs || 0, BEAT_MS.min), BEAT_MS.max);
    this.#beat(everyMs, (stoodStill) => {
      if (beat(stoodStill)) this.beatEvery(everyMs, beat);
      else this.leave(BROKEN);
    });
  }

  #beat(delayMs: number, run: (stoodStill: boolean) => void): void {
    if (this.#beating !== null) clearTimeout(this.#beating);
    const dueMs = performance.now() + delayMs;
    this.#beating = setTimeout(() => run(performance.now() - dueMs > STOOD_STILL_MS), delayMs);
  }

  /** Leaves this connection in a way that keeps the session; `closed` hears of it as of `code`. */
  leave(code: number = CLOSE_TO_RESUME): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.close(CLOSE_TO_RESUME);
    this.#gone(code, '');
  }

  /** Ends it: nothing is heard any more. */
  close(): void {
    this.#rest();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
  }

  #gone(code: number, reason: string): void {
    this.#rest();
    this.#socket = null;
    this.#events.closed(code, reason);
  }

  #rest(): void {
    if (this.#beating !== null) clearTimeout(this.#beating);
    if (this.#retrying !== null) clearTimeout(this.#retrying);
  }
}

export type Json = { readonly [key: string]: unknown };

/** What a frame says, when it is a JSON object with an opcode; null for anything else. */
export function readFrame(
  text: string,
): { op: number; d: unknown; s: unknown; t: unknown; seq: unknown } | null {
  try {
    const frame: unknown = JSON.parse(text);
    if (!isJson(frame) || typeof frame.op !== 'number') return null;
    return { op: frame.op, d: frame.d, s: frame.s, t: frame.t, seq: frame.seq };
  } catch {
    return null;
  }
}

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
