import type { RelayEnd } from '../../actors/call/ports.ts';

/** The used methods of a native WebSocket. Valid until `end`, `close` or the close event. */
export type RawSocket = RelayEnd;

interface OutletPorts {
  /** Most bytes that wait for a client to read them. */
  readonly bytesMax: number;
  readonly sent: () => void;
  /** Called once, when more wait; nothing is sent from then on. */
  readonly overflowed: () => void;
}

const SENT = 1;

/** Sends frames to one client, and bounds what waits for it. */
export class Outlet {
  readonly #ports: OutletPorts;
  #ws: RawSocket | null = null;
  #overflowing = false;

  constructor(ports: OutletPorts) {
    this.#ports = ports;
  }

  open(ws: RawSocket): void {
    this.#ws = ws;
  }

  /** The connection has ended. */
  ended(): void {
    this.#ws = null;
  }

  write(frame: string | Uint8Array, binary = typeof frame !== 'string'): void {
    const ws = this.#ws;
    if (!ws || this.#overflowing) return;
    this.#ports.sent();
    if (ws.send(frame, binary) === SENT || ws.getBufferedAmount() <= this.#ports.bytesMax) return;
    this.#overflowing = true;
    this.#ports.overflowed();
  }

  /** Sends the close frame once the client has read all that was sent. */
  finish(code: number, reason: string): void {
    if (this.#ws?.getBufferedAmount() === 0) this.#ws.end(code, reason);
  }

  /** Drops the connection. */
  drop(): void {
    this.#ws?.close();
  }
}
