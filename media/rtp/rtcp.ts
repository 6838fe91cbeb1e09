import { RTP_VERSION } from './packet.ts';

/**
 * @source RFC 3550, 6; RFC 4585, 6; RFC 5104, 4.3.1; https://datatracker.ietf.org/doc/draft-alvestrand-rmcat-remb/03/
 * for REMB
 */
export const RTCP = { SR: 200, RR: 201, SDES: 202, BYE: 203, APP: 204, RTPFB: 205, PSFB: 206 } as const;
export const FEEDBACK = { NACK: 1, PLI: 1, FIR: 4, APPLICATION: 15 } as const;

/** Bytes of an RTCP packet that transport encryption leaves clear: the first header and the sender's SSRC. */
export const RTCP_HEADER_BYTES = 8;
const PLI_BYTES = 12;
const REPORT_BLOCK_BYTES = 24;
const SENDER_INFO_BYTES = 20;
const REMB_WORD = 0x52454d42;

/** Most packets of one compound packet that are read; the rest is ignored. */
export const RTCP_PARTS_MAX = 16;

/** One packet of a compound packet. Readers reuse one object. */
export class RtcpPart {
  type = 0;
  /** Report count or feedback message type. */
  count = 0;
  senderSsrc = 0;
  start = 0;
  end = 0;
}

/**
 * Reads the packet at `start` of a compound packet that ends at `end`.
 *
 * @returns false if there is no complete packet; the caller stops reading.
 */
export function readRtcp(into: RtcpPart, bytes: Buffer, start: number, end: number): boolean {
  if (end - start < RTCP_HEADER_BYTES) return false;
  if (bytes[start]! >> 6 !== RTP_VERSION) return false;
  const packetEnd = start + 4 * (bytes.readUInt16BE(start + 2) + 1);
  if (packetEnd > end || packetEnd - start < RTCP_HEADER_BYTES) return false;
  into.type = bytes[start + 1]!;
  into.count = bytes[start]! & 0x1f;
  into.senderSsrc = bytes.readUInt32BE(start + 4);
  into.start = start;
  into.end = packetEnd;
  return true;
}

/** Offset of the report blocks of a sender or receiver report. */
const reportsStart = (part: RtcpPart): number =>
  part.start + RTCP_HEADER_BYTES + (part.type === RTCP.SR ? SENDER_INFO_BYTES : 0);

/** Number of report blocks that are complete. */
export const reportCount = (part: RtcpPart): number =>
  Math.max(0, Math.min(part.count, Math.floor((part.end - reportsStart(part)) / REPORT_BLOCK_BYTES)));

export const reportAt = (part: RtcpPart, index: number): number =>
  reportsStart(part) + index * REPORT_BLOCK_BYTES;

/** Whether a sender report has its sender info, so that `writeSenderReport` may read it. */
export const hasSenderInfo = (part: RtcpPart): boolean =>
  part.end - part.start >= RTCP_HEADER_BYTES + SENDER_INFO_BYTES;

/** The media SSRC of a feedback packet; 0 if it has none. */
export const mediaSsrc = (part: RtcpPart, bytes: Buffer): number =>
  part.end - part.start >= 12 ? bytes.readUInt32BE(part.start + 8) : 0;

function writeHeader(
  into: Buffer,
  offset: number,
  count: number,
  type: number,
  length: number,
  ssrc: number,
) {
  into[offset] = (RTP_VERSION << 6) | count;
  into[offset + 1] = type;
  into.writeUInt16BE(length / 4 - 1, offset + 2);
  into.writeUInt32BE(ssrc, offset + 4);
}

/** Writes a sender report for another SSRC, without report blocks: they are about streams that only its sender receives. */
export function writeSenderReport(
  into: Buffer,
  offset: number,
  bytes: Buffer,
  part: RtcpPart,
  ssrc: number,
  timestampOffset: number,
): number {
  const length = RTCP_HEADER_BYTES + SENDER_INFO_BYTES;
  writeHeader(into, offset, 0, RTCP.SR, length, ssrc);
  bytes.copy(into, offset + 8, part.start + 8, part.start + length);
  into.writeUInt32BE((bytes.readUInt32BE(part.start + 16) + timestampOffset) >>> 0, offset + 16);
  return length;
}

