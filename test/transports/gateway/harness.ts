import type { GatewayPort, Identify, OpenOutcome } from '../../../actors/session/ports.ts';
import { Allowance } from '../../../engine/session/allowance.ts';
import { Histories } from '../../../transports/gateway/codec/history.ts';
import { laneFor } from '../../../transports/gateway/codec/lane.ts';
import { Outbox } from '../../../transports/gateway/outbox.ts';
import {
  type Dialect,
  GatewaySocket,
  type RawSocket,
  type SocketHost,
  type SocketLimits,
} from '../../../transports/gateway/socket.ts';
import { arrange as arrangeSessions } from '../../actors/session/harness.ts';

/** The far end of a connection, without a network. `stalled`: the client reads nothing, frames pile up. */
export class FakeWire implements RawSocket {
  readonly frames: { bytes: Buffer; binary: boolean; corked: boolean }[] = [];
  ended: { code: number; reason: string } | null = null;
  cut = false;
  stalled = false;
  buffered = 0;
  #corked = false;
  socket: GatewaySocket | null = null;

  send(frame: Uint8Array, binary: boolean): number {
    if (this.ended || this.cut) throw new Error('used after it was closed');
    this.frames.push({ bytes: Buffer.from(frame), binary, corked: this.#corked });
    if (!this.stalled) return 1;
    this.buffered += frame.length;
    return 0;
  }

  cork(write: () => void): void {
    this.#corked = true;
    write();
    this.#corked = false;
  }

  getBufferedAmount(): number {
    if (this.ended || this.cut) throw new Error('used after it was closed');
    return this.buffered;
  }

  end(code: number, reason: string): void {
    this.ended = { code, reason };
    this.socket?.closed(code);
  }

  close(): void {
    this.cut = true;
    this.socket?.closed(1006);
  }

  /** The client reads what waits for it. */
  drain(): void {
    this.buffered = 0;
    this.stalled = false;
    this.socket?.drained();
  }

  get payloads(): { op: number; d: unknown; s: number | null; t: string | null }[] {
    return this.frames.map(({ bytes }) => JSON.parse(bytes.toString()));
  }
}

export const LIMITS: SocketLimits = {
  heartbeatIntervalMs: 41_250,
  heartbeatGraceMs: 20_000,
  identifyTimeoutMs: 30_000,
  socketBufferBytesMax: 100_000,
  closeGraceMs: 5_000,
};

/** A gateway without a network: sockets over fake wires, sessions over a fake engine, and time at hand. */
export function arrange(
  change: { limits?: Partial<SocketLimits>; port?: GatewayPort; sharesHistory?: boolean } = {},
) {
  const { clock, backend, sessions, faults } = arrangeSessions();
  const defer = (run: () => void) => clock.defer(run);
  const limits = { ...LIMITS, ...change.limits };
  const outbox = new Outbox({ defer });
  const histories = change.sharesHistory ? new Histories((run) => outbox.afterFlush(run)) : null;
  const gone: GatewaySocket[] = [];
  const host: SocketHost = {
    limits,
    port: change.port ?? sessions,
    newAllowance: () => new Allowance(),
    outbox,
    counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
    nowMs: () => clock.monotonic(),
    defer,
    onFault: (error) => faults.push(error),
    hello: (lane) => lane.control(10, { heartbeat_interval: limits.heartbeatIntervalMs }),
    laneOf: (lane) => histories?.laneOf(lane) ?? lane,
    onGone: (socket) => gone.push(socket),
  };
  const connect = (encoding: 'json' | 'etf' = 'json') => {
    const lane = histories?.independent ?? laneFor(encoding, '');
    if (!lane) throw new Error('no lane');
    const dialect: Dialect = { version: 10, encoding, lane };
    const socket = new GatewaySocket('127.0.0.1', dialect, host);
    const wire = new FakeWire();
    wire.socket = socket;
    socket.opened(wire);
    return { socket, wire, say: (op: number, d: unknown) => say(socket, { op, d }) };
  };
  const flush = async () => {
    for (let turn = 0; turn < 60; turn += 1) {
      clock.settle();
      await Promise.resolve();
    }
  };
  return { clock, backend, sessions, faults, host, gone, connect, flush };
}

const say = (socket: GatewaySocket, payload: unknown) =>
  socket.received(Buffer.from(JSON.stringify(payload)), false);

export const IDENTIFY = {
  token: 'bot',
  properties: { $os: 'linux', $browser: 'test', $device: 'test' },
  intents: 1,
};

/** A port with given answers. */
export const portOf = (identify: (given: Identify) => Promise<OpenOutcome>): GatewayPort => ({
  identify,
  resume: async () => ({ kind: 'invalid' }),
});
