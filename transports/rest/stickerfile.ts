import type { Reply } from '../../engine/kernel/outcome.ts';
import { STICKER_FORMAT, type StickerFormat } from '../../protocol/expressions.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { badFile, type ExpressionFile, largeFile } from './expressionfile.ts';
import { sniffImage } from './image.ts';

/** What the bytes of a picture say of it. */
interface Picture {
  readonly width: number;
  readonly height: number;
  /** 0 for a still picture. */
  readonly frames: number;
  readonly durationMs: number;
}

type StickerFile = ExpressionFile & { readonly format: StickerFormat };

const SIDE_MAX = 320;
const FRAMES_MAX = 1000;
const FRAMES_PER_SECOND_MAX = 60;
const DURATION_MS_MAX = 5000;

/** The file of a sticker: png, apng, gif or Lottie, as its bytes say. The size is checked before anything is read. */
export function readSticker(bytes: Uint8Array): Reply<StickerFile> {
  if (bytes.length > LIMITS.sticker_bytes_max) return largeFile('file', LIMITS.sticker_bytes_max);
  const contentType = sniffImage(bytes);
  if (contentType === null) return readLottie(bytes);
  const picture =
    contentType === 'image/png' ? readPng(bytes) : contentType === 'image/gif' ? readGif(bytes) : null;
  if (!picture) return { ok: false, refusal: refusal('INVALID_FILE') };
  const no = tooMuch(picture);
  if (no) return { ok: false, refusal: no };
  const { PNG, APNG, GIF } = STICKER_FORMAT;
  const format = contentType === 'image/gif' ? GIF : picture.frames > 0 ? APNG : PNG;
  return { ok: true, value: { bytes, contentType, format } };
}

function tooMuch({ width, height, frames, durationMs }: Picture): Refusal | null {
  if (width > SIDE_MAX || height > SIDE_MAX || width === 0 || height === 0)
    return badFile('file', 'IMAGE_INVALID', `Image must be at most ${SIDE_MAX} pixels wide and high.`)
      .refusal;
  if (frames > FRAMES_MAX) return refusal('STICKER_TOO_MANY_FRAMES');
  return durationMs > DURATION_MS_MAX ? refusal('STICKER_TOO_LONG') : null;
}

const PNG_HEAD_BYTES = 8;
/** Length, name and checksum of a chunk. */
const CHUNK_BYTES = 12;

/**
 * Reads the chunks of a png; null when they are not well-formed. It is animated when `acTL` comes before the pixels.
 *
 * @source https://www.w3.org/TR/png-3/
 */
function readPng(bytes: Uint8Array): Picture | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let size: { readonly width: number; readonly height: number } | null = null;
  let [frames, durationMs] = [0, 0];
  let [isAnimated, hasPixels] = [false, false];
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
    if (name === 'IEND') break;
    at = data + length + 4;
  }
  if (!size || !hasPixels) return null;
  return isAnimated
    ? { ...size, frames: Math.max(1, frames), durationMs }
    : { ...size, frames: 0, durationMs: 0 };
}

const GIF_HEAD_BYTES = 13;
const [EXTENSION, GRAPHIC_CONTROL, IMAGE] = [0x21, 0xf9, 0x2c];
/** Browsers show a frame without a delay for this long. */
const GIF_DELAY_DEFAULT_MS = 100;

const coloursOf = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 << ((flags & 7) + 1));

/**
 * Reads the blocks of a gif; null when they are not well-formed.
 *
 * @source https://www.w3.org/Graphics/GIF/spec-gif89a.txt
 */
function readGif(bytes: Uint8Array): Picture | null {
  if (bytes.length < GIF_HEAD_BYTES) return null;
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
      frames += 1;
      durationMs += delayMs;
      // Position, size and flags, a colour table, and the width of the codes before the pixels.
      at += 10 + coloursOf(bytes[at + 9] ?? 0) + 1;
      skipBlocks();
    } else break;
  }
  if (frames === 0) return null;
  return frames === 1 ? { ...size, frames, durationMs: 0 } : { ...size, frames, durationMs };
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** @source https://lottie.github.io/lottie-spec/latest/ */
function readLottie(bytes: Uint8Array): Reply<StickerFile> {
  const no = (name: Parameters<typeof refusal>[0]) => ({ ok: false, refusal: refusal(name) }) as const;
  if (bytes.find((byte) => byte > 0x20) !== 0x7b) return no('INVALID_FILE');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return no('INVALID_LOTTIE_JSON');
  }
  if (!isObject(value) || !Array.isArray(value.layers)) return no('INVALID_LOTTIE_JSON');
  const { fr, ip, op, w, h, assets } = value;
  if (!isNumber(fr) || !isNumber(ip) || !isNumber(op) || !isNumber(w) || !isNumber(h))
    return no('INVALID_LOTTIE_JSON');
  // A picture names its file or holds it; compositions have layers.
  if (Array.isArray(assets) && assets.some((asset) => isObject(asset) && typeof asset.p === 'string'))
    return no('LOTTIE_WITH_RASTERIZED_IMAGES');
  if (w > SIDE_MAX || h > SIDE_MAX || w <= 0 || h <= 0) return no('LOTTIE_TOO_LARGE');
  if (fr > FRAMES_PER_SECOND_MAX) return no('STICKER_FRAMERATE_TOO_HIGH');
  if (fr < 1) return no('STICKER_FRAMERATE_OUT_OF_RANGE');
  if (op - ip > FRAMES_MAX) return no('STICKER_TOO_MANY_FRAMES');
  if (((op - ip) * 1000) / fr > DURATION_MS_MAX) return no('STICKER_TOO_LONG');
  return { ok: true, value: { bytes, contentType: 'application/json', format: STICKER_FORMAT.LOTTIE } };
}
