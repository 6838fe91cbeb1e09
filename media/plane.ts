import type { TransportMode } from '../protocol/voice.ts';

/**
 * Media of all calls, as the actors see it. Commands return at once; the worker that has the call carries them out in order
 * and reports what it finds as events. No media packet passes through this interface.
 */
export interface MediaPlane {
  /** Assigns the call to a worker. */
  open(callId: string, events: (event: MediaEvent) => void): MediaRoom;
  /** One snapshot of all workers, for metrics and `guildhall calls`. */
  metrics(): Promise<MediaMetrics>;
  close(): Promise<void>;
}

/** The media of one call. Members are identified by their audio SSRC, which the plane allocates: unique over all calls. */
export interface MediaRoom {
  /** The address clients send UDP to, as READY announces it. */
  readonly address: { readonly ip: string; readonly port: number };
  /** Adds a member and allocates its SSRCs; nothing is received or sent until `connectUdp` or `connectPeer`. */
  join(member: NewMember): MediaMember;
  leave(ssrc: number): void;
  /** Sets the transport of a member that has selected UDP. `key` has 32 bytes; a later call replaces the transport. */
  connectUdp(ssrc: number, transport: UdpConnection): void;
  /**
   * Sets the transport of a member that has selected WebRTC. `fragment` is the client's SDP (`data` of op 1), untrusted.
   *
   * @returns the SDP for op 4, or null when the fragment cannot be used (close 4012).
   */
  connectPeer(ssrc: number, fragment: string): Promise<string | null>;
  /** Sets the payload types that the member uses for codecs, as op 1 or op 14 announces them. */
  setPayloadTypes(ssrc: number, codecs: readonly CodecNumbers[]): void;
  /** Sets whether the member sends audio and video, and whether it receives audio. A member starts with all false. */
  setGate(ssrc: number, gate: Gate): void;
  /** Restricts who receives this member's audio to the given members; null: every member whose gate allows. */
  setAudience(ssrc: number, only: readonly number[] | null): void;
  /** Sets the streams that a member sends now, as op 12 announces them; an empty list for none. */
  setStreams(ssrc: number, streams: readonly VideoStream[]): void;
  /** Sets the quality a member wants, as in op 15: per primary video SSRC from 0 (not wanted) to 100; `any` for all others. */
  setSinkWants(
    ssrc: number,
    wants: { readonly any: number; readonly bySsrc: ReadonlyMap<number, number> },
  ): void;
  /** When true, audio without a DAVE marker that is not a silence frame is dropped. */
  setEncryptedOnly(encryptedOnly: boolean): void;
  close(): void;
}

export interface UdpConnection {
  readonly mode: TransportMode;
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** The client's address as op 1 claims it, if its voice socket is connected from the same IP address; else null. */
  readonly claimed?: { readonly address: string; readonly port: number } | null;
}

export interface CodecNumbers {
  readonly name: string;
  readonly payloadType: number;
  readonly rtxPayloadType: number | null;
}

export interface NewMember {
  readonly userId: string;
  /** Simulcast layers to allocate SSRCs for, in the client's order, highest quality first; empty for audio only. */
  readonly layers: readonly { readonly rid: string; readonly quality: number; readonly type: string }[];
}

export interface MediaMember {
  readonly ssrc: number;
  /** In the order of `layers`. */
  readonly streams: readonly {
    readonly ssrc: number;
    readonly rtxSsrc: number;
    readonly rid: string;
    readonly quality: number;
    readonly type: string;
  }[];
}

export interface Gate {
  /** Others may hear this member's audio. */
  readonly speaks: boolean;
  /** Others may see this member's video. */
  readonly streams: boolean;
  /** This member receives the others' audio. */
  readonly receives: boolean;
}

export interface VideoStream {
  readonly ssrc: number;
  readonly rtxSsrc: number;
  readonly rid: string;
  /** 1 to 100. */
  readonly quality: number;
  readonly active: boolean;
}

export type MediaEvent =
  /** The member's first packet authenticated (UDP), or its peer connected (WebRTC). */
  | { readonly type: 'connected'; readonly ssrc: number }
  /** Inferred from audio: true at the first packet after silence, false after `SPEAKING_ENDS_MS` without a packet. */
  | { readonly type: 'speaking'; readonly ssrc: number; readonly speaking: boolean }
  /** The member sent nothing for too long, neither media nor keepalives, or its peer failed. */
  | { readonly type: 'unreachable'; readonly ssrc: number }
  /** Half of the nonces of this member's key are used up. It needs another key, so its session ends (4006). */
  | { readonly type: 'exhausted'; readonly ssrc: number }
  /** The worker was restarted with all its state, keys and SSRCs included: clients resume (4015). */
  | { readonly type: 'restored' }
  /** The worker cannot be restored: the call ends (4022). */
  | { readonly type: 'lost' };

export interface MediaMetrics {
  readonly workers: readonly WorkerFigures[];
  readonly calls: ReadonlyMap<string, readonly MemberMetrics[]>;
}

interface WorkerFigures {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Packets dropped by reason: `unknown`, `unauthenticated`, `replayed`, `malformed`, `not_allowed`, `plain`, `no_receiver`, `rate_limited`, `send_failed`, `send_queue_full` (the oldest waiting packets). */
  readonly drops: Readonly<Record<string, number>>;
  /** Histogram of the time from a packet's arrival to its last send; upper bounds in microseconds. */
  readonly latency: {
    readonly boundsUs: readonly number[];
    readonly counts: readonly number[];
    readonly sumUs: number;
  };
  readonly restarts: number;
  /** The implementation that sends: the addon, or node:dgram where that cannot be loaded. */
  readonly sender: 'native' | 'dgram';
}

export interface MemberMetrics {
  readonly ssrc: number;
  readonly userId: string;
  readonly transport: 'none' | 'udp' | 'webrtc';
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Share of the packets sent by this member that were lost, 0 to 1 (RFC 3550, A.3). */
  readonly loss: number;
  /** Interarrival jitter in milliseconds (RFC 3550, A.8). */
  readonly jitterMs: number;
}
