import { crc32 } from 'node:zlib';
import { oggOpus } from './ogg.ts';

const GIF_PIXEL = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';

/** A gif of one pixel. */
export const gifPixel = (): Buffer => Buffer.from(GIF_PIXEL, 'base64');

const PNG_PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** A png of one pixel. */
export const pngPixel = (): Buffer => Buffer.from(PNG_PIXEL, 'base64');

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  framed.set(body, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** The frame of a png of `width` by `height` pixels, without pixels; `extra` stands before them. */
export function pngOf(width: number, height: number, extra: readonly Buffer[] = []): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([1, 3, 0, 0, 0], 8);
  const head = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const rest = [chunk('IDAT', Buffer.alloc(0)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([head, chunk('IHDR', header), ...extra, ...rest]);
}

/** `acTL` and one `fcTL` per frame, each shown for `frameMs`. */
export function animation(frames: number, frameMs: number): Buffer[] {
  const control = Buffer.alloc(8);
  control.writeUInt32BE(frames, 0);
  const frame = Buffer.alloc(26);
  frame.writeUInt16BE(frameMs, 20);
  frame.writeUInt16BE(1000, 22);
  return [chunk('acTL', control), ...Array.from({ length: frames }, () => chunk('fcTL', frame))];
}

/** Bytes as a data URI that declares a type. */
export const dataUri = (bytes: Buffer, type = 'image/png'): string =>
  `data:${type};base64,${bytes.toString('base64')}`;

/** Frames of MPEG-1 layer III at 128 kbit/s and 44.1 kHz: 1,152 samples in 417 bytes each, with `gap` bytes after each. */
export function mp3Of(frames: number, gap = 0): Buffer {
  const frame = Buffer.alloc(417 + gap);
  frame.set([0xff, 0xfb, 0x90, 0x00]);
  return Buffer.concat(Array.from({ length: frames }, () => frame));
}

/** A packet of Opus says in its first byte: CELT, full band, 20 milliseconds, one frame. */
const SILENCE = Uint8Array.of(0xf8, 0xff, 0xfe);

/** An Ogg stream of Opus with so many frames of 20 milliseconds. */
export const oggOf = (frames: number): Buffer => oggOpus(Array<Uint8Array>(frames).fill(SILENCE));