/** Writes a receiver report with the one block at `block`, about `aboutSsrc`. */
export function writeReceiverReport(
  into: Buffer,
  offset: number,
  bytes: Buffer,
  block: number,
  reporterSsrc: number,
  aboutSsrc: number,
  sequenceOffset: number,
): number {
  const length = RTCP_HEADER_BYTES + REPORT_BLOCK_BYTES;
  writeHeader(into, offset, 1, RTCP.RR, length, reporterSsrc);
  bytes.copy(into, offset + 8, block, block + REPORT_BLOCK_BYTES);
  into.writeUInt32BE(aboutSsrc, offset + 8);
  into.writeUInt16BE((bytes.readUInt16BE(block + 10) - sequenceOffset) & 0xffff, offset + 18);
  return length;
}

/** Pairs of a NACK that are forwarded, each for up to 17 packets; a client that misses more needs a keyframe. */
const NACK_PAIRS_MAX = 64;

/** Writes a NACK with the same pairs about another SSRC, with `sequenceOffset` subtracted from each sequence number. */
export function writeNack(
  into: Buffer,
  offset: number,
  bytes: Buffer,
  part: RtcpPart,
  reporterSsrc: number,
  aboutSsrc: number,
  sequenceOffset: number,
): number {
  const pairs = Math.max(0, Math.min(NACK_PAIRS_MAX, (part.end - part.start - 12) / 4));
  const length = 12 + 4 * pairs;
  writeHeader(into, offset, FEEDBACK.NACK, RTCP.RTPFB, length, reporterSsrc);
  into.writeUInt32BE(aboutSsrc, offset + 8);
  for (let at = 12; at < length; at += 4) {
    into.writeUInt16BE((bytes.readUInt16BE(part.start + at) - sequenceOffset) & 0xffff, offset + at);
    into.writeUInt16BE(bytes.readUInt16BE(part.start + at + 2), offset + at + 2);
  }
  return length;
}

/** Writes a picture loss indication, which asks the sender of `aboutSsrc` for a keyframe. */
export function writePli(into: Buffer, offset: number, reporterSsrc: number, aboutSsrc: number): number {
  writeHeader(into, offset, FEEDBACK.PLI, RTCP.PSFB, PLI_BYTES, reporterSsrc);
  into.writeUInt32BE(aboutSsrc, offset + 8);
  return PLI_BYTES;
}

/** Most entries of a FIR or REMB that are read. */
const LISTED_MAX = 32;

/** Number of SSRCs in a FIR or REMB, for `listedSsrc`; 0 for another packet. */
export function listedCount(part: RtcpPart, bytes: Buffer): number {
  const room = part.end - part.start;
  if (part.type !== RTCP.PSFB) return 0;
  if (part.count === FEEDBACK.FIR) return Math.max(0, Math.min(LISTED_MAX, Math.floor((room - 12) / 8)));
  if (!isRemb(part, bytes)) return 0;
  return Math.min(LISTED_MAX, bytes[part.start + 16]!, Math.floor((room - 20) / 4));
}

export const isRemb = (part: RtcpPart, bytes: Buffer): boolean =>
  part.type === RTCP.PSFB &&
  part.count === FEEDBACK.APPLICATION &&
  part.end - part.start >= 20 &&
  bytes.readUInt32BE(part.start + 12) === REMB_WORD;

export const listedSsrc = (part: RtcpPart, bytes: Buffer, index: number): number =>
  bytes.readUInt32BE(part.count === FEEDBACK.FIR ? part.start + 12 + 8 * index : part.start + 20 + 4 * index);

/** Writes a REMB with the same bit rate about one SSRC. */
export function writeRemb(
  into: Buffer,
  offset: number,
  bytes: Buffer,
  part: RtcpPart,
  reporterSsrc: number,
  aboutSsrc: number,
): number {
  writeHeader(into, offset, FEEDBACK.APPLICATION, RTCP.PSFB, 24, reporterSsrc);
  into.writeUInt32BE(0, offset + 8);
  into.writeUInt32BE(REMB_WORD, offset + 12);
  bytes.copy(into, offset + 16, part.start + 16, part.start + 20);
  into[offset + 16] = 1;
  into.writeUInt32BE(aboutSsrc, offset + 20);
  return 24;
}
