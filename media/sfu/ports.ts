import type { TransportMode } from '../../protocol/voice.ts';
import type { TransportCipher } from '../crypto/transport.ts';
import type { Gate, MemberMetrics, VideoStream } from '../plane.ts';

/** A UDP address; dgram's `RemoteInfo` is one. Unchanged once it is made. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** `address port`, where it is known already. */
  readonly key?: string;
}

/** Encrypts packets and sends them to UDP clients, at once or together with others. */
export interface UdpOutput {
  /** Sets what follows the header of the next packets. It stays unchanged until the next call of `setBody`. */
  setBody(body: Buffer): void;
  /**
   * Sends `header`, which is valid only during the call, and the body.
   *
   * @param cipher null sends them unencrypted
   * @returns length of the packet
   */
  sendUdp(to: Endpoint, cipher: TransportCipher | null, header: Buffer, nonce: number): number;
}

/**
 * The I/O of a forwarder. The forwarder makes all calls synchronously from within `handleUdp`, `handlePeer`, `tick` or a
 * command, and none of them may call back into the forwarder. A body is valid until one of those returns.
 */
export interface ForwarderOutput extends UdpOutput {
  /** Sends one plain RTP or RTCP packet to a WebRTC member. The bytes are valid only during the call. */
  sendPeer(ssrc: number, bytes: Buffer, offset: number, length: number): void;
  /** Reports an event about a member of a call. */
  event(callId: string, event: ForwarderEvent): void;
}

/** `speaking` and `silent` are inferred from audio; the others are as in `MediaEvent`. */
export interface ForwarderEvent {
  readonly type: 'connected' | 'speaking' | 'silent' | 'unreachable' | 'exhausted';
  readonly ssrc: number;
}

/** Creates a transport cipher. `key` has 32 bytes. */
export type CreateCipher = (mode: TransportMode, key: Uint8Array) => TransportCipher;

export interface ForwarderOptions {
  /** Creates the transport cipher of a member. */
  readonly cipher: CreateCipher;
  /** A connected member that sends nothing for this long is reported `unreachable`, once. */
  readonly silentMs: number;
}

/** A member for `MediaForwarder.join`: like that of `MediaRoom.join`, with allocated SSRCs. Layers have falling quality. */
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
   * The client's address as op 1 claims it, or null. It is used before an authenticated packet arrives only if IP discovery
   * for this member came from it; the caller passes it only if its IP is that of the client's voice socket. So a client that
   * only listens is reached, and no client can direct media at a third party.
   */
  readonly claimed: Endpoint | null;
  /** Counters to continue from when a worker is restarted; null for a new key. */
  readonly resume: NonceReport | null;
}

/** How far a member's nonces are used. The owner of the worker keeps it, with the address, and passes it to a restart. */
export interface NonceReport {
  readonly ssrc: number;
  /** Number of nonces used for sending. A restarted worker continues `NONCE_MARGIN` above it. */
  readonly sent: number;
  /** Highest counter received from the client, and its byte order; null before the first packet. */
  readonly received: { readonly highest: number; readonly littleEndian: boolean | null } | null;
  readonly address: Endpoint | null;
}

/** A codec named as in op 1; `opus` is the only audio codec. */
export interface PayloadTypes {
  readonly name: string;
  readonly payloadType: number;
  readonly rtxPayloadType: number | null;
}

export interface ForwarderMetrics {
  readonly packetsIn: number;
  readonly packetsOut: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly drops: Readonly<Record<DropReason, number>>;
}

/** Reasons for dropping a packet; the owner of the socket counts `send_failed` and latency. */
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
 * Forwards the media of all calls of one worker: one packet in, one decryption, then one encryption and one send per receiver.
 * Sans-IO: time is the parameter `nowMs` (monotonic milliseconds, fractions allowed), bytes leave through
 * `ForwarderOutput`. Commands mirror `MediaRoom`; a command about an unknown call or member does nothing, because the call or
 * member may have left in the meantime.
 */
export interface MediaForwarder {
  open(callId: string): void;
  close(callId: string): void;
  /** Answers IP discovery that came for this member less than a second ago, when no member had its SSRC. */
  join(callId: string, member: ForwarderMember, nowMs: number): void;
  leave(ssrc: number): void;
  connectUdp(ssrc: number, transport: UdpTransport, nowMs: number): void;
  /** Marks the member's peer as connected: plain packets pass through `handlePeer` and `sendPeer`. Emits `connected`. */
  connectPeer(ssrc: number, nowMs: number): void;
  /** Marks the peer as gone; the member stays in the call without a transport. */
  disconnect(ssrc: number): void;
  /** Sets the payload types a member sends and expects; the default is that of `protocol/voice.ts`. */
  setPayloadTypes(ssrc: number, codecs: readonly PayloadTypes[]): void;
  setGate(ssrc: number, gate: Gate): void;
  setAudience(ssrc: number, only: readonly number[] | null): void;
  setStreams(ssrc: number, streams: readonly VideoStream[]): void;
  /** Sets wanted video; before the first call none is wanted. A want of 0 for an audio SSRC mutes that member's audio too. */
  setSinkWants(ssrc: number, any: number, bySsrc: ReadonlyMap<number, number>, nowMs: number): void;
  setEncryptedOnly(callId: string, encryptedOnly: boolean): void;

  /**
   * Handles one datagram: RTP or RTCP in transport encryption, IP discovery or a keepalive; anything else is counted and
   * dropped. `bytes` may be changed. Never throws on input from the network.
   */
  handleUdp(bytes: Buffer, length: number, from: Endpoint, nowMs: number): void;
  /**
   * Handles one plain RTP or RTCP packet of a member's peer, with the browser's SSRCs and payload types already replaced by the
   * allocated SSRCs and default payload types. `bytes` may be changed.
   */
  handlePeer(ssrc: number, bytes: Buffer, length: number, nowMs: number): void;
  /** Call every 50 to 100 ms. Ends speaking, sends deferred keyframe requests, and reports members that became silent. */
  tick(nowMs: number): void;

  /** Nonce counters of all UDP members, for the owner to keep; call about once a second. */
  nonces(): readonly NonceReport[];
  metrics(): ForwarderMetrics;
  /** Figures of all members, by call. */
  members(): ReadonlyMap<string, readonly MemberMetrics[]>;
}

/** Bounds the nonces that a lost worker may have used after its last report: far more than one second of packets. */
export const NONCE_MARGIN = 1 << 20;
