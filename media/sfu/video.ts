import { beginsKeyframe } from '../rtp/keyframe.ts';
import { type RtpPacket, writeRtpHeader } from '../rtp/packet.ts';
import { writePli } from '../rtp/rtcp.ts';
import { CODECS, NO_PAYLOAD_TYPE } from './payloads.ts';
import { type Layer, type Member, sees, type Viewing } from './room.ts';
import type { PacketSender } from './sender.ts';
import { chooseLayer, Subscription } from './subscription.ts';

/** Least time between two keyframe requests to a sender, for all its receivers together. */
const KEYFRAME_EVERY_MS = 500;
/** The SSRC of the server's own RTCP requests. */
const SERVER_SSRC = 1;
/** Original sequence number at the start of a retransmission. @source RFC 4588, 4 */
const OSN_BYTES = 2;

/** Routes video: which layer of a sender each viewer receives, and the keyframe requests this needs. */
export class VideoRouter {
  readonly #sender: PacketSender;
  /** Layers whose keyframe request is deferred by `KEYFRAME_EVERY_MS`. */
  readonly #due = new Set<Layer>();

  constructor(sender: PacketSender) {
    this.#sender = sender;
  }

  /** The members to send a member's video to now. O(1) while the room is unchanged, else O(members). */
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

  /** Forwards a packet of a layer. @returns whether the member has any viewer. */
  forward(layer: Layer, packet: RtpPacket, bytes: Buffer, body: Buffer, nowMs: number): boolean {
    const source = layer.member;
    const viewers = this.viewersOf(source, nowMs);
    if (viewers.length === 0) return false;
    const primary = source.primary!;
    const begins = beginsKeyframe(CODECS[layer.codec]!, bytes, packet.payloadStart, packet.payloadEnd);
    // The keyframe has arrived. A viewer that misses a part of it requests that part itself.
    if (begins) this.#due.delete(layer);
    const { rtpHeader } = this.#sender;
    this.#sender.setBody(body);
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
      this.#sender.sendRtp(viewer);
    }
    return true;
  }

  /** Forwards a retransmission with its original sequence number translated for each viewer; unknown ones are dropped. */
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
      this.#sender.setBody(body);
      this.#sender.sendRtp(subscription.viewer);
    }
    return viewers.length > 0;
  }

  /** Requests a keyframe now, or as soon as `KEYFRAME_EVERY_MS` allows. */
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

  /** Removes a member that has left. */
  left(member: Member): void {
    for (const layer of member.layers) this.#due.delete(layer);
    for (const other of member.room.members) other.subscriptions.delete(member);
  }
}
