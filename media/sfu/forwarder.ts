import { DAVE_MARKER, OPUS_PAYLOAD_TYPE, SILENCE_FRAME } from '../../protocol/voice.ts';
import { nonceOf, TRANSPORT_OVERHEAD_BYTES } from '../crypto/transport.ts';
import type { Gate, MemberMetrics, VideoStream } from '../plane.ts';
import {
  DISCOVERY_BYTES,
  discoveryRequest,
  isPing,
  KEEPALIVE_BYTES,
  writeDiscoveryResponse,
  writePong,
} from '../rtp/discovery.ts';
import {
  clearHeaderBytes,
  isRtcp,
  isVersion2,
  MARKER_BIT,
  RtpPacket,
  readRtp,
  writeRtpHeader,
} from '../rtp/packet.ts';
import { RTCP_HEADER_BYTES } from '../rtp/rtcp.ts';
import { AnswerLimit, EarlyRequests } from './addresses.ts';
import { FeedbackRouter } from './feedback.ts';
import { memberMetricsOf } from './membermetrics.ts';
import { NO_CODEC, OPUS, PayloadTable } from './payloads.ts';
import {
  DROP_REASONS,
  type DropReason,
  type Endpoint,
  type ForwarderMember,
  type ForwarderMetrics,
  type ForwarderOptions,
  type ForwarderOutput,
  type MediaForwarder,
  type NonceReport,
  type PayloadTypes,
  type UdpTransport,
} from './ports.ts';
import { SLOT_BYTES } from './ring.ts';
import { hearersOf, isSame, Member, Room, type SsrcStream, UdpLink } from './room.ts';
import { PacketSender } from './sender.ts';
import { VideoRouter } from './video.ts';

/** Longer datagrams are refused. With the bytes that encryption adds, a packet of this size fits a slot. */
const PACKET_BYTES_MAX = 2000;
/** A member that sent no audio for this long has stopped speaking: ten lost packets of 20 ms. */
const SPEAKING_ENDS_MS = 200;
const SWEEP_EVERY_MS = 1000;
const ANSWERS_PER_SECOND = 20;

/** The reason a packet was dropped, or null if it was not. */
type ForwardResult = DropReason | null;

/** The `MediaForwarder` of one worker. */
export class Forwarder implements MediaForwarder {
  readonly #output: ForwarderOutput;
  readonly #options: ForwarderOptions;
  readonly #rooms = new Map<string, Room>();
  readonly #members = new Map<number, Member>();
  /** Streams by every SSRC that a member may send with. */
  readonly #streams = new Map<number, SsrcStream>();
  /** Members by address, to find the sender of a bare keepalive. */
  readonly #byAddress = new Map<string, Member>();
  readonly #speaking = new Set<Member>();
  readonly #sender: PacketSender;
  readonly #video: VideoRouter;
  readonly #feedback: FeedbackRouter;
  readonly #answers = { limit: new AnswerLimit(ANSWERS_PER_SECOND), early: new EarlyRequests() };
  readonly #plain = Buffer.alloc(SLOT_BYTES);
  readonly #packet = new RtpPacket();
  readonly #drops = Object.fromEntries(DROP_REASONS.map((reason) => [reason, 0])) as Record<
    DropReason,
    number
  >;
  #packetsIn = 0;
  #bytesIn = 0;
  #sweptMs = -Infinity;

  constructor(output: ForwarderOutput, options: ForwarderOptions) {
    this.#output = output;
    this.#options = options;
    this.#sender = new PacketSender(output);
    this.#video = new VideoRouter(this.#sender);
    this.#feedback = new FeedbackRouter(this.#streams, this.#sender, this.#video);
  }

