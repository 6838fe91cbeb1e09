import { WebSocket } from 'ws';
import { isRecord } from '../protocol/json.ts';
import { OP } from '../protocol/opcodes.ts';

interface Arrived {
  readonly t: string;
  readonly d: unknown;
}

/** Dispatches that may wait to be compared; the rest is dropped. */
const WAITING_MAX = 100_000;

/** A gateway connection of a replay. It sends heartbeats by itself, and keeps dispatches until they are compared. */
export class ReplayConnection {
  readonly #socket: WebSocket;
  readonly #arrived: Arrived[] = [];
  readonly #waiters = new Set<() => void>();
  readonly #greeted: Promise<void>;
  #beating: NodeJS.Timeout | null = null;
  #seq = 0;

  constructor(gateway: string) {
    this.#socket = new WebSocket(`${gateway}/?v=10&encoding=json`);
    this.#greeted = new Promise((resolve) => {
      this.#socket.on('error', () => resolve());
      this.#socket.on('close', () => {
        if (this.#beating) clearInterval(this.#beating);
        resolve();
      });
      this.#socket.on('message', (data) => {
        if (this.#received(String(data)) === OP.HELLO) resolve();
      });
    });
  }

  async send(op: number, d: unknown): Promise<void> {
    await this.#greeted;
    const resumed = op === OP.RESUME && isRecord(d) ? { ...d, seq: this.#seq } : d;
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, d: resumed }));
  }

  /** Takes the first dispatch of this name that was not taken yet. @returns null when none arrives in time. */
  async take(t: string, timeoutMs: number): Promise<Arrived | null> {
    let timer: NodeJS.Timeout | null = null;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(() => resolve('late'), timeoutMs);
    });
    try {
      for (;;) {
        const at = this.#arrived.findIndex((each) => each.t === t);
        if (at >= 0) return this.#arrived.splice(at, 1)[0] ?? null;
        let wake = (): void => undefined;
        const more = new Promise<'more'>((resolve) => {
          wake = () => resolve('more');
        });
        this.#waiters.add(wake);
        const which = await Promise.race([more, late]);
        this.#waiters.delete(wake);
        if (which === 'late') return null;
      }
    } finally {
      if (timer) clearTimeout(timer);
    }
  }

  /** Dispatches that arrived and matched no recorded one. */
  rest(): readonly Arrived[] {
    return this.#arrived;
  }

  close(): void {
    this.#socket.close(1000);
  }

  #received(text: string): number {
    const payload: unknown = JSON.parse(text);
    if (!isRecord(payload)) return -1;
    const { op, d, s, t } = payload;
    if (typeof s === 'number') this.#seq = s;
    if (op === OP.HELLO && isRecord(d)) this.#beat(Number(d.heartbeat_interval));
    if (op === OP.HEARTBEAT) this.#sendBeat();
    if (op === OP.DISPATCH && typeof t === 'string' && this.#arrived.length < WAITING_MAX) {
      this.#arrived.push({ t, d });
      for (const wake of this.#waiters) wake();
    }
    return Number(op);
  }

  #beat(everyMs: number): void {
    this.#beating ??= setInterval(() => this.#sendBeat(), everyMs);
  }

  #sendBeat(): void {
    if (this.#socket.readyState === WebSocket.OPEN)
      this.#socket.send(JSON.stringify({ op: OP.HEARTBEAT, d: this.#seq }));
  }
}
