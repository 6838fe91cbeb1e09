import type {
  RelayedClient,
  VoiceIdentify,
  VoiceOutcome,
  VoicePort,
  VoiceRelays,
  VoiceResume,
  VoiceSession,
  VoiceSink,
} from '../../actors/call/ports.ts';
import type { VoiceAllowance } from '../../engine/ratelimit/flood.ts';
import { CLIENT_ENDS } from '../../protocol/closecodes.ts';
import { VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import { encodeServerFrame, type ServerVoiceOp } from '../../protocol/voiceframing.ts';
import type { SocketCounters, SocketLimits } from '../gateway/socket.ts';
import { decodeFrame, isOversized } from './decode.ts';
import { VOICE_OPCODES } from './opcodes/index.ts';
import type { Heartbeat, VoiceConnection, VoiceOpcode } from './opcodes/opcode.ts';
import { Outlet, type RawSocket } from './outlet.ts';
import { Relaying } from './relaying.ts';

/** State shared by all sockets. */
export interface VoiceHost {
  readonly limits: SocketLimits;
  readonly port: VoicePort;
  /** Creates the rate limit for one connection. */
  readonly newAllowance: () => VoiceAllowance;
  readonly counters: SocketCounters;
  /** The version that op 16 answers. */
  readonly version: string;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Runs a callback after the current tick's work. */
  readonly defer: (run: () => void) => void;
  readonly onFault: (error: unknown) => void;
  /** Called once for each opened socket, when its connection has ended. */
  readonly onGone: (socket: VoiceSocket) => void;
  /** Called when a socket is closed because of what its client sent before it had a session. */
  readonly onRefused?: (socket: VoiceSocket) => void;
}

type CloseReason = { readonly code: number; readonly reason: string };
type Phase = 'unidentified' | 'opening' | 'open' | 'closing' | 'gone';

const RESUMABLE: ReadonlySet<number> = new Set(
  Object.values(VOICE_CLOSE)
    .filter((row) => row.resumable)
    .map((row) => row.code),
);
/** Close codes before a session is open that do not count as the client's fault; all others mean a bad IDENTIFY or RESUME. */
const NOT_THE_CLIENTS_DOING: ReadonlySet<number> = new Set([
  VOICE_CLOSE.WEBRTC_CRASHED.code,
  VOICE_CLOSE.DISCONNECTED.code,
  VOICE_CLOSE.SERVER_CRASHED.code,
  VOICE_CLOSE.CALL_TERMINATED.code,
]);

const MOVING: CloseReason = {
  ...VOICE_CLOSE.SERVER_CRASHED,
  reason: 'The call is moving to another server.',
};

/** The nonce as received. Some clients use 64-bit nonces and compare the answer with them. */
const acknowledged = (d: Heartbeat): string =>
  typeof d === 'bigint'
    ? String(d)
    : typeof d === 'object' && d !== null
      ? `{"t":${acknowledged(d.t)}}`
      : JSON.stringify(d);

/**
 * One connection of the voice gateway: its protocol phase (HELLO, IDENTIFY or RESUME, then opcodes) and its deadlines, which
 * `sweep` checks. It has no timer of its own.
 *
 * Calls the session's `detach` once, and never from inside a call of the sink: a session that sends or closes is not called
 * back before its own call has returned.
 */
export class VoiceSocket implements VoiceSink, VoiceConnection, RelayedClient {
  readonly address: string;
  readonly version: number;
  /** The user whose session this connection has; null before there is one. */
  protected sessionUserId: string | null = null;
  readonly #host: VoiceHost;
  readonly #allowance: VoiceAllowance;
  readonly #relaying: Relaying | null;
  readonly #outlet: Outlet;
  #phase: Phase = 'unidentified';
  #session: VoiceSession | null = null;
  /** Deadline for IDENTIFY, for the next heartbeat, or for the end of closing, depending on the phase. */
  #deadlineMs = 0;
  #closing: CloseReason | null = null;
  /** While the connection is closing: whether the session may be resumed. */
  #resumable = true;

  /** @param relays For a connection through a port that shards share; null for others. */
  constructor(address: string, version: number, host: VoiceHost, relays: VoiceRelays | null = null) {
    this.address = address;
    this.version = version;
    this.#host = host;
    this.#allowance = host.newAllowance();
    this.#relaying = relays && new Relaying(relays);
    const slow = { ...VOICE_CLOSE.SERVER_CRASHED, reason: 'The connection reads too slowly.' };
    const { counters } = host;
    this.#outlet = new Outlet({
      bytesMax: host.limits.socketBufferBytesMax,
      sent: () => {
        counters.framesSent += 1;
      },
      // Its session can be resumed, and replays what was not sent.
      overflowed: () => {
        counters.overflows += 1;
        host.defer(() => this.#closeFor(slow));
      },
    });
  }

  // Called by the network.

  /**
   * The connection is open: sends HELLO, or closes it with `refusal`.
   *
   * @param isGreeted The shard that relays the client has sent HELLO.
   */
  opened(ws: RawSocket, refusal: CloseReason | null, isGreeted = false): void {
    const { limits, nowMs } = this.#host;
    this.#outlet.open(ws);
    this.#deadlineMs = nowMs() + limits.identifyTimeoutMs;
    if (refusal) this.#closeFor(refusal);
    else if (!isGreeted)
      this.send(VOICE_OP.HELLO, { v: this.version, heartbeat_interval: limits.heartbeatIntervalMs }, null);
  }

  /** Handles a received frame. The bytes are not kept. */
  received(bytes: Uint8Array, binary: boolean): void {
    if (this.#isShut()) return;
    const { counters, nowMs } = this.#host;
    counters.framesReceived += 1;
    if (!this.#allowance.take(binary, bytes.length, nowMs())) {
      this.#closeFor(VOICE_CLOSE.RATE_LIMITED);
      return;
    }
    const isRelayed = !isOversized(bytes, binary) && this.#relaying?.takes(bytes, binary);
    if (isRelayed) return;
    const decoded = decodeFrame(bytes, binary);
    if ('refused' in decoded) this.#closeFor(decoded.refused);
    else this.#accept(VOICE_OPCODES[decoded.op], decoded.d);
  }

  /** The client has read all queued data. */
  drained(): void {
    this.#finish();
  }

  /** The connection has ended; `code` is the client's close code, if it sent one. */
  closed(code: number): void {
    this.#outlet.ended();
    if (this.#phase !== 'closing') this.#resumable = !CLIENT_ENDS.has(code);
    this.#phase = 'gone';
    this.#letGo();
    this.#relaying?.closed(code);
    this.#host.onGone(this);
  }

  // Called by the session.

  send(op: ServerVoiceOp, d: unknown, seq: number | null): void {
    if (!this.#isShut()) this.#outlet.write(JSON.stringify(seq === null ? { op, d } : { op, d, seq }));
  }

  sendBinary(op: ServerVoiceOp, payload: Uint8Array, seq: number): void {
    if (!this.#isShut()) this.#outlet.write(encodeServerFrame({ seq, op, payload }));
  }

  close(code: number, reason: string): void {
    this.#shut({ code, reason }, RESUMABLE.has(code));
  }

  // Called by the relay.

  pass(frame: Uint8Array, binary: boolean): void {
    if (!this.#isShut()) this.#outlet.write(frame, binary);
  }

  // Called by the opcodes.

  heartbeat(d: Heartbeat, seqAck: number | null): void {
    if (this.#phase === 'open') this.#expectHeartbeat();
    if (!this.#isShut()) this.#outlet.write(`{"op":${VOICE_OP.HEARTBEAT_ACK},"d":${acknowledged(d)}}`);
    if (seqAck !== null) this.#session?.acknowledge(seqAck);
  }

  identify(identify: Omit<VoiceIdentify, 'version'>): void {
    const { port } = this.#host;
    this.#open(identify.serverId, () => port.identify({ ...identify, version: this.version }, this));
  }

  resume(resume: Omit<VoiceResume, 'version'>): void {
    const { port } = this.#host;
    this.#open(resume.serverId, () => port.resume({ ...resume, version: this.version }, this));
  }

  tellVersion(): void {
    const { version } = this.#host;
    this.send(VOICE_OP.VOICE_BACKEND_VERSION, { voice: version, rtc_worker: version }, null);
  }

  unknownProtocol(): void {
    this.#closeFor(VOICE_CLOSE.UNKNOWN_PROTOCOL);
  }

  // Called by the server.

  /** Drops the connection as if the network had failed. The session can be resumed. */
  terminate(): void {
    this.#outlet.drop();
  }

  /** Asks the client to reconnect: 4015 is the only code after which every library resumes. */
  sendAway(): void {
    this.#closeFor({ ...VOICE_CLOSE.SERVER_CRASHED, reason: 'The server is shutting down.' });
  }

  /** Extends the deadline by the time during which the server could not read from clients. */
  extendDeadlines(ms: number): void {
    this.#deadlineMs += ms;
  }

  /** Checks deadlines; call about once a second. */
  sweep(nowMs: number): void {
    if (nowMs < this.#deadlineMs) return;
    if (this.#phase === 'closing') this.#outlet.drop();
    // A client that receives this close joins again; a client whose network failed does not receive it and may resume.
    else if (!this.#isShut()) this.#closeFor(VOICE_CLOSE.SESSION_TIMEOUT, true);
  }

  // Private methods.

  #isShut(): boolean {
    return this.#phase === 'closing' || this.#phase === 'gone';
  }

  /**
   * This shard has refused the client: passes this frame and all later ones to the shard of the call, if that is another one,
   * which has the session and its deadlines.
   */
  #relayOrClose(serverId: string, refusal: CloseReason): void {
    const how = this.#isShut() ? 'here' : (this.#relaying?.begin(serverId, this) ?? 'here');
    if (how === 'here') this.#closeFor(refusal);
    else if (how === 'unknown') this.#closeFor(MOVING);
    else {
      this.#phase = 'open';
      this.#deadlineMs = Number.POSITIVE_INFINITY;
    }
  }

  #accept(opcode: VoiceOpcode, d: unknown): void {
    const { moment } = opcode;
    if (moment === 'identified' && this.#phase !== 'open') this.#closeFor(VOICE_CLOSE.NOT_AUTHENTICATED);
    else if (moment === 'unidentified' && this.#phase !== 'unidentified')
      this.#closeFor(VOICE_CLOSE.ALREADY_AUTHENTICATED);
    else {
      try {
        if (!opcode.accept(this, d, this.#session)) this.#closeFor(VOICE_CLOSE.BAD_REQUEST);
      } catch (error) {
        this.#host.onFault(error);
        this.#closeFor(VOICE_CLOSE.SERVER_CRASHED);
      }
    }
  }

  #open(serverId: string, ask: () => VoiceOutcome): void {
    this.#phase = 'opening';
    const outcome = ask();
    if (outcome.kind === 'closed') this.#relayOrClose(serverId, outcome);
    else if (this.#isShut()) outcome.session.detach(this, this.#resumable);
    else {
      this.#phase = 'open';
      this.#session = outcome.session;
      this.sessionUserId = outcome.session.userId;
      this.#expectHeartbeat();
    }
  }

  #expectHeartbeat(): void {
    const { limits, nowMs } = this.#host;
    this.#deadlineMs = nowMs() + limits.heartbeatIntervalMs + limits.heartbeatGraceMs;
  }

  /** Closes for a reason of the socket itself, and detaches the session. */
  #closeFor({ code, reason }: CloseReason, resumable = RESUMABLE.has(code)): void {
    if (this.#isShut()) return;
    this.#shut({ code, reason }, resumable);
    this.#letGo();
  }

  #shut(closing: CloseReason, resumable: boolean): void {
    if (this.#isShut()) return;
    const { counters, defer, limits, nowMs } = this.#host;
    if (this.#phase !== 'open' && !NOT_THE_CLIENTS_DOING.has(closing.code)) this.#host.onRefused?.(this);
    this.#phase = 'closing';
    this.#closing = closing;
    this.#resumable = resumable;
    this.#deadlineMs = nowMs() + limits.closeGraceMs;
    counters.closes.set(closing.code, (counters.closes.get(closing.code) ?? 0) + 1);
    // Deferred, because the native socket reports the end synchronously, and the session may be the one that closes.
    defer(() => this.#finish());
  }

  /** Sends the close frame once the client has read the queued data; the deadline bounds the wait. */
  #finish(): void {
    if (this.#closing) this.#outlet.finish(this.#closing.code, this.#closing.reason);
  }

  #letGo(): void {
    const session = this.#session;
    this.#session = null;
    session?.detach(this, this.#resumable);
  }
}
