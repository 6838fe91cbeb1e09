import {
  FEEDBACK,
  hasSenderInfo,
  isRemb,
  listedCount,
  listedSsrc,
  mediaSsrc,
  RTCP,
  RTCP_PARTS_MAX,
  RtcpPart,
  readRtcp,
  reportAt,
  reportCount,
  writeNack,
  writeReceiverReport,
  writeRemb,
  writeSenderReport,
} from '../rtp/rtcp.ts';
import {
  hearersOf,
  type Layer,
  type Member,
  receivesAudio,
  type SsrcStream,
  sees,
  type Viewing,
} from './room.ts';
import type { PacketSender } from './sender.ts';
import type { VideoRouter } from './video.ts';

/**
 * Routes RTCP of members. Each packet of a compound is forwarded only to the members it concerns: reports of a sender to the
 * receivers of that stream, and feedback of a receiver to the sender of the stream, if the receiver does receive it.
 *
 * Transport-wide congestion feedback is dropped: its numbers count the packets of one hop, and the server removes the header
 * extension that carries them.
 */
export class FeedbackRouter {
  readonly #streams: ReadonlyMap<number, SsrcStream>;
  readonly #sender: PacketSender;
  readonly #video: VideoRouter;
  readonly #part = new RtcpPart();

  constructor(streams: ReadonlyMap<number, SsrcStream>, sender: PacketSender, video: VideoRouter) {
    this.#streams = streams;
    this.#sender = sender;
    this.#video = video;
  }

  /** Routes the compound between `start` and `end`. @returns false if its first packet is incomplete. */
  route(from: Member, bytes: Buffer, start: number, end: number, nowMs: number): boolean {
    const part = this.#part;
    let at = start;
    for (let parts = 0; parts < RTCP_PARTS_MAX && readRtcp(part, bytes, at, end); parts += 1) {
      this.#routePart(from, bytes, part, nowMs);
      at = part.end;
    }
    return at > start;
  }

  #routePart(from: Member, bytes: Buffer, part: RtcpPart, nowMs: number): void {
    if (!from.rtcpRate.take(nowMs)) return;
    if (part.type === RTCP.SR) this.#senderReport(from, bytes, part, nowMs);
    if (part.type === RTCP.SR || part.type === RTCP.RR) this.#reports(from, bytes, part, nowMs);
    else if (part.type === RTCP.RTPFB && part.count === FEEDBACK.NACK) this.#nack(from, bytes, part);
    else if (part.type === RTCP.PSFB) this.#pictureFeedback(from, bytes, part, nowMs);
  }

  #senderReport(from: Member, bytes: Buffer, part: RtcpPart, nowMs: number): void {
    const stream = this.#streams.get(part.senderSsrc);
    if (stream?.member !== from || !hasSenderInfo(part)) return;
    if (stream.kind === 'audio') {
      const length = writeSenderReport(this.#sender.scratch, 0, bytes, part, stream.ssrc, 0);
      for (const hearer of hearersOf(from)) this.#sender.sendRtcp(hearer, length);
    } else if (stream.kind === 'video') {
      for (const viewing of this.#video.viewersOf(from, nowMs)) {
        if (viewing.layer !== stream.layer) continue;
        const { scratch } = this.#sender;
        const length = writeSenderReport(
          scratch,
          0,
          bytes,
          part,
          from.primary!.ssrc,
          viewing.timestampOffset,
        );
        this.#sender.sendRtcp(viewing.viewer, length);
      }
    }
  }

  /** The stream a receiver's feedback is about, and the receiver's subscription to it; null if it does not receive the stream. */
  #subject(from: Member, ssrc: number): { stream: SsrcStream; viewing: Viewing | null } | null {
    const stream = this.#streams.get(ssrc);
    if (stream === undefined || stream.member.room !== from.room || !stream.member.isReachable) return null;
    if (stream.kind === 'audio') return receivesAudio(from, stream.member) ? { stream, viewing: null } : null;
    const viewing = stream.member.subscriptions.get(from);
    return viewing && viewing.layer !== null && sees(from, stream.member) ? { stream, viewing } : null;
  }

  #reports(from: Member, bytes: Buffer, part: RtcpPart, nowMs: number): void {
    const count = reportCount(part);
    for (let index = 0; index < count; index += 1) {
      if (!from.rtcpRate.take(nowMs)) return;
      const block = reportAt(part, index);
      const subject = this.#subject(from, bytes.readUInt32BE(block));
      if (subject === null || subject.stream.kind === 'rtx') continue;
      const { stream, viewing } = subject;
      const length = writeReceiverReport(
        this.#sender.scratch,
        0,
        bytes,
        block,
        from.ssrc,
        viewing?.layer?.ssrc ?? stream.ssrc,
        viewing?.sequenceOffset ?? 0,
      );
      this.#sender.sendRtcp(stream.member, length);
    }
  }

  #nack(from: Member, bytes: Buffer, part: RtcpPart): void {
    const subject = this.#subject(from, mediaSsrc(part, bytes));
    if (subject === null || subject.stream.kind === 'rtx') return;
    const { stream, viewing } = subject;
    const length = writeNack(
      this.#sender.scratch,
      0,
      bytes,
      part,
      from.ssrc,
      viewing?.layer?.ssrc ?? stream.ssrc,
      viewing?.sequenceOffset ?? 0,
    );
    this.#sender.sendRtcp(stream.member, length);
  }

  #pictureFeedback(from: Member, bytes: Buffer, part: RtcpPart, nowMs: number): void {
    if (part.count === FEEDBACK.PLI) this.#keyframe(from, mediaSsrc(part, bytes), nowMs);
    const count = listedCount(part, bytes);
    for (let index = 0; index < count && from.rtcpRate.take(nowMs); index += 1) {
      const ssrc = listedSsrc(part, bytes, index);
      if (part.count === FEEDBACK.FIR) this.#keyframe(from, ssrc, nowMs);
      else if (isRemb(part, bytes)) this.#remb(from, bytes, part, ssrc);
    }
  }

  #layerSeen(from: Member, ssrc: number): Layer | null {
    const viewing = this.#subject(from, ssrc)?.viewing;
    return viewing?.target ?? viewing?.layer ?? null;
  }

  #keyframe(from: Member, ssrc: number, nowMs: number): void {
    const layer = this.#layerSeen(from, ssrc);
    if (layer !== null) this.#video.askKeyframe(layer, nowMs);
  }

  #remb(from: Member, bytes: Buffer, part: RtcpPart, ssrc: number): void {
    const layer = this.#layerSeen(from, ssrc);
    if (layer === null) return;
    const length = writeRemb(this.#sender.scratch, 0, bytes, part, from.ssrc, layer.ssrc);
    this.#sender.sendRtcp(layer.member, length);
  }
}
