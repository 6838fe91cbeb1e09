/** Width and height of an image in pixels, from its header. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

const SIDE_MAX = 65_535;
/** Segments of a JPEG that are read before its frame header; real files have about a dozen. */
const SEGMENTS_MAX = 512;

/**
 * Reads the size of a PNG, JPEG, GIF or WebP from its header. The bytes are untrusted: it never throws, and its time is
 * bounded by the number of segments.
 *
 * @returns null for other formats, truncated or contradictory headers, and sides of 0 or more than 65,535.
 */
export function imageSize(bytes: Uint8Array): ImageSize | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = sizeOfPng(view) ?? sizeOfGif(view) ?? sizeOfWebp(view) ?? sizeOfJpeg(view);
  if (!size) return null;
  const sound = (side: number) => side > 0 && side <= SIDE_MAX;
  return sound(size.width) && sound(size.height) ? size : null;
}

function sizeOfPng(view: DataView): ImageSize | null {
  if (view.byteLength < 24 || view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a)
    return null;
  if (view.getUint32(12) !== 0x49484452) return null;
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

function sizeOfGif(view: DataView): ImageSize | null {
  if (view.byteLength < 10 || view.getUint32(0) !== 0x47494638) return null;
  return { width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

/** Reads the three kinds of first chunk: lossy, lossless, and extended. @source RFC 9649 */
function sizeOfWebp(view: DataView): ImageSize | null {
  if (view.byteLength < 30 || view.getUint32(0) !== 0x52494646 || view.getUint32(8) !== 0x57454250)
    return null;
  switch (view.getUint32(12)) {
    case 0x56503820: {
      if (view.getUint8(23) !== 0x9d || view.getUint16(24) !== 0x012a) return null;
      return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    }
    case 0x5650384c: {
      if (view.getUint8(20) !== 0x2f) return null;
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 0x56503858:
      return { width: uint24(view, 24) + 1, height: uint24(view, 27) + 1 };
    default:
      return null;
  }
}

const uint24 = (view: DataView, at: number): number =>
  view.getUint8(at) | (view.getUint8(at + 1) << 8) | (view.getUint8(at + 2) << 16);

/** A segment of a JPEG; `at` is the position of its marker. */
interface Segment {
  readonly marker: number;
  readonly at: number;
  readonly end: number;
}

const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;

/**
 * The segments of a JPEG up to its first scan, which is the last one given.
 *
 * @source https://www.w3.org/Graphics/JPEG/itu-t81.pdf; ITU-T T.81, B.1 and B.2
 */
function* segmentsOf(view: DataView): Iterable<Segment> {
  if (view.byteLength < 4 || view.getUint16(0) !== 0xffd8) return;
  let at = 2;
  for (let count = 0; count < SEGMENTS_MAX && at + 4 <= view.byteLength; count += 1) {
    if (view.getUint8(at) !== 0xff) return;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    if (marker === END_OF_IMAGE) return;
    const bare = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    const end = at + (bare ? 2 : 2 + Math.max(view.getUint16(at + 2), 2));
    yield { marker, at, end };
    if (marker === START_OF_SCAN) return;
    at = end;
  }
}

const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** Reads the segments up to the frame header (SOF). */
function sizeOfJpeg(view: DataView): ImageSize | null {
  for (const { marker, at } of segmentsOf(view))
    if (isFrame(marker) && at + 9 <= view.byteLength)
      return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
  return null;
}

/** Whether a JPEG has a frame header, and a scan that begins after it. */
export function hasScan(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let hasFrame = false;
  for (const { marker, end } of segmentsOf(view)) {
    if (marker === START_OF_SCAN) return hasFrame && end < view.byteLength;
    hasFrame ||= isFrame(marker);
  }
  return false;
}
