import { NonceWindow } from '../crypto/nonces.ts';
import type { TransportCipher } from '../crypto/transport.ts';
import type { Gate } from '../plane.ts';
import { Reception } from '../rtp/sequence.ts';
import { DEFAULT_PAYLOADS, NO_CODEC, type PayloadTable } from './payloads.ts';
import {
  type CreateCipher,
  type Endpoint,
  type ForwarderMember,
  NONCE_MARGIN,
  type UdpTransport,
} from './ports.ts';
import type { Subscription } from './subscription.ts';

const AUDIO_CLOCK_HZ = 48_000;
const VIDEO_CLOCK_HZ = 90_000;

const CLOSED: Gate = { speaks: false, streams: false, receives: false };
const CANDIDATES_MAX = 4;

/** The media of one call. Every change to who receives what increases `version`; cached lists of another version are stale. */
export class Room {
  readonly callId: string;
  readonly members = new Set<Member>();
  version = 0;
  encryptedOnly = false;

  constructor(callId: string) {
    this.callId = callId;
  }
}

/** One SSRC that a member sends with. */
export interface SsrcStream {
  readonly member: Member;
  readonly ssrc: number;
  readonly kind: 'audio' | 'video' | 'rtx';
  /** Null for audio. */
  readonly layer: Layer | null;
  readonly reception: Reception;
  readonly rate: Rate;
}

/** One encoding of a member's video. */
export interface Layer {
  readonly member: Member;
  readonly ssrc: number;
  readonly rtxSsrc: number;
  quality: number;
  active: boolean;
  /** Codec of its latest packet. */
  codec: number;
  keyframeAskedMs: number;
}

/** Limits the packets of one source per second. It drops the excess and does not smooth. */
export class Rate {
  readonly #max: number;
  #sinceMs = -Infinity;
  #count = 0;

  constructor(perSecond: number) {
    this.#max = perSecond;
  }

  take(nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= 1000) {
      this.#sinceMs = nowMs;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#max;
  }
}

/** Opus frames may be as short as 2.5 ms. */
const AUDIO_PER_SECOND = 500;
/** About 40 Mbit/s in full packets. */
const VIDEO_PER_SECOND = 4000;
/** RTCP packets, report blocks and listed SSRCs together: each may cause a packet to another member. */
const RTCP_ITEMS_PER_SECOND = 1000;

/** Transport of a UDP member: the key, the nonces used, and the client's address. */
export class UdpLink {
  readonly cipher: TransportCipher;
  readonly window = new NonceWindow();
  /** Number of nonces used for sending. */
  sent = 0;
  isReported = false;
  address: Endpoint | null = null;
  claimed: Endpoint | null;
  readonly #mode: string;
  readonly #key: Buffer;

  constructor({ mode, key, claimed, resume }: UdpTransport, createCipher: CreateCipher) {
    this.cipher = createCipher(mode, key);
    this.claimed = claimed;
    this.#mode = mode;
    this.#key = Buffer.from(key);
    if (!resume) return;
    this.sent = resume.sent + NONCE_MARGIN;
    this.address = resume.address;
    if (resume.received) this.window.resume(resume.received.highest, resume.received.littleEndian);
  }

  /** Whether this transport has the same mode and key; then its nonce counters must continue. */
  isFor({ mode, key }: UdpTransport): boolean {
    return mode === this.#mode && this.#key.equals(key);
  }
}

/** One member's subscription to another member's video. */
export type Viewing = Subscription<Member, Layer>;

export class Member {
  readonly room: Room;
  readonly ssrc: number;
  readonly userId: string;
  readonly audio: SsrcStream;
  /** In the order they were allocated, with falling quality. */
  readonly layers: readonly Layer[];
  readonly streams: readonly SsrcStream[];
  link: UdpLink | 'peer' | null = null;
  /** Whether an authentic packet has arrived by its present transport. */
  isConnected = false;
  payloads: PayloadTable = DEFAULT_PAYLOADS;
  gate: Gate = CLOSED;
  audience: ReadonlySet<number> | null = null;
  wantsAny = 0;
  wants: ReadonlyMap<number, number> = new Map();
  /** Addresses that IP discovery for this member came from most recently. */
  readonly candidates: Endpoint[] = [];
  readonly rtcpRate = new Rate(RTCP_ITEMS_PER_SECOND);

