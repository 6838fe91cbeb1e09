import type { Exchange } from './exchange.ts';

/** Bounds of request bodies. */
export interface BodyBounds {
  /** Bytes of one body. */
  readonly bytesMax: number;
  /** From the first header to the last byte. */
  readonly timeoutMs: number;
}

/** Bytes of bodies that are being read, over all requests: what many large uploads at once may cost. */
export class BodyBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }
}

/** How a body ended. `overloaded`: other bodies hold all the memory there is for them. */
export type BodyEnd = 'complete' | 'tooLarge' | 'timeout' | 'aborted' | 'overloaded';

interface BodyClock {
  setTimer(run: () => void, delayMs: number): { cancel(): void };
}

/**
 * A request's body as it arrives. The socket is paused until someone consumes it, so that a call which is refused
 * for its token never costs the memory of its upload. Chunks are handed over in order; memory held here is at most
 * what the socket had already received.
 */
export class BodyStream {
  readonly #exchange: Exchange;
  readonly #bounds: BodyBounds;
  readonly #budget: BodyBudget;
  readonly #timer: { cancel(): void };
  #early: Uint8Array[] = [];
  #received = 0;
  /** Bytes that are on the budget. */
  #held = 0;
  #discarding = false;
  #end: BodyEnd | null = null;
  #sink: ((chunk: Uint8Array) => void) | null = null;
  #settle: ((end: BodyEnd) => void) | null = null;

  /** Must be made in the request's own callback: later is too late for the first bytes. */
  constructor(exchange: Exchange, bounds: BodyBounds, budget: BodyBudget, clock: BodyClock) {
    this.#exchange = exchange;
    this.#bounds = bounds;
    this.#budget = budget;
    this.#timer = clock.setTimer(() => this.#finish('timeout'), bounds.timeoutMs);
    exchange.onAbort(() => this.#finish('aborted'));
    const announced = Number(exchange.headers.get('content-length') ?? 0);
    if (announced > bounds.bytesMax) this.#finish('tooLarge');
    exchange.res.onData((chunk, isLast) => this.#receive(chunk, isLast));
    if (this.#end === null) exchange.res.pause();
  }

  /** Hands every chunk to `sink` and resolves when there are no more. The sink's faults reject. */
  consume(sink: (chunk: Uint8Array) => void): Promise<BodyEnd> {
    return new Promise((resolve, reject) => {
      const guarded = (chunk: Uint8Array) => {
        try {
          sink(chunk);
        } catch (fault) {
          reject(fault);
          this.#finish('aborted');
        }
      };
      for (const chunk of this.#early) guarded(chunk);
      this.#early = [];
      // A body that came in one piece with its head is whole by now, and its connection paused all the same: without
      // this nobody would ever read the next request on it.
      if (!this.#exchange.over) this.#exchange.res.resume();
      if (this.#end !== null) {
        resolve(this.#end);
        return;
      }
      this.#settle = resolve;
      this.#sink = guarded;
    });
  }

  /** Reads to the end, within the same bounds, and keeps nothing. */
  discard(): Promise<BodyEnd> {
    this.#discarding = true;
    return this.consume(() => {});
  }

  /** Ends the account of this body: its bytes are free for others. Call it when the request is done. */
  release(): void {
    this.#finish('aborted');
    this.#budget.give(this.#held);
    this.#held = 0;
    this.#early = [];
  }

  #receive(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#end !== null) return;
    this.#received += chunk.byteLength;
    if (this.#received > this.#bounds.bytesMax) {
      this.#finish('tooLarge');
      return;
    }
    if (chunk.byteLength > 0 && !this.#discarding) {
      if (!this.#budget.take(chunk.byteLength)) {
        this.#finish('overloaded');
        return;
      }
      this.#held += chunk.byteLength;
      // The native side takes its memory back when this returns.
      const copy = new Uint8Array(chunk.slice(0));
      if (this.#sink) this.#sink(copy);
      else this.#early.push(copy);
    }
    if (isLast) this.#finish('complete');
  }

  #finish(end: BodyEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#timer.cancel();
    this.#settle?.(end);
    this.#sink = null;
  }
}