  open(callId: string): void {
    if (!this.#rooms.has(callId)) this.#rooms.set(callId, new Room(callId));
  }

  close(callId: string): void {
    const room = this.#rooms.get(callId);
    if (!room) return;
    for (const member of [...room.members]) this.leave(member.ssrc);
    this.#rooms.delete(callId);
  }

  join(callId: string, joining: ForwarderMember, nowMs: number): void {
    const room = this.#rooms.get(callId);
    if (!room) return;
    this.leave(joining.ssrc);
    const member = new Member(room, joining);
    this.#members.set(member.ssrc, member);
    for (const stream of member.streams) this.#streams.set(stream.ssrc, stream);
    room.members.add(member);
    room.version += 1;
    const asked = this.#answers.early.take(member.ssrc, nowMs);
    if (asked) this.#discovery(member.ssrc, asked, nowMs);
  }

  leave(ssrc: number): void {
    const member = this.#members.get(ssrc);
    if (!member) return;
    this.disconnect(ssrc);
    this.#video.left(member);
    for (const stream of member.streams) this.#streams.delete(stream.ssrc);
    this.#members.delete(ssrc);
    member.room.members.delete(member);
    member.room.version += 1;
  }

  connectUdp(ssrc: number, transport: UdpTransport, nowMs: number): void {
    const member = this.#members.get(ssrc);
    if (!member) return;
    const { link } = member;
    if (link instanceof UdpLink && link.isFor(transport)) link.claimed = transport.claimed;
    else {
      this.disconnect(ssrc);
      member.link = new UdpLink(transport, this.#options.cipher);
      const { address } = member.link;
      if (address) this.#bind(member, member.link, address);
      member.lastHeardMs = nowMs;
    }
    this.#bindClaimed(member);
  }

  connectPeer(ssrc: number, nowMs: number): void {
    const member = this.#members.get(ssrc);
    if (!member) return;
    this.disconnect(ssrc);
    member.link = 'peer';
    member.room.version += 1;
    this.#noteReceived(member, nowMs);
  }

  disconnect(ssrc: number): void {
    const member = this.#members.get(ssrc);
    if (!member || member.link === null) return;
    if (member.link instanceof UdpLink) this.#unbind(member, member.link);
    member.link = null;
    member.isConnected = false;
    member.isSilent = false;
    this.#speaking.delete(member);
    if (member.isSpeaking) this.#speaks(member, false);
    member.room.version += 1;
  }

  setPayloadTypes(ssrc: number, codecs: readonly PayloadTypes[]): void {
    const member = this.#members.get(ssrc);
    if (member) member.payloads = new PayloadTable(codecs);
  }

  setGate(ssrc: number, gate: Gate): void {
    this.#change(ssrc, (member) => {
      member.gate = gate;
    });
  }

