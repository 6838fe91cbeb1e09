import type { TransportMode } from '../../protocol/voice.ts';
import type { Gate, MemberFigures, VideoStream } from '../plane.ts';

/** Where datagrams come from and go to; dgram's `RemoteInfo` is one. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/**
 * What a forwarder may do to the world. All calls are made synchronously from within `handleUdp`, `handlePeer`, `tick`
 * or a command, and none may call back into the forwarder.
 */
export interface ForwarderOutput {
  /**
   * Sends `length` bytes from `offset` of `bytes` to a UDP client. The bytes lie in a ring: they stay untouched until
   * `ForwarderOptions.slots` further packets were sent, so a send that the system puts off must end before that.
   */
  send(to: Endpoint, bytes: Buffer, offset: number, length: number): void;
  /** Sends one plain RTP or RTCP packet to a WebRTC member. The bytes are valid during the call only. */
  sendPeer(ssrc: number, bytes: Buffer, offset: number, length: number): void;
  /**
   * Whether the bytes of everything sent so far have been taken, so that the slot may be used for the next packet; where
   * it is not given, nobody knows.
   */
  isTaken?(): boolean;
  /** What was found out about a member of a call. */
  event(callId: string, event: ForwarderEvent): void;
}

/** `speaking` and `silent` are inferred from audio; the others are as in `MediaEvent`. */
export interface ForwarderEvent {
  readonly type: 'connected' | 'speaking' | 'silent' | 'unreachable' | 'exhausted';
  readonly ssrc: number;
}

export interface ForwarderOptions {
  /** Packets that may be on their way out at once: the size of the ring, in slots of 2 KiB. */
  readonly slots: number;
  /** A member heard before and then not for so long is reported `unreachable`, once. */
  readonly silentMs: number;
}

/** Half of the work of `MediaRoom.join`: SSRCs are already allotted. Layers are in order of falling quality. */
export interface ForwarderMember {
  readonly ssrc: number;
  readonly userId: string;
  readonly layers: readonly {
    readonly ssrc: number;
    readonly rtxSsrc: number;
    readonly rid: string;
    readonly quality: number;
  }[];
}

export interface UdpTransport {
  readonly mode: TransportMode;
  /** 32 bytes. */
  readonly key: Uint8Array;
  /**
   * Where the client says it is (op 1), or null. It is believed before an authenticated packet comes only if IP
   * discovery for this member came from there; the caller passes it only if its IP is the one the client's voice socket
   * is connected from. So a client that only listens is reached, and nobody can have media sent to a stranger.
   */
  readonly claimed: Endpoint | null;
  /** Counters to go on from, when a worker takes the place of a lost one; null for a new key. */
  readonly resume: NonceReport | null;
}

/** Where a member's nonces stand. Kept by the owner of the worker and given back after a restart, with its address. */
export interface NonceReport {
  readonly ssrc: number;
  /** Count of nonces used for sending. A successor starts `NONCE_MARGIN` above it. */
  readonly sent: number;
  /** Highest counter seen from the client, and in which byte order it counts; null before the first packet. */
  readonly received: { readonly highest: number; readonly littleEndian: boolean | null } | null;
  readonly address: Endpoint | null;
}

/** Names of codecs as in op 1; `opus` is the only audio codec. */
export interface PayloadTypes {
  readonly name: string;
  readonly payloadType: number;
  readonly rtxPayloadType: number | null;
}

export interface ForwarderFigures {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly drops: Readonly<Record<DropReason, number>>;
}

/** Why a packet came to nothing; `send_failed` and latency are counted by whoever owns the socket. */
export const DROP_REASONS = [
  'unknown',
  'unauthenticated',
  'replayed',
  'malformed',
  'not_allowed',
  'plain',
  'no_receiver',
  'rate_limited',
] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/**
 * Forwards the media of all calls of one worker: packet in, one decryption, one encryption and one send per receiver.
 * Sans-IO: time is the parameter `nowMs` (monotonic milliseconds, fractions welcome), bytes leave through
 * `ForwarderOutput`. Commands mirror `MediaRoom`; a command about an unknown call or member does nothing, as its
 * subject may have left in the meantime.
 */
export interface MediaForwarder {
  open(callId: string): void;
  close(callId: string): void;
  join(callId: string, member: ForwarderMember): void;
  leave(ssrc: number): void;
  connectUdp(ssrc: number, transport: UdpTransport, nowMs: number): void;
  /** The member's peer is up: plain packets may come by `handlePeer` and leave by `sendPeer`. Emits `connected`. */
  connectPeer(ssrc: number, nowMs: number): void;
  /** The peer is gone; the member stays in the call without a transport. */
  disconnect(ssrc: number): void;
  /** Which payload types a member sends and expects; until called, those of `protocol/voice.ts`. */
  setPayloadTypes(ssrc: number, codecs: readonly PayloadTypes[]): void;
  setGate(ssrc: number, gate: Gate): void;
  setAudience(ssrc: number, only: readonly number[] | null): void;
  setStreams(ssrc: number, streams: readonly VideoStream[]): void;
  /** Before the first call no video is wanted. A want of 0 for an audio SSRC takes that member's audio away too. */
  setSinkWants(ssrc: number, any: number, bySsrc: ReadonlyMap<number, number>, nowMs: number): void;
  setEncryptedOnly(callId: string, encryptedOnly: boolean): void;

  /**
   * One datagram: RTP or RTCP in transport encryption, IP discovery or a keepalive; anything else is counted and
   * forgotten. `bytes` may be changed. Never throws on what came from the network.
   */
  handleUdp(bytes: Buffer, length: number, from: Endpoint, nowMs: number): void;
  /**
   * One plain RTP or RTCP packet of a member's peer, which has put allotted SSRCs and default payload types in place of
   * the browser's own. `bytes` may be changed.
   */
  handlePeer(ssrc: number, bytes: Buffer, length: number, nowMs: number): void;
  /** Due every 50 to 100 ms: speaking that has ended, keyframe requests put off, members that fell silent. */
  tick(nowMs: number): void;

  /** Nonce counters of all UDP members, for the owner to keep; due about once a second. */
  nonces(): readonly NonceReport[];
  figures(): ForwarderFigures;
  /** Figures of all members, by call. */
  members(): ReadonlyMap<string, readonly MemberFigures[]>;
}

/** A second's worth of nonces, and far more: what a lost worker may have used after its last report. */
export const NONCE_MARGIN = 1 << 20;
