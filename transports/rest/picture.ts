import { hasScan, type ImageSize, imageSize } from './imagesize.ts';

/** The accepted image types and their file extensions. */
type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

/** The size, frames and duration of a picture, from its header and frames. */
interface Shape extends ImageSize {
  /** 0 for a still picture. */
  readonly frames: number;
  readonly durationMs: number;
}

export interface Picture extends Shape {
  readonly type: ImageType;
}

/** Longest side of an image that is stored; WebP cannot have a longer one. */
const SIDE_MAX = 16_384;

const startsWith = (bytes: Uint8Array, head: readonly number[], at = 0): boolean =>
  head.every((byte, index) => bytes[at + index] === byte);

/** Detects an image's type from its first bytes, whatever its sender declares; null for other formats. */
export function sniffImage(bytes: Uint8Array): ImageType | null {
  if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])) return 'image/png';
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) return 'image/jpeg';
  if (startsWith(bytes, [0x47, 0x49, 0x46, 0x38])) return 'image/gif';
  const riff = startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes, [0x57, 0x45, 0x42, 0x50], 8);
  return riff ? 'image/webp' : null;
}

const still = (size: ImageSize | null): Shape | null => size && { ...size, frames: 0, durationMs: 0 };

const READERS: Readonly<Record<ImageType, (bytes: Uint8Array) => Shape | null>> = {
  'image/png': readPng,
  'image/jpeg': (bytes) => (hasScan(bytes) ? still(imageSize(bytes)) : null),
  'image/gif': readGif,
  'image/webp': readWebp,
};

/**
 * Reads what surrounds the pixels of a picture; the pixels stay unread. The bytes are untrusted: it never throws, and its
 * time is bounded by their number.
 *
 * @returns null for other formats, and for files that are cut off or not well-formed.
 */
export function readPicture(bytes: Uint8Array): Picture | null {
  const type = sniffImage(bytes);
  const shape = type && READERS[type](bytes);
  return shape && { ...shape, type };
}

const isSide = (side: number): boolean => side >= 1 && side <= SIDE_MAX;
const hasSides = ({ width, height }: ImageSize): boolean => isSide(width) && isSide(height);

/** As `readPicture`; null also for pictures without an area, and for sides above 16,384 pixels. */
export function readImage(bytes: Uint8Array): Picture | null {
  const picture = readPicture(bytes);
  return picture && hasSides(picture) ? picture : null;
}

const PNG_HEAD_BYTES = 8;
/** Length, name and checksum of a chunk. */
const CHUNK_BYTES = 12;

/**
 * Reads the chunks of a png; null when they are not well-formed, or end before `IEND`. It is animated when `acTL` comes before the pixels.
 *
 * @source https://www.w3.org/TR/png-3/
 */
function readPng(bytes: Uint8Array): Shape | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let size: { readonly width: number; readonly height: number } | null = null;
  let [frames, durationMs] = [0, 0];
  let [isAnimated, hasPixels, hasEnd] = [false, false, false];
  for (let at = PNG_HEAD_BYTES; at + CHUNK_BYTES <= bytes.length; ) {
    const length = view.getUint32(at);
    const data = at + 8;
    if (data + length + 4 > bytes.length) return null;
    const name = Buffer.from(bytes.subarray(at + 4, data)).toString('latin1');
    if (!size) {
      if (name !== 'IHDR' || length !== 13) return null;
      size = { width: view.getUint32(data), height: view.getUint32(data + 4) };
    }
    if (name === 'acTL' && !hasPixels) isAnimated = true;
    if (name === 'fcTL' && length === 26) {
      frames += 1;
      durationMs += (view.getUint16(data + 20) * 1000) / (view.getUint16(data + 22) || 100);
    }
    if (name === 'IDAT') hasPixels = true;
    if (name === 'IEND') {
      hasEnd = true;
      break;
    }
    at = data + length + 4;
  }
  if (!size || !hasPixels || !hasEnd) return null;
  return isAnimated
    ? { ...size, frames: Math.max(1, frames), durationMs }
    : { ...size, frames: 0, durationMs: 0 };
}

const GIF_HEAD_BYTES = 13;
const GIF_VERSIONS: ReadonlySet<string> = new Set(['GIF87a', 'GIF89a']);
const [EXTENSION, GRAPHIC_CONTROL, IMAGE] = [0x21, 0xf9, 0x2c];
/** Browsers show a frame without a delay for this long. */
const GIF_DELAY_DEFAULT_MS = 100;

const coloursOf = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 << ((flags & 7) + 1));

/**
 * Reads the blocks of a gif; null when they are not well-formed.
 *
 * @source https://www.w3.org/Graphics/GIF/spec-gif89a.txt
 */
