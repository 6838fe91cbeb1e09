import { FrameRing, type NumberedFrame, type RingLimits } from '../../engine/call/replay.ts';
import type { SelectProtocol, VideoUpdate, VoiceCodec } from '../../engine/call/requests.ts';
import type { CallCommands } from '../../engine/call/rules.ts';
import type { SinkWants } from '../../engine/call/video.ts';
import type { UserId } from '../../protocol/ids.ts';
import { VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import type { ServerVoiceOp } from '../../protocol/voiceframing.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { VoiceSession, VoiceSink } from './ports.ts';
import { VoiceSessionLifecycle } from './voicesession.shell.ts';

/** The call as a voice session uses it. */
export interface CallSessionHost {
  readonly ring: RingLimits;
  readonly resumeWindowMs: number;
  readonly wheel: Wheel;
  readonly supervisor: Supervisor;
  run<N extends keyof CallCommands>(type: N, input: CallCommands[N]['input']): void;
  daveReceived(session: CallSession, op: number, payload: Uint8Array): void;
  daveReady(session: CallSession, transitionId: number): void;
  daveInvalid(session: CallSession, transitionId: number): void;
  /** The session has ended. `expired`: its client did not resume it in time. */
  left(session: CallSession, expired: boolean): void;
  /** A bug. */
  onFault(error: unknown): void;
}

export interface Close {
  readonly code: number;
  readonly reason: string;
}

/** The first version whose frames are numbered and kept for a resume. */
const BUFFERED_VERSION = 8;
/** Memory of a kept frame besides its payload. */
const FRAME_BYTES = 64;
const KEEP_NOTHING: RingLimits = { framesMax: 0, bytesMax: 0 };

interface VoiceIdentity {
  readonly userId: UserId;
  readonly version: number;
  readonly maxDaveVersion: number;
}

/**
 * One voice session: a member of a call from Identify until the session ends, over one or more connections. It numbers
 * its frames, keeps them for Resume (op 7), and waits for its client when a connection breaks.
 */
export class CallSession implements VoiceSession {
  readonly userId: UserId;
  readonly maxDaveVersion: number;
  readonly #host: CallSessionHost;
  readonly lifecycle: VoiceSessionLifecycle;
  readonly #ring: FrameRing;
  #version: number;
  /** Null exactly while the session is detached or over. */
  #sink: VoiceSink | null;

  constructor({ userId, version, maxDaveVersion }: VoiceIdentity, sink: VoiceSink, host: CallSessionHost) {
    this.userId = userId;
    this.maxDaveVersion = maxDaveVersion;
    this.#host = host;
    this.#version = version;
    this.#ring = new FrameRing(this.buffered ? host.ring : KEEP_NOTHING);
    this.#sink = sink;
    this.lifecycle = new VoiceSessionLifecycle(host, (expired) => {
      // After a crash the connection is still open.
      this.#hangUp(VOICE_CLOSE.SESSION_INVALID);
      host.left(this, expired);
    });
  }

  get over(): boolean {
    return this.lifecycle.over;
  }

  /** Whether its connection receives numbered frames and can resume without loss. */
  get buffered(): boolean {
    return this.#version >= BUFFERED_VERSION;
  }

  /** Sends a frame that is kept until it is acknowledged. `weightBytes`: the approximate size of `d`. */
  send(op: ServerVoiceOp, d: unknown, weightBytes = weightOf(d)): void {
    if (this.over) return;
    const seq = this.#ring.push({ kind: 'json', op, d, weightBytes });
    this.#sink?.send(op, d, this.buffered ? seq : null);
  }

  /** Sends a frame that belongs to this connection only. */
  sendOnce(op: ServerVoiceOp, d: unknown): void {
    this.#sink?.send(op, d, null);
  }

  sendBinary(op: ServerVoiceOp, payload: Uint8Array): void {
    if (this.over) return;
    const seq = this.#ring.push({
      kind: 'binary',
      op,
      payload,
      weightBytes: payload.byteLength + FRAME_BYTES,
    });
    this.#sink?.sendBinary(op, payload, seq);
  }

  /** The frames after `seqAck` that a connection of this version missed; null when some were evicted. */
  missedBy(version: number, seqAck: number): readonly NumberedFrame[] | null {
    return version < BUFFERED_VERSION ? [] : this.#ring.since(seqAck);
  }

  /** Continues on another connection and sends the frames that `missedBy` returned. */
  resume(sink: VoiceSink, version: number, missed: readonly NumberedFrame[]): void {
    const { code, reason } = VOICE_CLOSE.SESSION_TIMEOUT;
    this.#sink?.close(code, reason);
    this.#sink = sink;
    this.#version = version;
    this.lifecycle.send('attach');
    this.sendOnce(VOICE_OP.RESUMED, null);
    for (const { seq, frame } of missed)
      if (frame.kind === 'json') sink.send(frame.op, frame.d, seq);
      else sink.sendBinary(frame.op, frame.payload, seq);
  }

  /** Closes the connection; the session waits for another. */
  cut(close: Close): void {
    if (!this.lifecycle.attached) return;
    this.#hangUp(close);
    this.lifecycle.send('detach');
  }

  /** Ends the session, with its connection if it has one. */
  end(close: Close): void {
    if (this.over) return;
    this.#hangUp(close);
    this.lifecycle.send('end');
  }

  detach(sink: VoiceSink, resumable: boolean): void {
    if (sink !== this.#sink) return;
    this.#sink = null;
    this.lifecycle.send(resumable ? 'detach' : 'end');
  }

  selectProtocol(select: SelectProtocol): void {
    const address = this.#sink?.address ?? null;
    if (!this.over) this.#host.run('selectProtocol', { userId: this.userId, select, address });
  }

  speaking(flags: number): void {
    if (!this.over) this.#host.run('speak', { userId: this.userId, flags });
  }

  video(update: VideoUpdate): void {
    if (!this.over) this.#host.run('film', { userId: this.userId, update });
  }

  codecs(codecs: readonly VoiceCodec[]): void {
    if (!this.over) this.#host.run('offerCodecs', { userId: this.userId, codecs });
  }

  sinkWants(wants: SinkWants): void {
    if (!this.over) this.#host.run('wantLayers', { userId: this.userId, wants });
  }

  dave(op: number, payload: Uint8Array): void {
    if (!this.over) this.#host.daveReceived(this, op, payload);
  }

  transitionReady(transitionId: number): void {
    if (!this.over) this.#host.daveReady(this, transitionId);
  }

  invalidCommitWelcome(transitionId: number): void {
    if (!this.over) this.#host.daveInvalid(this, transitionId);
  }

  acknowledge(seq: number): void {
    this.#ring.acknowledge(seq);
  }

  #hangUp({ code, reason }: Close): void {
    const sink = this.#sink;
    this.#sink = null;
    sink?.close(code, reason);
  }
}

/** The approximate memory of a kept payload, in bytes. */
export const weightOf = (d: unknown): number => JSON.stringify(d).length + FRAME_BYTES;
