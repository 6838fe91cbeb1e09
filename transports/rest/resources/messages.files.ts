import type { APIAttachment, AttachmentFlags } from 'discord-api-types/v10';
import type { ForwardSource, KeptAttachment } from '../../../engine/channel/draft.ts';
import type { StoredFile } from '../../../engine/guild/guild.ts';
import type { Reply } from '../../../engine/kernel/outcome.ts';
import type { ChannelId, FreshId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { showsNothing, visibleName, withoutDirectionControls } from '../../../protocol/names.ts';
import { type Refusal, refusal } from '../../../protocol/refusal.ts';
import type { Blobs } from '../../../storage/blob/blobs.ts';
import { attachmentKey } from '../image.ts';
import { imageSize } from '../imagesize.ts';
import type { Upload } from '../operation.ts';
import { sniffImage } from '../picture.ts';
import type { Services } from '../services.ts';
import { plainText } from '../validate.ts';

/** An element of `attachments` in a request; it describes a new file of the request or one the message already has. */
export interface AttachmentNote {
  readonly id: string;
  readonly filename?: string | null;
  readonly description?: string | null;
  readonly duration_secs?: number | null;
  readonly waveform?: string | null;
  readonly title?: string | null;
  readonly is_spoiler?: boolean | null;
}

const SPOILER: AttachmentFlags = 1 << 3;
const FIELD = /^files\[(\d{1,10})\]$/;
const NAME_CHARS_MAX = 200;
const EXTENSION_CHARS_MAX = 16;
const MIME = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

/** Uploaded files with the notes of the request that describe them. */
export interface Paired {
  readonly files: readonly { readonly upload: Upload; readonly note: AttachmentNote | undefined }[];
  /** Notes without an uploaded file, in order. */
  readonly rest: readonly KeptAttachment[];
}

/**
 * Pairs uploads and notes: the note with id n describes the field `files[n]`; a file under another field name has no note.
 * Refuses more files than a message may have, before anything is stored.
 */
export function pairFiles(
  uploads: readonly Upload[],
  notes: readonly AttachmentNote[] | null | undefined,
): Reply<Paired> {
  if (uploads.length > LIMITS.attachments_per_message_max) {
    return { ok: false, refusal: refusal('MAXIMUM_ATTACHMENTS') };
  }
  const unclaimed = new Map((notes ?? []).map((note) => [note.id, note]));
  const files = uploads.map((upload) => {
    const index = FIELD.exec(upload.field)?.[1];
    const note = index === undefined ? undefined : unclaimed.get(String(Number(index)));
    if (note) unclaimed.delete(note.id);
    return { upload, note };
  });
  return { ok: true, value: { files, rest: [...unclaimed.values()] } };
}

/** Where the files of one message are stored, and how their URLs are made. */
export interface Shelf {
  readonly blobs: Blobs;
  readonly channelId: ChannelId;
  readonly publicUrl: string;
  nextId(): FreshId;
  /** Whether a file of so many bytes may be sent there. */
  readonly fits: (bytes: number) => Promise<boolean>;
  /** The embedding program's judgement; without it no image is explicit. */
  readonly isExplicit?: Services['isExplicit'];
}

/** The refusal of a file that is larger than may be sent there; null when all fit. */
export async function sizeRefusal({ fits }: Pick<Shelf, 'fits'>, { files }: Paired): Promise<Refusal | null> {
  const largest = Math.max(0, ...files.map(({ upload }) => upload.bytes.length));
  return (await fits(largest)) ? null : refusal('PAYLOAD_TOO_LARGE');
}

/** Whether the embedding program calls one of the images explicit. Other files are not shown to it. */
export async function holdsExplicitImage(
  { isExplicit, channelId }: Pick<Shelf, 'isExplicit' | 'channelId'>,
  { files }: Paired,
): Promise<boolean> {
  if (!isExplicit) return false;
  for (const { upload } of files) {
    const contentType = sniffImage(upload.bytes);
    if (contentType && (await isExplicit({ ...upload, contentType, channelId }))) return true;
  }
  return false;
}

/** Stores files and returns their attachment objects, in order. */
export async function storeFiles(shelf: Omit<Shelf, 'fits'>, { files }: Paired): Promise<APIAttachment[]> {
  const attachments: APIAttachment[] = [];
  for (const { upload, note } of files) {
    const attachment = attachmentOf(shelf, upload, note);
    const key = attachmentKey(shelf.channelId, attachment.id, attachment.filename);
    await shelf.blobs.put(key, upload.bytes, attachment.content_type ?? 'application/octet-stream');
    attachments.push(attachment);
  }
  return attachments;
}

/** Deletes stored files that no message uses. */
export async function discardFiles(
  shelf: Pick<Shelf, 'blobs' | 'channelId'>,
  attachments: readonly StoredFile[],
): Promise<void> {
  for (const { id, filename } of attachments) {
    await shelf.blobs.delete(attachmentKey(shelf.channelId, id, filename));
  }
}

/**
 * Copies the files of a forwarded message, so that the forward keeps them when that message is deleted. A file that no
 * longer exists is forwarded without a copy.
 */
export async function copyFiles(shelf: Shelf, source: ForwardSource): Promise<ForwardSource> {
  const { message } = source;
  const copies = new Map<string, StoredFile>();
  for (const { id, filename } of message.files ?? []) {
    const bytes = await readWhole(shelf.blobs, attachmentKey(message.channel_id, id, filename));
    if (!bytes) continue;
    const copy = { id: shelf.nextId(), filename };
    await shelf.blobs.put(attachmentKey(shelf.channelId, copy.id, filename), bytes.bytes, bytes.contentType);
    copies.set(id, copy);
  }
  if (copies.size === 0) return source;
  const renamed = <Part extends Showing>(part: Part): Part => ({
    ...part,
    ...relinked(shelf, message, part, copies),
  });
  const snapshots = message.message_snapshots?.map((one) => ({ ...one, message: renamed(one.message) }));
  const shown = { ...renamed(message), ...(snapshots ? { message_snapshots: snapshots } : {}) };
  return { ...source, message: shown, files: [...copies.values()] };
}

type Showing = {
  readonly attachments: readonly APIAttachment[];
  readonly embeds: readonly object[];
  readonly components?: readonly object[];
};

/** Replaces file ids and URLs in the parts of a message that show files. The paths contain nothing that JSON escapes. */
function relinked(
  shelf: Shelf,
  from: { channel_id: string },
  part: Showing,
  copies: ReadonlyMap<string, StoredFile>,
) {
  const { attachments, embeds, components } = part;
  let text = JSON.stringify({ attachments, embeds, ...(components ? { components } : {}) });
  for (const [id, copy] of copies) {
    const path = (channelId: string, fileId: string) =>
      `/attachments/${channelId}/${fileId}/${copy.filename}`;
    text = text.replaceAll(path(from.channel_id, id), path(shelf.channelId, copy.id));
    // Media of components name the upload's id. Text of a client cannot match these patterns: its quotes are escaped.
    text = text.replaceAll(`"id":"${id}"`, `"id":"${copy.id}"`);
    text = text.replaceAll(`"attachment_id":"${id}"`, `"attachment_id":"${copy.id}"`);
  }
  return JSON.parse(text) as Showing;
}

async function readWhole(blobs: Blobs, key: string) {
  const found = await blobs.head(key);
  const chunks = found && (await blobs.read(key));
  if (!found || !chunks) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return { bytes: Buffer.concat(parts), contentType: found.contentType };
}

function attachmentOf(
  shelf: Omit<Shelf, 'fits'>,
  upload: Upload,
  note: AttachmentNote | undefined,
): APIAttachment {
  const id = shelf.nextId();
  const sentAs = plainText(note?.filename ?? upload.filename);
  const filename = safeFilename(sentAs);
  const url = `${shelf.publicUrl}/attachments/${shelf.channelId}/${id}/${filename}`;
  const contentType = contentTypeOf(upload);
  const size = contentType.startsWith('image/') ? imageSize(upload.bytes) : null;
  const spoiler = note?.is_spoiler === true || filename.startsWith('SPOILER_');
  const named = note?.title ?? (filename === sentAs ? '' : withoutExtension(sentAs));
  const title = visibleName(plainText(named));
  const description = withoutDirectionControls(plainText(note?.description ?? ''));
  return {
    id,
    filename,
    ...(showsNothing(title) ? {} : { title }),
    ...(description === '' ? {} : { description }),
    size: upload.bytes.byteLength,
    url,
    proxy_url: url,
    content_type: contentType,
    ...(size ?? {}),
    ...(typeof note?.duration_secs === 'number' ? { duration_secs: note.duration_secs } : {}),
    ...(note?.waveform ? { waveform: note.waveform } : {}),
    flags: spoiler ? SPOILER : (0 as AttachmentFlags),
  };
}

const withoutExtension = (name: string): string => name.replace(/\.[^.]*$/, '');

/**
 * A file name that is valid in URLs, on disks and in headers: the last path segment, with only letters, digits, `_`, `-`
 * and single dots. Never empty.
 */
export function safeFilename(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/^.*[\\/]/s, '')
    .replace(/\s+/g, '_')
    .replace(/[^A-Za-z0-9_.-]/g, '')
    .replace(/\.{2,}/g, '.');
  const dot = plain.lastIndexOf('.');
  const stem = (dot >= 0 ? plain.slice(0, dot) : plain).slice(0, NAME_CHARS_MAX).replace(/^\.|\.$/g, '');
  const extension = dot >= 0 ? plain.slice(dot).slice(0, EXTENSION_CHARS_MAX) : '';
  return `${stem || 'unknown'}${extension === '.' ? '' : extension}`;
}

/** An image's type is detected from its bytes. Other files keep the declared type unless it claims another image type. */
function contentTypeOf({ bytes, contentType }: Upload): string {
  const sniffed = sniffImage(bytes);
  if (sniffed) return sniffed;
  const claimed = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (!MIME.test(claimed) || (claimed.startsWith('image/') && claimed !== 'image/avif')) {
    return 'application/octet-stream';
  }
  return claimed;
}
