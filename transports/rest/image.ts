import { createHash } from 'node:crypto';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import { invalidField } from '../../protocol/refusal.ts';
import { IMAGE_BYTES_MAX } from '../../protocol/schemas/request.ts';
import type { Blobs } from '../../storage/blob/blobs.ts';
import { readImage } from './picture.ts';

/** Collections of small images; also the first segments of their CDN paths. */
export type ImageKind =
  | 'avatars'
  | 'banners'
  | 'icons'
  | 'channel-icons'
  | 'splashes'
  | 'discovery-splashes'
  | 'app-icons'
  | 'role-icons'
  | 'guild-events'
  | 'guild-tag-badges'
  | 'emojis'
  | 'stickers'
  | 'soundboard-sounds'
  | `guilds/${string}/users/${string}/${'avatars' | 'banners'}`;

/** Blob key of an image; `ownerId` is empty when `kind` already names the owner. */
export function imageKey(kind: ImageKind, ownerId: string, hash: string): string {
  return ownerId === '' ? `${kind}/${hash}` : `${kind}/${ownerId}/${hash}`;
}

/** Blob key of an emoji, a sticker or a sound, whose id is unique among its kind. */
export const expressionKey = (kind: ImageKind, id: string): string => imageKey(kind, '', id);

/** Part of a picture, in pixels. */
export interface Square {
  readonly left: number;
  readonly top: number;
  readonly side: number;
}

/**
 * Blob key of an attachment. It contains only a digest of the file name: keys hold no text of a client, and a URL with
 * another name finds nothing.
 */
export function attachmentKey(channelId: string, attachmentId: string, filename: string): string {
  const name = createHash('sha256').update(filename).digest('hex').slice(0, 16);
  return `attachments/${channelId}/${attachmentId}/${name}`;
}

/**
 * Stores the image of a data URI (validated by `ImageData()`) and returns its hash in the wire format of `avatar`, `icon`
 * and similar fields: 32 hexadecimal digits of the content's SHA-256, prefixed by `a_` for a gif.
 *
 * @param field Name of the body's field, for error 50035 when the bytes are not an image or exceed 10 MiB.
 */
export async function saveImage(
  blobs: Blobs,
  kind: ImageKind,
  ownerId: string,
  dataUri: string,
  field: string,
): Promise<Reply<string>> {
  const bytes = Buffer.from(dataUri.slice(dataUri.indexOf(',') + 1), 'base64');
  return saveImageBytes(blobs, kind, ownerId, bytes, field);
}

/** Stores an image and returns its hash, as `saveImage` does. */
export async function saveImageBytes(
  blobs: Blobs,
  kind: ImageKind,
  ownerId: string,
  bytes: Uint8Array,
  field: string,
): Promise<Reply<string>> {
  const type = readImage(bytes)?.type;
  if (type === undefined)
    return { ok: false, refusal: invalidField([field], 'IMAGE_INVALID', 'Invalid image data') };
  if (bytes.length > IMAGE_BYTES_MAX) {
    const message = 'File cannot be larger than 10240.0 kb.';
    return { ok: false, refusal: invalidField([field], 'BINARY_TYPE_MAX_SIZE', message) };
  }
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  const hash = type === 'image/gif' ? `a_${digest}` : digest;
  await blobs.put(imageKey(kind, ownerId, hash), bytes, type);
  return { ok: true, value: hash };
}
