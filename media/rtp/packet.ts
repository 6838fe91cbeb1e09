/** @source RFC 3550, 5.1; RFC 5761, 4 for telling RTP from RTCP on one port */
export const RTP_HEADER_BYTES = 12;
export const RTP_VERSION = 2;

/** Shares its byte with the payload type. */
export const MARKER_BIT = 0x80;

const CSRC_BYTES = 4;
const EXTENSION_PREAMBLE_BYTES = 4;
const HAS_PADDING = 0x20;
const HAS_EXTENSION = 0x10;

export const isVersion2 = (packet: Buffer): boolean => packet[0]! >> 6 === RTP_VERSION;

/** Whether a packet of version 2 with at least two bytes is RTCP. */
export const isRtcp = (packet: Buffer): boolean => packet[1]! >= 192 && packet[1]! <= 223;

/**
 * Length of the part of an RTP packet that transport encryption leaves clear: fixed header, CSRCs and, with an extension, its
 * preamble but not its elements.
 *
 * @param length bytes used in `packet`
 * @returns -1 if the packet is shorter than its own header.
 */
export function clearHeaderBytes(packet: Buffer, length: number): number {
  if (length < RTP_HEADER_BYTES) return -1;
  const flags = packet[0]!;
  const bytes =
    RTP_HEADER_BYTES +
    (flags & 0x0f) * CSRC_BYTES +
    ((flags & HAS_EXTENSION) !== 0 ? EXTENSION_PREAMBLE_BYTES : 0);
  return bytes <= length ? bytes : -1;
}

/** The header fields of one RTP packet. Readers reuse one object: no allocation per packet. */
export class RtpPacket {
  marker = false;
  payloadType = 0;
  sequence = 0;
  timestamp = 0;
  ssrc = 0;
  /** Bounds of the payload in the buffer that was read, without extension elements and padding. */
  payloadStart = 0;
  payloadEnd = 0;
}

/**
 * Reads the fixed header in the first 12 bytes of `header` and finds the payload in `body`, which holds everything after the
 * clear header: extension elements, payload, padding.
 *
 * @param headerBytes the result of `clearHeaderBytes` for `header`
 * @returns false if the lengths inside the packet do not fit.
 */
export function readRtp(
  into: RtpPacket,
  header: Buffer,
  headerBytes: number,
  body: Buffer,
  bodyStart: number,
  bodyEnd: number,
): boolean {
  const flags = header[0]!;
  let start = bodyStart;
  let end = bodyEnd;
  if ((flags & HAS_EXTENSION) !== 0) start += 4 * header.readUInt16BE(headerBytes - 2);
  if (start > end) return false;
  if ((flags & HAS_PADDING) !== 0) {
    const padding = end > start ? body[end - 1]! : 0;
    if (padding === 0 || padding > end - start) return false;
    end -= padding;
  }
  into.marker = (header[1]! & MARKER_BIT) !== 0;
  into.payloadType = header[1]! & 0x7f;
  into.sequence = header.readUInt16BE(2);
  into.timestamp = header.readUInt32BE(4);
  into.ssrc = header.readUInt32BE(8);
  into.payloadStart = start;
  into.payloadEnd = end;
  return true;
}

/** Writes a minimal header: no CSRCs, extension or padding. */
export function writeRtpHeader(
  packet: Buffer,
  offset: number,
  marker: boolean,
  payloadType: number,
  sequence: number,
  timestamp: number,
  ssrc: number,
): void {
  packet[offset] = RTP_VERSION << 6;
  packet[offset + 1] = (marker ? MARKER_BIT : 0) | payloadType;
  packet.writeUInt16BE(sequence, offset + 2);
  packet.writeUInt32BE(timestamp, offset + 4);
  packet.writeUInt32BE(ssrc, offset + 8);
}
