import type { Reply } from '../../engine/kernel/aggregate.ts';
import { invalidField } from '../../protocol/refusal.ts';
import type { ExpressionFile } from '../../services/guilds/expressionfiles.ts';
import { readAvif, readImage } from './picture.ts';

/** The refusal of a file, under its field of the body. */
export const badFile = (field: string, code: string, message: string) =>
  ({ ok: false, refusal: invalidField([field], code, message) }) as const;

/** The refusal of a file above `bytesMax`. */
export const largeFile = (field: string, bytesMax: number) =>
  badFile(field, 'BINARY_TYPE_MAX_SIZE', `File cannot be larger than ${(bytesMax / 1024).toFixed(1)} kb.`);

const HEAD_MAX = 128;
const BASE64_BITS = 6;

/**
 * The bytes of a base64 data URI. The size is refused before anything is decoded; the declared type is not read.
 *
 * @returns Null when the text is no such URI.
 */
export function readDataUri(text: string, field: string, bytesMax: number): Reply<Uint8Array> | null {
  const comma = text.slice(0, HEAD_MAX).indexOf(',');
  if (!text.startsWith('data:') || comma < 0 || !text.slice(0, comma).endsWith(';base64')) return null;
  if (((text.length - comma - 1) * BASE64_BITS) / 8 > bytesMax + 2) return largeFile(field, bytesMax);
  const bytes = Buffer.from(text.slice(comma + 1), 'base64');
  return bytes.length > bytesMax ? largeFile(field, bytesMax) : { ok: true, value: bytes };
}

/** The image of an emoji: png, jpeg, gif, webp or avif, as its bytes say. */
export function readEmojiImage(
  dataUri: string,
  field: string,
  bytesMax: number,
): Reply<ExpressionFile & { readonly animated: boolean }> {
  const read = readDataUri(dataUri, field, bytesMax);
  if (read && !read.ok) return read;
  const bytes = read?.value ?? new Uint8Array();
  const avif = readAvif(bytes);
  if (avif) return { ok: true, value: { bytes, contentType: 'image/avif', animated: avif.isAnimated } };
  const image = readImage(bytes);
  if (!image) return badFile(field, 'IMAGE_INVALID', 'Invalid image data');
  const animated = image.type === 'image/gif' || (image.type === 'image/webp' && image.frames > 0);
  return { ok: true, value: { bytes, contentType: image.type, animated } };
}
