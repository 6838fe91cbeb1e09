import { type CallMember, NO_VIDEO, type Video } from '../../engine/call/member.ts';
import { FrameRing, type NumberedFrame, type RingLimits } from '../../engine/call/replay.ts';
import { type SinkWants, wantsAtFirst } from '../../engine/call/video.ts';
import type { VoiceMember } from '../../engine/call/voicemember.ts';
import type { MediaMember } from '../../media/plane.ts';
import { VOICE_CLOSE, VOICE_OP } from '../../protocol/voice.ts';
import type { Supervisor } from '../runtime/supervisor.ts';
import type { Wheel } from '../runtime/wheel.ts';
import type { SelectProtocol, VideoUpdate, VoiceCodec, VoiceSession, VoiceSink } from './ports.ts';
import { VoiceSessionLifecycle } from './voicesession.shell.ts';

/** The call as a voice session uses it. */
export interface CallSessionHost {
  readonly ring: RingLimits;
  readonly resumeWindowMs: number;
  readonly wheel: Wheel;
  readonly supervisor: Supervisor;
  selected(session: CallSession, select: SelectProtocol): void;
  spoke(session: CallSession, flags: number, ssrc: number): void;
  filmed(session: CallSession, update: VideoUpdate): void;
  coded(session: CallSession, codecs: readonly VoiceCodec[]): void;
  wanted(session: CallSession, wants: SinkWants): void;
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

interface SessionStart {
  readonly version: number;
  readonly maxDaveVersion: number;
  readonly video: boolean;
  readonly mediaSessionId: string;
  readonly voiceMember: VoiceMember;
  readonly audience: ReadonlySet<string> | null;
  readonly media: MediaMember;
}

/**
 * One voice session: a member of a call from Identify until the session ends, over one or more connections. It numbers
 * its frames, keeps them for Resume (op 7), and waits for its client when a connection breaks.
 */
export class CallSession implements VoiceSession {
  readonly userId: string;
  readonly maxDaveVersion: number;
  readonly mediaSessionId: string;
  member: CallMember;
  transport: 'none' | 'udp' | 'webrtc' = 'none';
  /** Number of Select Protocol frames so far. */
  selections = 0;
  /** Number of Select Protocol frames since media last arrived. */
  attempts = 0;
  /** The speaking flags that the other members last received; null before they know the SSRC. */
  toldSpeaking: number | null = null;
  /** The other members received speaking flags a moment ago; later changes wait. */
  hushed = false;
  toldVideo: Video = NO_VIDEO;
  sentWants = '';
  toldCodec = '';
  sentGate = '';
  readonly #host: CallSessionHost;
  readonly lifecycle: VoiceSessionLifecycle;
  readonly #ring: FrameRing;
  #version: number;
  #sink: VoiceSink | null;

  constructor(start: SessionStart, sink: VoiceSink, host: CallSessionHost) {
    const { voiceMember, media, audience } = start;
    this.userId = voiceMember.userId;
    this.maxDaveVersion = start.maxDaveVersion;
    this.mediaSessionId = start.mediaSessionId;
    this.member = {
      voiceMember,
      audience,
      ssrc: media.ssrc,
      layers: media.streams,
      speech: { claimed: null, heard: false },
      video: NO_VIDEO,
      codecs: [],
      wants: wantsAtFirst(start.video || media.streams.length > 0),
    };
    this.#host = host;
    this.#version = start.version;
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

  get ssrc(): number {
    return this.member.ssrc;
  }

  /** Whether its connection receives numbered frames and can resume without loss. */
  get buffered(): boolean {
    return this.#version >= BUFFERED_VERSION;
  }

  /** The address of the client's connection; null without a connection. */
  get address(): string | null {
    return this.#sink?.address ?? null;
  }

  get attached(): boolean {
    return this.#sink !== null;
  }

  /** Sends a frame that is kept until it is acknowledged. `weightBytes`: the approximate size of `d`. */
  send(op: number, d: unknown, weightBytes = weightOf(d)): void {
    if (this.over) return;
    const seq = this.#ring.push({ kind: 'json', op, d, weightBytes });
    this.#sink?.send(op, d, this.buffered ? seq : null);
  }

  /** Sends a frame that belongs to this connection only. */
  sendOnce(op: number, d: unknown): void {
    this.#sink?.send(op, d, null);
  }

  sendBinary(op: number, payload: Uint8Array): void {
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
    if (this.#sink === null) return;
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
    if (!this.over) this.#host.selected(this, select);
  }

  speaking(flags: number, ssrc: number): void {
    if (!this.over) this.#host.spoke(this, flags, ssrc);
  }

  video(update: VideoUpdate): void {
    if (!this.over) this.#host.filmed(this, update);
  }

  codecs(codecs: readonly VoiceCodec[]): void {
    if (!this.over) this.#host.coded(this, codecs);
  }

  sinkWants(wants: SinkWants): void {
    if (!this.over) this.#host.wanted(this, wants);
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
