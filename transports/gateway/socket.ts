import type { GatewayPresenceUpdateData } from 'discord-api-types/v10';
import type {
  FrameSink,
  GatewayPort,
  GatewaySession,
  Identify,
  OpenOutcome,
} from '../../actors/session/ports.ts';
import type { DispatchBody } from '../../engine/fanout/body.ts';
import type { Allowance } from '../../engine/session/allowance.ts';
import { CLIENT_ENDS, CLOSE } from '../../protocol/closecodes.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { OP } from '../../protocol/opcodes.ts';
import type { Recorder } from '../recording/recorder.ts';
import { decodePayload, type Payload } from './codec/decode.ts';
import type { Lane } from './codec/lane.ts';
import { opcodeOf } from './opcodes/index.ts';
import type { Connection, Opcode } from './opcodes/opcode.ts';
import type { Outbox, OutboxSocket } from './outbox.ts';

/** The used methods of a native WebSocket. Valid until `end`, `close` or the close event. */
export interface RawSocket {
  /** @returns 1: passed to the network; 0: queued behind data the client has not read; 2: dropped. */
  send(frame: Uint8Array, isBinary: boolean, compress: boolean): number;
  cork(write: () => void): unknown;
  getBufferedAmount(): number;
  /** Sends a close frame after the queued data. */
  end(code: number, reason: string): void;
  /** Drops the connection. */
  close(): void;
}

export interface SocketLimits {
  readonly heartbeatIntervalMs: number;
  readonly heartbeatGraceMs: number;
  readonly identifyTimeoutMs: number;
  readonly socketBufferBytesMax: number;
  /** How long a client may take to read the queued data after the server started to close. */
  readonly closeGraceMs: number;
}

/** Sums over all sockets, for metrics. */
export interface SocketCounters {
  framesSent: number;
  framesReceived: number;
  overflows: number;
  /** How often the server has sent each close code. */
  readonly closes: Map<number, number>;
}

/** State shared by all sockets; one object, so that each socket is small. */
export interface SocketHost {
  readonly limits: SocketLimits;
  readonly port: GatewayPort;
  /** Creates the rate limit for one connection. */
  readonly newAllowance: () => Allowance;
  readonly outbox: Outbox;
  readonly counters: SocketCounters;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  readonly defer: (run: () => void) => void;
  readonly onFault: (error: unknown) => void;
  /** The first frame of a connection: the start of the lane's stream, and HELLO. */
  readonly hello: (lane: Lane) => Uint8Array;
  /** The lane of a connection that speaks this one: its own where its frames depend on what it has carried. */
  readonly laneOf: (lane: Lane) => Lane;
  /** Called once for each opened socket, when its connection has ended. */
  readonly onGone: (socket: GatewaySocket) => void;
  /** Receives the frames of clients and their dispatches; absent outside development. */
  readonly recorder?: GatewayRecorder | null;
  /** Called when a socket is closed because of what its client sent before it had a session. */
  readonly onRefused?: (socket: GatewaySocket) => void;
}

type GatewayRecorder = Pick<Recorder, 'opened' | 'frame' | 'dispatch' | 'shut'>;

export interface Dialect {
  readonly version: number;
  readonly encoding: 'json' | 'etf';
  readonly lane: Lane;
}

type CloseReason = { readonly code: number; readonly reason: string };
type Phase = 'unidentified' | 'opening' | 'open' | 'closing' | 'gone';
type Late = { readonly presence: GatewayPresenceUpdateData; readonly dueMs: number };

const RESUMABLE: ReadonlySet<number> = new Set(
  Object.values(CLOSE)
    .filter((row) => row.resumable)
    .map((row) => row.code),
);
/** Close codes before a session is open that do not count as the client's fault; all others mean a bad IDENTIFY or RESUME. */
const NOT_THE_CLIENTS_DOING: ReadonlySet<number> = new Set([
  CLOSE.UNKNOWN_ERROR.code,
  CLOSE.INVALID_SEQ.code,
  CLOSE.SESSION_TIMED_OUT.code,
]);
/** A user client's heartbeat with measurements; answered like any heartbeat. */
const QOS_HEARTBEAT = 40;
const SENT = 1;