  setAudience(ssrc: number, only: readonly number[] | null): void {
    this.#change(ssrc, (member) => {
      member.audience = only && new Set(only);
    });
  }

  setStreams(ssrc: number, streams: readonly VideoStream[]): void {
    this.#change(ssrc, (member) => {
      for (const layer of member.layers) {
        const said = streams.find((stream) => stream.ssrc === layer.ssrc);
        layer.active = said?.active ?? false;
        layer.quality = said?.quality ?? layer.quality;
      }
    });
  }

  setSinkWants(ssrc: number, any: number, bySsrc: ReadonlyMap<number, number>, nowMs: number): void {
    this.#change(ssrc, (member) => {
      member.wantsAny = any;
      member.wants = bySsrc;
      // Ask newly wanted members for a keyframe now, not with their next packet.
      member.room.version += 1;
      for (const other of member.room.members)
        if (other.layers.some((layer) => layer.active)) this.#video.viewersOf(other, nowMs);
    });
  }

  #change(ssrc: number, how: (member: Member) => void): void {
    const member = this.#members.get(ssrc);
    if (!member) return;
    member.room.version += 1;
    how(member);
  }

  setEncryptedOnly(callId: string, encryptedOnly: boolean): void {
    const room = this.#rooms.get(callId);
    if (room) room.encryptedOnly = encryptedOnly;
  }

  handleUdp(bytes: Buffer, length: number, from: Endpoint, nowMs: number): void {
    this.#settle(length, this.#udp(bytes, length, from, nowMs));
  }

  handlePeer(ssrc: number, bytes: Buffer, length: number, nowMs: number): void {
    this.#settle(length, this.#peer(ssrc, bytes, length, nowMs));
  }

  #settle(length: number, outcome: ForwardResult): void {
    this.#packetsIn += 1;
    this.#bytesIn += length;
    if (outcome !== null) this.#drops[outcome] += 1;
  }

  #udp(bytes: Buffer, length: number, from: Endpoint, nowMs: number): ForwardResult {
    if (length > PACKET_BYTES_MAX || length < KEEPALIVE_BYTES) return 'malformed';
    if (length === KEEPALIVE_BYTES) return this.#keepalive(bytes, length, from, nowMs);
    const asking = discoveryRequest(bytes, length);
    if (asking >= 0) return this.#discovery(asking, from, nowMs);
    if (!isVersion2(bytes)) return 'malformed';
    const rtcp = isRtcp(bytes);
    const headerBytes = rtcp ? RTCP_HEADER_BYTES : clearHeaderBytes(bytes, length);
    if (headerBytes < 0 || headerBytes + TRANSPORT_OVERHEAD_BYTES > length) return 'malformed';
    const stream = this.#streams.get(bytes.readUInt32BE(rtcp ? 4 : 8));
    const link = stream?.member.link;
    if (!stream || !(link instanceof UdpLink)) return 'unknown';
    const nonce = nonceOf(bytes, length);
    if (!link.window.fresh(nonce)) return 'replayed';
    // Leave room for the header before an RTCP body, so that the decrypted compound is contiguous.
    const plainStart = rtcp ? RTCP_HEADER_BYTES : 0;
    const opened = link.cipher.open(
      bytes,
      length,
      headerBytes,
      plainStart === 0 ? this.#plain : this.#plain.subarray(plainStart),
    );
    if (opened < 0) return 'unauthenticated';
    const { member } = stream;
    if (link.window.accept(nonce)) this.#bind(member, link, from);
    this.#count(member, length, nowMs);
    if (rtcp) {
      bytes.copy(this.#plain, 0, 0, RTCP_HEADER_BYTES);
      return this.#rtcp(member, this.#plain, plainStart + opened, nowMs);
    }
    if (!readRtp(this.#packet, bytes, headerBytes, this.#plain, 0, opened)) return 'malformed';
    return this.#rtp(stream, this.#plain, nowMs);
  }

  #peer(ssrc: number, bytes: Buffer, length: number, nowMs: number): ForwardResult {
    const member = this.#members.get(ssrc);
    if (member?.link !== 'peer') return 'unknown';
    if (length > PACKET_BYTES_MAX || length < RTCP_HEADER_BYTES || !isVersion2(bytes)) return 'malformed';
    this.#count(member, length, nowMs);
    if (isRtcp(bytes)) return this.#rtcp(member, bytes, length, nowMs);
    const headerBytes = clearHeaderBytes(bytes, length);
    if (headerBytes < 0 || !readRtp(this.#packet, bytes, headerBytes, bytes, headerBytes, length))
      return 'malformed';
    const stream = this.#streams.get(this.#packet.ssrc);
    if (stream?.member !== member) return 'unknown';
    return this.#rtp(stream, bytes, nowMs);
  }

  #count(member: Member, length: number, nowMs: number): void {
    member.packetsIn += 1;
    member.bytesIn += length;
    this.#noteReceived(member, nowMs);
  }

  #event(member: Member, type: 'connected' | 'speaking' | 'silent' | 'unreachable'): void {
    this.#output.event(member.room.callId, { type, ssrc: member.ssrc });
  }

  #noteReceived(member: Member, nowMs: number): void {
    member.lastHeardMs = nowMs;
    member.isSilent = false;
    if (member.isConnected) return;
    member.isConnected = true;
    this.#event(member, 'connected');
  }

  #bind(member: Member, link: UdpLink, to: Endpoint): void {
    const key = keyOf(to);
    if (link.address && isSame(link.address, to) && this.#byAddress.get(key) === member) {
      // The socket knows its own objects faster than copies of them.
      link.address = to;
      return;
    }
    this.#unbind(member, link);
    link.address = to;
    this.#byAddress.set(key, member);
    member.room.version += 1;
  }

  #unbind(member: Member, link: UdpLink): void {
    if (link.address === null) return;
    const key = keyOf(link.address);
    if (this.#byAddress.get(key) === member) this.#byAddress.delete(key);
    link.address = null;
  }

  #bindClaimed(member: Member): void {
    const { link } = member;
    if (!(link instanceof UdpLink) || link.address !== null || link.claimed === null) return;
    const { claimed } = link;
    if (member.candidates.some((candidate) => isSame(candidate, claimed))) this.#bind(member, link, claimed);
  }

  #discovery(ssrc: number, from: Endpoint, nowMs: number): ForwardResult {
    const member = this.#members.get(ssrc);
    if (!member) {
      this.#answers.early.keep(ssrc, from, nowMs);
      return 'unknown';
    }
    if (!this.#answers.limit.take(from.address, nowMs)) return 'rate_limited';
    writeDiscoveryResponse(this.#sender.scratch, 0, ssrc, from.address, from.port);
    this.#sender.answer(from, DISCOVERY_BYTES);
    member.discoveredAt(from);
    this.#bindClaimed(member);
    return null;
  }

  #keepalive(bytes: Buffer, length: number, from: Endpoint, nowMs: number): ForwardResult {
    const member = this.#byAddress.get(keyOf(from));
    if (member) {
      member.lastHeardMs = nowMs;
      member.isSilent = false;
    }
    if (!isPing(bytes, length)) return null;
    if (!this.#answers.limit.take(from.address, nowMs)) return 'rate_limited';
    writePong(this.#sender.scratch, 0, bytes);
    this.#sender.answer(from, KEEPALIVE_BYTES);
    return null;
  }

  #rtcp(member: Member, bytes: Buffer, length: number, nowMs: number): ForwardResult {
    return this.#feedback.route(member, bytes, 0, length, nowMs) ? null : 'malformed';
  }

  /** Handles one authentic RTP packet, read into `#packet`, whose payload is in `bytes`. */
  #rtp(stream: SsrcStream, bytes: Buffer, nowMs: number): ForwardResult {
    const packet = this.#packet;
    const { member, layer } = stream;
    if (!stream.rate.take(nowMs)) return 'rate_limited';
    stream.reception.received(packet.sequence, packet.timestamp, nowMs);
    const body = bytes.subarray(packet.payloadStart, packet.payloadEnd);
    if (layer === null) return this.#audio(member, body, nowMs);
    if (!member.gate.streams || !layer.active) return 'not_allowed';
    if (stream.kind === 'video') {
      const codec = member.payloads.codec(packet.payloadType);
      if (codec === NO_CODEC || codec === OPUS) return 'malformed';
      layer.codec = codec;
    } else if (layer.codec === NO_CODEC) return 'no_receiver';
    const isSeen =
      stream.kind === 'video'
        ? this.#video.forward(layer, packet, bytes, body, nowMs)
        : this.#video.forwardRtx(layer, packet, body, nowMs);
    return isSeen ? null : 'no_receiver';
  }

  #audio(member: Member, body: Buffer, nowMs: number): ForwardResult {
    const packet = this.#packet;
    if (member.payloads.codec(packet.payloadType) !== OPUS) return 'malformed';
    if (!member.gate.speaks) return 'not_allowed';
    const isSilence = body.equals(SILENCE_FRAME);
    if (member.room.encryptedOnly && !isSilence && !isMarked(body)) return 'plain';
    if (!isSilence) {
      member.lastVoiceMs = nowMs;
      if (!member.isSpeaking) this.#speaks(member, true);
    }
    const hearers = hearersOf(member);
    if (hearers.length === 0) return 'no_receiver';
    const { rtpHeader } = this.#sender;
    const { marker, sequence, timestamp } = packet;
    writeRtpHeader(rtpHeader, 0, marker, OPUS_PAYLOAD_TYPE, sequence, timestamp, member.ssrc);
    this.#sender.setBody(body);
    for (const hearer of hearers) {
      rtpHeader[1] = hearer.payloads.type(OPUS) | (marker ? MARKER_BIT : 0);
      this.#sender.sendRtp(hearer);
    }
    return null;
  }

  #speaks(member: Member, speaking: boolean): void {
    member.isSpeaking = speaking;
    if (speaking) this.#speaking.add(member);
    else this.#speaking.delete(member);
    this.#event(member, speaking ? 'speaking' : 'silent');
  }

  tick(nowMs: number): void {
    for (const member of this.#speaking)
      if (nowMs - member.lastVoiceMs >= SPEAKING_ENDS_MS) this.#speaks(member, false);
    this.#video.tick(nowMs);
    if (nowMs - this.#sweptMs < SWEEP_EVERY_MS) return;
    this.#sweptMs = nowMs;
    // A browser's connection has its own timeout.
    for (const member of this.#members.values()) {
      if (!member.isConnected || member.isSilent || member.link === 'peer') continue;
      if (nowMs - member.lastHeardMs < this.#options.silentMs) continue;
      member.isSilent = true;
      this.#event(member, 'unreachable');
    }
  }

  nonces(): readonly NonceReport[] {
    const reports: NonceReport[] = [];
    for (const { ssrc, link } of this.#members.values())
      if (link instanceof UdpLink)
        reports.push({
          ssrc,
          sent: link.sent,
          received: link.window.position,
          address: link.address && { address: link.address.address, port: link.address.port },
        });
    return reports;
  }

  metrics(): ForwarderMetrics {
    return {
      packetsIn: this.#packetsIn,
      packetsOut: this.#sender.packets,
      bytesIn: this.#bytesIn,
      bytesOut: this.#sender.bytes,
      drops: { ...this.#drops },
    };
  }

  members(): ReadonlyMap<string, readonly MemberMetrics[]> {
    return new Map(
      [...this.#rooms].map(([callId, room]) => [callId, [...room.members].map(memberMetricsOf)] as const),
    );
  }
}

const keyOf = ({ address, port, key }: Endpoint): string => key ?? `${address} ${port}`;

const isMarked = (body: Buffer): boolean =>
  body.length >= 2 && body.readUInt16BE(body.length - 2) === DAVE_MARKER;
