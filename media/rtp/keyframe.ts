/**
 * Whether an RTP payload begins a keyframe, as far as end-to-end encryption lets the server see it: from the packetization,
 * and from the few frame bytes that DAVE leaves clear (VP8: the first 10, H264 and H265: NAL headers).
 *
 * @returns null if the codec is unknown.
 * @source RFC 7741 (VP8), RFC 6184 (H264), RFC 7798 (H265), RFC 9628 (VP9),
 * https://aomediacodec.github.io/av1-rtp-spec/ (AV1)
 */
export function beginsKeyframe(codec: string, bytes: Buffer, start: number, end: number): boolean | null {
  if (start >= end) return false;
  switch (codec) {
    case 'VP8':
      return vp8(bytes, start, end);
    case 'H264':
      return h264(bytes, start, end);
    case 'H265':
      return h265(bytes, start, end);
    case 'VP9':
      // First packet of a frame without inter-picture prediction; of the lowest spatial layer if layers are present.
      return vp9(bytes, start, end);
    case 'AV1':
      // The N bit: the first packet of a coded video sequence.
      return (bytes[start]! & 0x08) !== 0;
    default:
      return null;
  }
}

function vp8(bytes: Buffer, start: number, end: number): boolean {
  const descriptor = bytes[start]!;
  if ((descriptor & 0x17) !== 0x10) return false;
  let at = start + 1;
  if ((descriptor & 0x80) !== 0) {
    const extended = at < end ? bytes[at]! : 0;
    at += 1;
    if ((extended & 0x80) !== 0) at += at < end && (bytes[at]! & 0x80) !== 0 ? 2 : 1;
    if ((extended & 0x40) !== 0) at += 1;
    if ((extended & 0x30) !== 0) at += 1;
  }
  return at < end && (bytes[at]! & 0x01) === 0;
}

function vp9(bytes: Buffer, start: number, end: number): boolean {
  const descriptor = bytes[start]!;
  if ((descriptor & 0x48) !== 0x08) return false;
  if ((descriptor & 0x20) === 0) return true;
  let at = start + 1;
  if ((descriptor & 0x80) !== 0) at += at < end && (bytes[at]! & 0x80) !== 0 ? 2 : 1;
  return at < end && (bytes[at]! & 0x0e) === 0;
}

const isH264Key = (type: number): boolean => type === 5 || type === 7;

function h264(bytes: Buffer, start: number, end: number): boolean {
  const type = bytes[start]! & 0x1f;
  if (type === 28 || type === 29) {
    const fragment = start + 1 < end ? bytes[start + 1]! : 0;
    return (fragment & 0x80) !== 0 && isH264Key(fragment & 0x1f);
  }
  return type === 24 ? aggregated(bytes, start + 1, end, (unit) => isH264Key(unit & 0x1f)) : isH264Key(type);
}

const isH265Key = (type: number): boolean => (type >= 16 && type <= 21) || (type >= 32 && type <= 34);

function h265(bytes: Buffer, start: number, end: number): boolean {
  const type = (bytes[start]! >> 1) & 0x3f;
  if (type === 49) {
    const fragment = start + 2 < end ? bytes[start + 2]! : 0;
    return (fragment & 0x80) !== 0 && isH265Key(fragment & 0x3f);
  }
  return type === 48
    ? aggregated(bytes, start + 2, end, (unit) => isH265Key((unit >> 1) & 0x3f))
    : isH265Key(type);
}

/** Whether an aggregation packet has a unit, each preceded by its u16 length, for which `sought` is true. */
function aggregated(bytes: Buffer, from: number, end: number, sought: (unit: number) => boolean): boolean {
  for (let at = from; at + 2 < end; at += 2 + bytes.readUInt16BE(at)) if (sought(bytes[at + 2]!)) return true;
  return false;
}