// Arguments of the single callback below, so that a flush creates no closure.
let corked: GatewaySocket | null = null;
let corkedHead = -1;
const writeCorked = (): void => corked?.writeChain(corkedHead);

/** Whether a connection has the session of a person. */
const isPersons = (session: GatewaySession | null): boolean => session?.principal.bot === false;

const payloadBytesMax = (session: GatewaySession | null): number =>
  isPersons(session) ? LIMITS.gateway_user_payload_bytes_max : LIMITS.gateway_payload_bytes_max;

/**
 * One gateway connection: its protocol phase (HELLO, IDENTIFY or RESUME, then opcodes), its outgoing frames, and its
 * deadlines, which `sweep` checks. It has no timer of its own.
 */
export class GatewaySocket implements FrameSink, Connection, OutboxSocket {
  head = -1;
  tail = -1;
  dirty = false;
  readonly address: string;
  readonly #host: SocketHost;
  readonly #version: number;
  readonly #encoding: 'json' | 'etf';
  readonly #allowance: Allowance;
  #lane: Lane;
  #ws: RawSocket | null = null;
  #phase: Phase = 'unidentified';
  #session: GatewaySession | null = null;
  /** Deadline for IDENTIFY, for the next heartbeat, or for the end of closing, depending on the phase. */
  #deadlineMs = 0;
  #closing: CloseReason | null = null;
  #resumable = true;
  /** Payloads received while IDENTIFY is being processed; the rate limit bounds them. */
  #held: Payload[] | null = null;
  #late: Late | null = null;
  #waiters: (() => void)[] | null = null;

  constructor(address: string, dialect: Dialect, host: SocketHost) {
    this.address = address;
    this.#host = host;
    this.#allowance = host.newAllowance();
    this.#version = dialect.version;
    this.#encoding = dialect.encoding;
    this.#lane = dialect.lane;
  }

  get session(): GatewaySession | null {
    return this.#session;
  }

  // Called by the network.

  /** The connection is open: sends HELLO. */
  opened(ws: RawSocket): void {
    this.#ws = ws;
    this.#host.recorder?.opened(this);
    this.#deadlineMs = this.#host.nowMs() + this.#host.limits.identifyTimeoutMs;
    this.#write(this.#host.hello(this.#lane));
    this.#lane = this.#host.laneOf(this.#lane);
  }

