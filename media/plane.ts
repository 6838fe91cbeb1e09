import type { TransportMode } from '../protocol/voice.ts';

/**
 * Media of all calls, as the actors see it. Commands return at once and are carried out in order by the worker that has
 * the call; what the worker finds comes back as events. No media packet ever passes this interface.
 */
export interface MediaPlane {
  /** Gives a call a worker. */
  open(callId: string, events: (event: MediaEvent) => void): MediaRoom;
  /** One snapshot of all workers, for metrics and `guildhall calls`. */
  figures(): Promise<MediaFigures>;
  close(): Promise<void>;
}

/** The media of one call. Members are named by their audio SSRC, which the plane allots: unique over all calls. */
export interface MediaRoom {
  /** Where clients send UDP to: what READY says. */
  readonly address: { readonly ip: string; readonly port: number };
  /** Makes a place for a member; nothing is received or sent until `connectUdp` or `connectPeer`. */
  join(member: NewMember): MediaMember;
  leave(ssrc: number): void;
  /** The transport of a member that has selected UDP. `key` has 32 bytes; called again, it replaces the earlier one. */
  connectUdp(ssrc: number, transport: UdpConnection): void;
  /**
   * The transport of a member that has selected WebRTC. `fragment` is the client's SDP (`data` of op 1), untrusted.
   *
   * @returns the SDP that op 4 carries, or null when the fragment cannot be used (close 4012).
   */
  connectPeer(ssrc: number, fragment: string): Promise<string | null>;
  /** What op 1 or op 14 says of codecs: the payload types by which the member names them. */
  setPayloadTypes(ssrc: number, codecs: readonly CodecNumbers[]): void;
  /** Who may be heard and seen, and who wants to hear and see. A member starts with all false. */
  setGate(ssrc: number, gate: Gate): void;
  /** Bounds who hears this member to the given ones; null: everyone whose gate allows. */
  setAudience(ssrc: number, only: readonly number[] | null): void;
  /** What op 12 says: the streams a member sends now; an empty list: none. */
  setStreams(ssrc: number, streams: readonly VideoStream[]): void;
  /** What op 15 says: per primary video SSRC a quality from 0 (not wanted) to 100; `any` for all others. */
  setSinkWants(
    ssrc: number,
    wants: { readonly any: number; readonly bySsrc: ReadonlyMap<number, number> },
  ): void;
  /** True: audio that carries no DAVE marker (and is not a silence frame) is dropped. */
  setEncryptedOnly(encryptedOnly: boolean): void;
  close(): void;
}

export interface UdpConnection {
  readonly mode: TransportMode;
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** Where op 1 says that the client is, if its voice socket is connected from that very address; else null. */
  readonly claimed?: { readonly address: string; readonly port: number } | null;
}

export interface CodecNumbers {
  readonly name: string;
  readonly payloadType: number;
  readonly rtxPayloadType: number | null;
}

export interface NewMember {
  readonly userId: string;
  /** Simulcast layers to allot SSRCs for, lowest quality last as the client offers them; empty: audio only. */
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
  /** This member hears the others. */
  readonly hears: boolean;
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
  /** The first packet of a member authenticated (UDP), or its peer connected (WebRTC). */
  | { readonly type: 'connected'; readonly ssrc: number }
  /** Inferred from audio: true with the first packet after silence, false when none has come for a while. */
  | { readonly type: 'speaking'; readonly ssrc: number; readonly speaking: boolean }
  /** Nothing came from the member for long: neither media nor keepalive, or the peer failed. */
  | { readonly type: 'unreachable'; readonly ssrc: number }
  /** Half of the nonces under this member's key are used up: it must get another key, so its session ends (4006). */
  | { readonly type: 'exhausted'; readonly ssrc: number }
  /** The worker is gone and its successor has everything it had, keys and SSRCs included: clients resume (4015). */
  | { readonly type: 'restored' }
  /** The worker is gone for good: the call is over (4022). */
  | { readonly type: 'lost' };

export interface MediaFigures {
  readonly workers: readonly WorkerFigures[];
  readonly calls: ReadonlyMap<string, readonly MemberFigures[]>;
}

interface WorkerFigures {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Reason to count: `unknown`, `unauthenticated`, `replayed`, `malformed`, `not_allowed`, `plain`, `no_receiver`, `send_failed`, `rate_limited`. */
  readonly drops: Readonly<Record<string, number>>;
  /** Upper bounds in microseconds and how many packets fell under each: from the packet's arrival to its last send. */
  readonly latency: {
    readonly boundsUs: readonly number[];
    readonly counts: readonly number[];
    readonly sumUs: number;
  };
  readonly restarts: number;
}

export interface MemberFigures {
  readonly ssrc: number;
  readonly userId: string;
  readonly transport: 'none' | 'udp' | 'webrtc';
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Share of the packets sent by this member that never arrived, 0 to 1 (RFC 3550, A.3). */
  readonly loss: number;
  /** Interarrival jitter in milliseconds (RFC 3550, A.8). */
  readonly jitterMs: number;
}
