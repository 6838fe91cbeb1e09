import { beginsKeyframe } from '../rtp/keyframe.ts';
import { type RtpPacket, writeRtpHeader } from '../rtp/packet.ts';
import { writePli } from '../rtp/rtcp.ts';
import { CODECS, NO_PAYLOAD_TYPE } from './payloads.ts';
import { type Layer, type Member, sees, type Viewing } from './room.ts';
import type { PacketSender } from './sender.ts';
import { chooseLayer, Subscription } from './subscription.ts';

/** A sender is asked for a keyframe no more often than this, by however many receivers. */
const KEYFRAME_EVERY_MS = 500;
/** The SSRC the server speaks under itself, in requests of its own. */
const SERVER_SSRC = 1;
/** Original sequence number at the start of a retransmission. @source RFC 4588, 4 */
const OSN_BYTES = 2;

/** Pictures: who is sent which layer of whom, and the keyframes that takes. */
export class VideoRouter {
  readonly #sender: PacketSender;
  /** Layers of which a keyframe is wanted that could not be asked for yet. */
  readonly #due = new Set<Layer>();

  constructor(sender: PacketSender) {
    this.#sender = sender;
  }

  /** Those who are to be sent a member's picture now. O(1) until something changes in the room, then O(members). */
  viewersOf(source: Member, nowMs: number): readonly Viewing[] {
    const { room } = source;
    if (source.viewersVersion === room.version) return source.viewers;
    const viewers: Viewing[] = [];
    for (const member of room.members) {
      const isViewer = member.isReachable && sees(member, source);
      const known = source.subscriptions.get(member);
      if (!isViewer) known?.stop();
      else viewers.push(this.#aim(known ?? this.#begin(source, member), source, member, nowMs));
    }
    source.viewers = viewers;
    source.viewersVersion = room.version;
    return viewers;
  }

  #begin(source: Member, viewer: Member): Viewing {
    const subscription = new Subscription<Member, Layer>(viewer);
    source.subscriptions.set(viewer, subscription);
    return subscription;
  }

  #aim(subscription: Viewing, source: Member, viewer: Member, nowMs: number): Viewing {
    const target = chooseLayer(source.layers, viewer.wanted(source));
    if (target === null) subscription.stop();
    else {
      subscription.target = target;
      if (subscription.isWaiting) this.askKeyframe(target, nowMs);
    }
    return subscription;
  }

  /** Forwards a packet of a layer. @returns whether anyone may see the member. */
  forward(layer: Layer, packet: RtpPacket, bytes: Buffer, body: Buffer, nowMs: number): boolean {
    const source = layer.member;
    const viewers = this.viewersOf(source, nowMs);
    if (viewers.length === 0) return false;
    const primary = source.primary!;
    const begins = beginsKeyframe(CODECS[layer.codec]!, bytes, packet.payloadStart, packet.payloadEnd);
    // Whoever waits has what he waits for; a part of it that is lost he asks for himself.
    if (begins) this.#due.delete(layer);
    const { rtpHeader } = this.#sender;
    for (const subscription of viewers) {
      const { viewer } = subscription;
      const payloadType = viewer.payloads.type(layer.codec);
      if (payloadType === NO_PAYLOAD_TYPE) continue;
      if (begins === false && subscription.target === layer && subscription.isWaiting)
        this.askKeyframe(layer, nowMs);
      if (!subscription.admit(layer, packet.sequence, packet.timestamp, begins, nowMs)) continue;
      writeRtpHeader(
        rtpHeader,
        0,
        packet.marker,
        payloadType,
        (packet.sequence + subscription.sequenceOffset) & 0xffff,
        (packet.timestamp + subscription.timestampOffset) >>> 0,
        primary.ssrc,
      );
      this.#sender.sendRtp(viewer, body);
    }
    return true;
  }

  /** Forwards a retransmission: the number it names is the viewer's; one the viewer knows nothing of is dropped. */
  forwardRtx(layer: Layer, packet: RtpPacket, body: Buffer, nowMs: number): boolean {
    if (body.length <= OSN_BYTES) return true;
    const source = layer.member;
    const viewers = this.viewersOf(source, nowMs);
    const original = body.readUInt16BE(0);
    for (const subscription of viewers) {
      if (subscription.layer !== layer || !subscription.knows(original)) continue;
      const payloadType = subscription.viewer.payloads.rtxType(layer.codec);
      if (payloadType === NO_PAYLOAD_TYPE) continue;
      writeRtpHeader(
        this.#sender.rtpHeader,
        0,
        packet.marker,
        payloadType,
        subscription.nextRtxSequence(),
        (packet.timestamp + subscription.timestampOffset) >>> 0,
        source.primary!.rtxSsrc,
      );
      body.writeUInt16BE((original + subscription.sequenceOffset) & 0xffff, 0);
      this.#sender.sendRtp(subscription.viewer, body);
    }
    return viewers.length > 0;
  }

  /** Asks for a keyframe now, or as soon as that is allowed again. */
  askKeyframe(layer: Layer, nowMs: number): void {
    if (nowMs - layer.keyframeAskedMs < KEYFRAME_EVERY_MS) this.#due.add(layer);
    else this.#ask(layer, nowMs);
  }

  #ask(layer: Layer, nowMs: number): void {
    this.#due.delete(layer);
    layer.keyframeAskedMs = nowMs;
    if (!layer.member.isReachable) return;
    this.#sender.sendRtcp(layer.member, writePli(this.#sender.scratch, 0, SERVER_SSRC, layer.ssrc));
  }

  tick(nowMs: number): void {
    for (const layer of this.#due)
      if (nowMs - layer.keyframeAskedMs >= KEYFRAME_EVERY_MS) this.#ask(layer, nowMs);
  }

  /** Forgets a member that has left. */
  left(member: Member): void {
    for (const layer of member.layers) this.#due.delete(layer);
    for (const other of member.room.members) other.subscriptions.delete(member);
  }
}