  /** Handles a received frame. The bytes are not kept. */
  received(bytes: Uint8Array, binary: boolean): void {
    if (this.#isShut()) return;
    this.#host.counters.framesReceived += 1;
    const payload = decodePayload(bytes, binary, this.#encoding, payloadBytesMax(this.#session));
    if (!payload) this.#closeFor(CLOSE.DECODE_ERROR);
    else if (!this.#allowance.take(payload.op, this.#host.nowMs())) this.#closeFor(CLOSE.RATE_LIMITED);
    else {
      this.#host.recorder?.frame(this, payload.op, payload.d);
      this.#handle(payload);
    }
  }

  /** The client has read all queued data. */
  drained(): void {
    if (!this.#ws) return;
    if (this.#closing) this.#finish(this.#ws, this.#closing);
    else this.#wake();
  }

  /** The connection has ended; `code` is the client's close code, if it sent one. */
  closed(code: number): void {
    this.#ws = null;
    this.#lane.leave();
    this.#host.recorder?.shut(this);
    const wasOpen = this.#phase !== 'closing';
    this.#phase = 'gone';
    if (wasOpen) this.#letGo(!CLIENT_ENDS.has(code));
    this.#host.onGone(this);
    this.#wake();
  }

  // Called by the session.

  dispatch(body: DispatchBody, seq: number): void {
    if (this.#isShut()) return;
    this.#host.recorder?.dispatch(this, body.t, body.d);
    this.#host.outbox.push(this, body, seq);
  }

  send(op: number, d: unknown): void {
    if (!this.#isShut()) this.#host.outbox.push(this, this.#lane.control(op, d), 0);
  }

  whenWritable(run: () => void): void {
    if (this.#isShut()) {
      this.#host.defer(run);
      return;
    }
    this.#waiters ??= [];
    this.#waiters.push(run);
    this.#host.outbox.touch(this);
  }

  /** Closes after all queued frames are written. The session is detached at once. */
  close(code: number, reason: string): void {
    if (this.#isShut()) return;
    const { counters, limits, nowMs, outbox } = this.#host;
    if (this.#phase !== 'open' && !NOT_THE_CLIENTS_DOING.has(code)) this.#host.onRefused?.(this);
    this.#phase = 'closing';
    this.#closing = { code, reason };
    this.#deadlineMs = nowMs() + limits.closeGraceMs;
    counters.closes.set(code, (counters.closes.get(code) ?? 0) + 1);
    this.#letGo(RESUMABLE.has(code));
    outbox.touch(this);
  }

  /** Ends or, if `resumable`, detaches the session, and waits for IDENTIFY or RESUME on the same connection (op 9). */
  invalidate(resumable: boolean): void {
    if (this.#session) {
      this.#letGo(resumable);
      this.#phase = 'unidentified';
      this.#deadlineMs = this.#host.nowMs() + this.#host.limits.identifyTimeoutMs;
    }
    this.send(OP.INVALID_SESSION, resumable);
  }

  // Called by the opcodes.

  heartbeat(seq: number | null): void {
    if (this.#phase === 'open') this.#expectHeartbeat();
    if (seq !== null) this.#session?.acknowledge(seq);
    this.#lane.leave();
    this.#write(this.#lane.ack);
  }

  identify(identify: Omit<Identify, 'version'>, compress: boolean): void {
    if (compress) this.#lane = this.#lane.withPayloadCompression();
    this.#open(this.#host.port.identify({ ...identify, version: this.#version }, this));
  }

  resume(resume: { readonly token: string; readonly sessionId: string; readonly seq: number }): void {
    this.#open(this.#host.port.resume(resume, this));
  }

  updatePresence(presence: GatewayPresenceUpdateData): void {
    const nowMs = this.#host.nowMs();
    const waitMs = this.#allowance.takePresence(nowMs);
    if (waitMs > 0) this.#late = { presence, dueMs: nowMs + waitMs };
    else {
      this.#late = null;
      this.#session?.ask({ name: 'presence', input: presence });
    }
  }

  // Called by the server.

  /** Drops the connection as if the network had failed. The session can be resumed. */
  terminate(): void {
    this.#ws?.close();
  }

  /** Extends the deadline by the time during which the server could not read from clients. */
  extendDeadlines(ms: number): void {
    this.#deadlineMs += ms;
  }

  /** Checks deadlines; call about once a second. */
  sweep(nowMs: number): void {
    if (this.#late && nowMs >= this.#late.dueMs) this.updatePresence(this.#late.presence);
    if (nowMs < this.#deadlineMs) return;
    if (this.#phase === 'closing') this.#ws?.close();
    else if (this.#phase === 'open') this.close(CLOSE.UNKNOWN_ERROR.code, 'Heartbeat timed out.');
    else if (this.#phase === 'unidentified') this.#closeFor(CLOSE.NOT_AUTHENTICATED);
    else this.#closeFor(CLOSE.UNKNOWN_ERROR);
  }

  flush(outbox: Outbox, head: number): void {
    const ws = this.#ws;
    if (!ws) return;
    try {
      if (head !== -1 && outbox.next[head] === -1) this.writeChain(head);
      else if (head !== -1) {
        corked = this;
        corkedHead = head;
        ws.cork(writeCorked);
        if (ws.getBufferedAmount() > this.#host.limits.socketBufferBytesMax) this.#overflow();
      }
      if (this.#closing) this.#finish(ws, this.#closing);
      else if (this.#waiters?.length && ws.getBufferedAmount() <= this.#host.limits.socketBufferBytesMax / 4)
        // Defer by a tick, so that a long replay does not starve other connections.
        this.#host.defer(() => this.#wake());
    } catch (error) {
      this.#host.onFault(error);
      this.#closeFor(CLOSE.UNKNOWN_ERROR);
    }
  }

  /** @internal Writes the chain of frames that starts at `head`. */
  writeChain(head: number): void {
    const { items, seqs, next } = this.#host.outbox;
    for (let at = head; at !== -1; at = next[at] as number) {
      const item = items[at] as DispatchBody | Uint8Array;
      if (item instanceof Uint8Array) this.#lane.leave();
      const frame = item instanceof Uint8Array ? item : this.#lane.dispatch(item, seqs[at] as number);
      if (!this.#write(frame)) return;
    }
  }

  // Private methods.

  #isShut(): boolean {
    return this.#phase === 'closing' || this.#phase === 'gone';
  }

  /** @returns false when nothing more can be written. */
  #write(frame: Uint8Array): boolean {
    const ws = this.#ws;
    if (!ws) return false;
    this.#host.counters.framesSent += 1;
    if (ws.send(frame, this.#lane.isBinary(frame), false) === SENT) return true;
    if (ws.getBufferedAmount() <= this.#host.limits.socketBufferBytesMax) return true;
    this.#overflow();
    return false;
  }

  /** Closes this socket because its client reads too slowly; the session can be resumed. */
  #overflow(): void {
    if (this.#isShut()) return;
    this.#host.counters.overflows += 1;
    this.close(CLOSE.UNKNOWN_ERROR.code, 'The connection reads too slowly.');
  }

  /** Sends the close frame once the client has read the queued data; the deadline bounds the wait. */
  #finish(ws: RawSocket, { code, reason }: CloseReason): void {
    if (ws.getBufferedAmount() === 0) ws.end(code, reason);
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = null;
    for (const run of waiters ?? []) run();
  }

  #letGo(resumable: boolean): void {
    const session = this.#session;
    this.#session = null;
    this.#resumable = resumable;
    this.#held = null;
    this.#late = null;
    session?.detach(this, resumable);
  }

  #closeFor(row: CloseReason): void {
    this.close(row.code, row.reason);
  }

  #handle(payload: Payload): void {
    const { op, d } = payload;
    if (this.#phase === 'opening' && op !== OP.HEARTBEAT && op !== OP.IDENTIFY && op !== OP.RESUME) {
      this.#held ??= [];
      this.#held.push(payload);
      return;
    }
    const opcode = opcodeOf(op, isPersons(this.#session));
    if (opcode === 'unknown') this.#closeFor(CLOSE.UNKNOWN_OPCODE);
    else if (opcode !== 'ignored') this.#accept(opcode, d);
    else if (op === QOS_HEARTBEAT) this.heartbeat(null);
  }

  #accept(opcode: Opcode, d: unknown): void {
    if (opcode.moment === 'identified' && this.#phase !== 'open') this.#closeFor(CLOSE.NOT_AUTHENTICATED);
    else if (opcode.moment === 'unidentified' && this.#phase !== 'unidentified')
      this.#closeFor(CLOSE.ALREADY_AUTHENTICATED);
    else if (!opcode.accept(this, d, this.#session)) this.#closeFor(CLOSE.UNKNOWN_OPCODE);
  }

  #open(outcome: Promise<OpenOutcome>): void {
    this.#phase = 'opening';
    outcome
      .then((settled) => this.#settle(settled))
      .catch((error) => {
        this.#host.onFault(error);
        this.#closeFor(CLOSE.UNKNOWN_ERROR);
      });
  }

  #settle(outcome: OpenOutcome): void {
    if (this.#isShut()) {
      if (outcome.kind === 'open') outcome.session.detach(this, this.#resumable);
    } else if (outcome.kind === 'closed') this.#closeFor(outcome);
    else if (outcome.kind === 'invalid') {
      this.#phase = 'unidentified';
      this.#held = null;
      this.send(OP.INVALID_SESSION, false);
    } else {
      this.#phase = 'open';
      this.#session = outcome.session;
      this.#expectHeartbeat();
      const held = this.#held ?? [];
      this.#held = null;
      for (const payload of held) if (!this.#isShut()) this.#handle(payload);
    }
  }

  #expectHeartbeat(): void {
    const { limits, nowMs } = this.#host;
    this.#deadlineMs = nowMs() + limits.heartbeatIntervalMs + limits.heartbeatGraceMs;
  }
}