  hearers: readonly Member[] = [];
  hearersVersion = -1;
  viewers: readonly Viewing[] = [];
  viewersVersion = -1;
  /** Subscriptions of every member that ever watched and is still in the call; they keep the numbering of packets. */
  readonly subscriptions = new Map<Member, Viewing>();

  isSpeaking = false;
  lastVoiceMs = -Infinity;
  lastHeardMs = -Infinity;
  isSilent = false;
  packetsIn = 0;
  packetsOut = 0;
  bytesIn = 0;
  bytesOut = 0;

  constructor(room: Room, member: ForwarderMember) {
    this.room = room;
    this.ssrc = member.ssrc;
    this.userId = member.userId;
    this.audio = {
      member: this,
      ssrc: member.ssrc,
      kind: 'audio',
      layer: null,
      reception: new Reception(AUDIO_CLOCK_HZ),
      rate: new Rate(AUDIO_PER_SECOND),
    };
    this.layers = member.layers.map(({ ssrc, rtxSsrc, quality }) => ({
      member: this,
      ssrc,
      rtxSsrc,
      quality,
      active: false,
      codec: NO_CODEC,
      keyframeAskedMs: -Infinity,
    }));
    const video = this.layers.flatMap((layer): SsrcStream[] => [
      this.#videoStream(layer, 'video', layer.ssrc),
      this.#videoStream(layer, 'rtx', layer.rtxSsrc),
    ]);
    this.streams = [this.audio, ...video];
  }

  #videoStream(layer: Layer, kind: 'video' | 'rtx', ssrc: number): SsrcStream {
    return {
      member: this,
      ssrc,
      kind,
      layer,
      reception: new Reception(VIDEO_CLOCK_HZ),
      rate: new Rate(VIDEO_PER_SECOND),
    };
  }

  /** Whether the server can send packets to it. */
  get isReachable(): boolean {
    return this.link === 'peer' || (this.link !== null && this.link.address !== null);
  }

  /** The layer whose SSRCs others receive this member's video under, whichever layer is forwarded; null without video. */
  get primary(): Layer | null {
    return this.layers[0] ?? null;
  }

  /** The quality from 0 to 100 in which this member wants another member's video. */
  wanted(sender: Member): number {
    const primary = sender.primary;
    return primary === null ? 0 : (this.wants.get(primary.ssrc) ?? this.wantsAny);
  }

  /** Records an address that IP discovery came from; beyond `CANDIDATES_MAX` the oldest is dropped. */
  discoveredAt(from: Endpoint): void {
    if (this.candidates.some((known) => isSame(known, from))) return;
    if (this.candidates.length >= CANDIDATES_MAX) this.candidates.shift();
    this.candidates.push({ address: from.address, port: from.port });
  }
}

export const isSame = (a: Endpoint, b: Endpoint): boolean => a.port === b.port && a.address === b.address;

/** Whether `receiver` is sent the audio of `sender`, another member of its call. */
export const receivesAudio = (receiver: Member, sender: Member): boolean =>
  receiver !== sender &&
  sender.gate.speaks &&
  receiver.gate.receives &&
  (sender.audience === null || sender.audience.has(receiver.ssrc)) &&
  receiver.wants.get(sender.ssrc) !== 0;

/** Whether `receiver` is sent the video of `sender`. A deafened member still receives video. */
export const sees = (receiver: Member, sender: Member): boolean =>
  receiver !== sender && sender.gate.streams && receiver.wanted(sender) > 0;

/** The members that receive a member's audio now. O(1) while the room is unchanged, else O(members). */
export function hearersOf(sender: Member): readonly Member[] {
  const { room } = sender;
  if (sender.hearersVersion !== room.version) {
    const hearers: Member[] = [];
    for (const member of room.members)
      if (member.isReachable && receivesAudio(member, sender)) hearers.push(member);
    sender.hearers = hearers;
    sender.hearersVersion = room.version;
  }
  return sender.hearers;
}
