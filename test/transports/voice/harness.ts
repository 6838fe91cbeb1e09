import type {
  VoiceIdentify,
  VoiceOutcome,
  VoicePort,
  VoiceResume,
  VoiceSession,
  VoiceSink,
} from '../../../actors/call/ports.ts';
import { VirtualClock } from '../../../actors/runtime/virtual.ts';
import { VoiceAllowance } from '../../../engine/ratelimit/flood.ts';
import type { SocketLimits } from '../../../transports/gateway/socket.ts';
import type { VoiceHost } from '../../../transports/voice/socket.ts';
import { VoiceSocket } from '../../../transports/voice/socket.ts';
import { FakeWire as GatewayWire } from '../gateway/harness.ts';

/** The calls of a session in order: name of the method and its argument. */
type VoiceRequest = [string, ...unknown[]];

/** A session that only records calls; `react` can throw, or answer through the sink. */
class FakeSession implements VoiceSession {
  readonly userId = '7';
  readonly asked: VoiceRequest[] = [];
  /** Called with each request before it returns. */
  react: (asked: VoiceRequest) => void = () => {};
  /** True while the session calls a method of the sink. */
  inside = false;
  readonly #note =
    (name: string) =>
    (...given: unknown[]): void => {
      this.asked.push([name, ...given]);
      this.react([name, ...given]);
    };
  readonly selectProtocol = this.#note('selectProtocol');
  readonly speaking = this.#note('speaking');
  readonly video = this.#note('video');
  readonly codecs = this.#note('codecs');
  readonly sinkWants = this.#note('sinkWants');
  readonly dave = this.#note('dave');
  readonly transitionReady = this.#note('transitionReady');
  readonly invalidCommitWelcome = this.#note('invalidCommitWelcome');
  readonly acknowledge = this.#note('acknowledge');
  /** Whether the session may be resumed, for each time it was detached. */
  readonly detached: boolean[] = [];
  detach(_: VoiceSink, resumable: boolean): void {
    if (this.inside) throw new Error('called back from inside a call of the sink');
    this.detached.push(resumable);
  }
}

/** Calls that accept everyone with the token `ticket`. */
export class FakeCalls implements VoicePort {
  readonly session = new FakeSession();
  readonly identified: VoiceIdentify[] = [];
  readonly resumed: VoiceResume[] = [];
  sink: VoiceSink | null = null;
  /** Called with the sink during IDENTIFY. */
  greet: (sink: VoiceSink) => void = (sink) => sink.send(2, { ssrc: 1 }, null);

  identify(identify: VoiceIdentify, sink: VoiceSink): VoiceOutcome {
    this.identified.push(identify);
    if (identify.token !== 'ticket') return { kind: 'closed', code: 4004, reason: 'No.' };
    return this.#open(sink, () => this.greet(sink));
  }

  resume(resume: VoiceResume, sink: VoiceSink): VoiceOutcome {
    this.resumed.push(resume);
    if (resume.token !== 'ticket') return { kind: 'closed', code: 4006, reason: 'No.' };
    return this.#open(sink, () => sink.send(9, null, null));
  }

  /** Calls the sink as a session does, which must not be called back meanwhile. */
  through(use: (sink: VoiceSink) => void): void {
    this.session.inside = true;
    if (this.sink) use(this.sink);
    this.session.inside = false;
  }

  #open(sink: VoiceSink, greet: () => void): VoiceOutcome {
    this.sink = sink;
    greet();
    return { kind: 'open', session: this.session };
  }
}

export const LIMITS: SocketLimits = {
  heartbeatIntervalMs: 13_750,
  heartbeatGraceMs: 20_000,
  identifyTimeoutMs: 30_000,
  socketBufferBytesMax: 10_000,
  closeGraceMs: 5_000,
};

/** The remote end; text frames are kept as they were sent. */
class FakeWire {
  readonly frames: (string | Buffer)[] = [];
  readonly #wire = new GatewayWire();

  constructor(socket: VoiceSocket) {
    // The connection uses only `closed` and `drained` of the socket.
    this.#wire.socket = socket as never;
  }

  get ended() {
    return this.#wire.ended;
  }
  get cut() {
    return this.#wire.cut;
  }
  set stalled(stalled: boolean) {
    this.#wire.stalled = stalled;
  }

  send(frame: string | Uint8Array, binary: boolean): number {
    this.frames.push(typeof frame === 'string' ? frame : Buffer.from(frame));
    return this.#wire.send(Buffer.from(frame as string), binary);
  }
  getBufferedAmount = () => this.#wire.getBufferedAmount();
  end = (code: number, reason: string) => this.#wire.end(code, reason);
  close = () => this.#wire.close();
  drain = () => this.#wire.drain();

  /** The payloads of text frames. */
  get payloads(): { op: number; d: unknown; seq?: number }[] {
    return this.frames.flatMap((frame) => (typeof frame === 'string' ? [JSON.parse(frame)] : []));
  }
}

/** A voice gateway without a network: one socket over a fake wire, calls that record, and a virtual clock. */
export function arrange(
  change: {
    version?: number;
    limits?: Partial<SocketLimits>;
    calls?: VoicePort;
    open?: (version: number, host: VoiceHost) => VoiceSocket;
  } = {},
) {
  const clock = new VirtualClock();
  const calls = new FakeCalls();
  const faults: unknown[] = [];
  const gone: VoiceSocket[] = [];
  const host: VoiceHost = {
    limits: { ...LIMITS, ...change.limits },
    port: change.calls ?? calls,
    newAllowance: () => new VoiceAllowance(),
    counters: { framesSent: 0, framesReceived: 0, overflows: 0, closes: new Map() },
    version: 'guildhall 1.2.3',
    nowMs: () => clock.monotonic(),
    defer: (run) => clock.defer(run),
    onFault: (error) => faults.push(error),
    onGone: (socket) => gone.push(socket),
  };
  const open = change.open ?? ((version, given) => new VoiceSocket('127.0.0.1', version, given));
  const socket = open(change.version ?? 8, host);
  const wire = new FakeWire(socket);
  socket.opened(wire, null);
  const sayRaw = (text: string) => socket.received(Buffer.from(text), false);
  const say = (op: number, d: unknown) => sayRaw(JSON.stringify({ op, d }));
  const sayBinary = (...bytes: number[]) => socket.received(Uint8Array.from(bytes), true);
  const identified = () => {
    say(0, IDENTIFY);
    return { session: calls.session, sink: calls.sink! };
  };
  const pass = (ms: number) => {
    clock.advance(ms);
    socket.sweep(clock.monotonic());
    clock.settle();
  };
  /** The close code, after all deferred tasks have run. */
  const closeCode = () => {
    clock.settle();
    return wire.ended?.code ?? null;
  };
  return {
    clock,
    calls,
    faults,
    gone,
    host,
    socket,
    wire,
    say,
    sayRaw,
    sayBinary,
    identified,
    pass,
    closeCode,
  };
}

export const IDENTIFY = { server_id: '5', user_id: '7', session_id: 'abc', token: 'ticket' };
