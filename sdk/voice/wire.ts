/**
 * A WebSocket as the links in this folder need it. They are independent of the implementation: the caller supplies
 * a function that opens one.
 */
export interface WireSocket {
  /** Does nothing while the socket is not open. */
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code: number): void;
}

export interface SocketEvents {
  message(data: string | Uint8Array): void;
  /** The last event, whichever side closed; 1006 when the connection broke or failed. */
  closed(code: number, reason: string): void;
}

export type OpenSocket = (url: string, events: SocketEvents) => WireSocket;

export type Timer = ReturnType<typeof setTimeout>;

/** Close code that keeps the session for a resume; 1000 and 1001 end it. */
export const CLOSE_TO_RESUME = 4900;
/** Close code reported for a broken connection. */
const BROKEN = 1006;
/** Time limit for connecting and HELLO, milliseconds. */
const HELLO_MS = 15_000;
/**
 * A timer delayed by more than this means that the process was suspended: answers may be received but not yet
 * read.
 */
const SUSPENDED_MS = 1000;
/** Accepted range of the heartbeat interval, milliseconds. */
const BEAT_MS = { min: 100, max: 10 * 60_000 } as const;

/** Backoff before attempt n: 0.5, 1, 2, then 4 seconds, each plus up to 50 %. */
export function backoffMs(attempt: number): number {
  return 500 * 2 ** Math.min(attempt, 3) * (1 + Math.random() / 2);
}

/** Successive connections to a server that sends HELLO and answers heartbeats. */
export class Wire {
  readonly #open: OpenSocket;
  readonly #events: SocketEvents;
  #socket: WireSocket | null = null;
  #timer: Timer | null = null;
  #retryTimer: Timer | null = null;
  #attempt = 0;

  /** `closed` is called for every connection that ended, except by `close`. */
  constructor(open: OpenSocket, events: SocketEvents) {
    this.#open = open;
    this.#events = events;
  }

  /** Attempts since the last call of `succeeded`. */
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
        if (this.#socket === socket) this.#disconnected(code, reason);
      },
    });
    this.#socket = socket;
    // Also closes a connection whose server accepts and sends nothing; the first heartbeat timer replaces this
    // one.
    this.#startTimer(HELLO_MS, (wasSuspended) => {
      if (wasSuspended) this.#startTimer(HELLO_MS, () => this.disconnect(BROKEN));
      else this.disconnect(BROKEN);
    });
  }

  /** Connects again after a backoff that grows with every attempt. */
  connectLater(url: () => string): void {
    this.#retryTimer = setTimeout(() => this.connect(url()), backoffMs(this.#attempt++));
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket?.send(data);
  }

  /**
   * Calls `beat` every `intervalMs` while the connection lasts; when it returns false the server is unresponsive and
   * the connection is closed. `wasSuspended`: this process was suspended, so missing answers prove nothing.
   */
  startHeartbeat(intervalMs: number, beat: (wasSuspended: boolean) => boolean): void {
    const everyMs = Math.min(Math.max(intervalMs || 0, BEAT_MS.min), BEAT_MS.max);
    this.#startTimer(everyMs, (wasSuspended) => {
      if (beat(wasSuspended)) this.startHeartbeat(everyMs, beat);
      else this.disconnect(BROKEN);
    });
  }

  #startTimer(delayMs: number, run: (wasSuspended: boolean) => void): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const dueMs = performance.now() + delayMs;
    this.#timer = setTimeout(() => run(performance.now() - dueMs > SUSPENDED_MS), delayMs);
  }

  /** Closes the connection without ending the session; `closed` is called with `code`. */
  disconnect(code: number = CLOSE_TO_RESUME): void {
    const socket = this.#socket;
    if (socket === null) return;
    this.#socket = null;
    socket.close(CLOSE_TO_RESUME);
    this.#disconnected(code, '');
  }

  /** Closes the connection for good; no event follows. */
  close(): void {
    this.#clearTimers();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(1000);
  }

  #disconnected(code: number, reason: string): void {
    this.#clearTimers();
    this.#socket = null;
    this.#events.closed(code, reason);
  }

  #clearTimers(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
  }
}

export type Json = { readonly [key: string]: unknown };

/** Parses a frame; null unless it is a JSON object with an opcode. */
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

/** A number of a frame; NaN for anything else. `Number` throws for some objects, such as `{"valueOf":1,"toString":1}`. */
export const asNumber = (value: unknown): number => (typeof value === 'number' ? value : Number.NaN);