function readGif(bytes: Uint8Array): Shape | null {
  const version = Buffer.from(bytes.subarray(0, 6)).toString('latin1');
  if (bytes.length < GIF_HEAD_BYTES || !GIF_VERSIONS.has(version)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = { width: view.getUint16(6, true), height: view.getUint16(8, true) };
  let [frames, durationMs, delayMs] = [0, 0, GIF_DELAY_DEFAULT_MS];
  let at = GIF_HEAD_BYTES + coloursOf(bytes[10] ?? 0);
  const skipBlocks = (): void => {
    while (at < bytes.length && bytes[at] !== 0) at += (bytes[at] ?? 0) + 1;
    at += 1;
  };
  while (at < bytes.length) {
    const block = bytes[at];
    if (block === EXTENSION) {
      if (bytes[at + 1] === GRAPHIC_CONTROL && at + 6 < bytes.length)
        delayMs = view.getUint16(at + 4, true) * 10 || GIF_DELAY_DEFAULT_MS;
      at += 2;
      skipBlocks();
    } else if (block === IMAGE) {
      // Position, size and flags, a colour table, and the width of the codes before the pixels.
      at += 10 + coloursOf(bytes[at + 9] ?? 0) + 1;
      skipBlocks();
      // A frame whose pixels are cut off does not count.
      if (at > bytes.length) break;
      frames += 1;
      durationMs += delayMs;
    } else break;
  }
  if (frames === 0) return null;
  return frames === 1 ? { ...size, frames, durationMs: 0 } : { ...size, frames, durationMs };
}

const RIFF_HEAD_BYTES = 8;
/** Chunks of pixels: lossy, lossless, and a frame of an animation. */
const WEBP_PIXELS: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'ANMF']);
const WEBP_ANIMATED = 0x02;

/**
 * Reads the chunks of a WebP up to the first with pixels; null when they do not fit into the file. Frames are not counted.
 *
 * @source RFC 9649
 */
function readWebp(bytes: Uint8Array): Shape | null {
  const size = imageSize(bytes);
  if (!size) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = RIFF_HEAD_BYTES + view.getUint32(4, true);
  if (end > bytes.length) return null;
  for (let at = 12; at + 8 <= end; ) {
    const name = Buffer.from(bytes.subarray(at, at + 4)).toString('latin1');
    const length = view.getUint32(at + 4, true);
    if (at + 8 + length > end) return null;
    if (WEBP_PIXELS.has(name) && length > 0)
      return { ...size, frames: isAnimatedWebp(bytes) ? 1 : 0, durationMs: 0 };
    at += 8 + length + (length % 2);
  }
  return null;
}

/** The extended header has the flag of animations in byte 20. */
const isAnimatedWebp = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.subarray(12, 16)).toString('latin1') === 'VP8X' &&
  ((bytes[20] ?? 0) & WEBP_ANIMATED) !== 0;

const BOXES_MAX = 64;
const BRANDS: ReadonlySet<string> = new Set(['avif', 'avis']);

/** A box of an ISO media file. */
interface Box {
  readonly name: string;
  readonly data: Uint8Array;
}

/** The boxes of an ISO media file; null when one does not fit. A size of 0 reaches to the end (ISO/IEC 14496-12, 4.2). */
function boxesOf(bytes: Uint8Array): readonly Box[] | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const boxes: Box[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (at + 8 > bytes.length || boxes.length === BOXES_MAX) return null;
    const given = view.getUint32(at);
    const length = given === 0 ? bytes.length - at : given;
    // 1 announces a size of 64 bits, which no image needs.
    if (length < 8 || at + length > bytes.length) return null;
    const name = Buffer.from(bytes.subarray(at + 4, at + 8)).toString('latin1');
    boxes.push({ name, data: bytes.subarray(at + 8, at + length) });
    at += length;
  }
  return boxes;
}

/**
 * Whether an AVIF is animated. Its boxes are checked for the brand, the size of the image, and pixels.
 *
 * @returns null for other files, and for sides that `readImage` refuses.
 * @source https://aomediacodec.github.io/av1-avif/
 */
export function readAvif(bytes: Uint8Array): { readonly isAnimated: boolean } | null {
  const brand = Buffer.from(bytes.subarray(8, 12)).toString('latin1');
  if (Buffer.from(bytes.subarray(4, 8)).toString('latin1') !== 'ftyp' || !BRANDS.has(brand)) return null;
  const boxes = boxesOf(bytes);
  const meta = boxes?.find(({ name }) => name === 'meta')?.data;
  if (!boxes || !meta) return null;
  const properties = Buffer.from(meta.buffer, meta.byteOffset, meta.byteLength);
  const at = properties.indexOf('ispe');
  if (at < 0 || at + 16 > properties.length) return null;
  const size = { width: properties.readUInt32BE(at + 8), height: properties.readUInt32BE(at + 12) };
  const hasPixels = boxes.some(({ name, data }) => name === 'mdat' && data.length > 0);
  return hasSides(size) && (hasPixels || properties.includes('idat'))
    ? { isAnimated: brand === 'avis' }
    : null;
}
