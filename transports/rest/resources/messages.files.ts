import type { APIAttachment, AttachmentFlags } from 'discord-api-types/v10';
import type { KeptAttachment } from '../../../engine/channel/draft.ts';
import type { Reply } from '../../../engine/kernel/aggregate.ts';
import type { ChannelId, FreshId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { showsNothing, visibleName, withoutDirectionControls } from '../../../protocol/names.ts';
import { NO_FLAGS } from '../../../protocol/objects.ts';
import { refusal } from '../../../protocol/refusal.ts';
import type { NewFile } from '../../../services/channels/messagefiles.ts';
import { imageSize } from '../imagesize.ts';
import type { Upload } from '../operation.ts';
import { sniffImage } from '../picture.ts';
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

/** The parts of the URLs of attachments. */
export interface UrlParts {
  readonly channelId: ChannelId;
  readonly publicUrl: string;
  readonly nextId: () => FreshId;
}

/** The uploads with the attachment objects that they become. The attachments have new ids. */
export const newFiles = (parts: UrlParts, { files }: Pick<Paired, 'files'>): NewFile[] =>
  files.map(({ upload, note }) => ({
    attachment: attachmentOf(parts, upload, note),
    bytes: upload.bytes,
    sentAs: upload.filename,
    imageType: sniffImage(upload.bytes),
  }));

/** Attachments that an edit keeps: null means all, if the edit omits the field; null in the edit means none. */
export const keptBy = (
  { attachments }: { readonly attachments?: readonly AttachmentNote[] | null },
  { rest }: Paired,
): readonly KeptAttachment[] | null => (attachments === undefined ? null : rest);

function attachmentOf(
  { publicUrl, channelId, nextId }: UrlParts,
  upload: Upload,
  note: AttachmentNote | undefined,
): APIAttachment {
  const id = nextId();
  const sentAs = plainText(note?.filename ?? upload.filename);
  const filename = safeFilename(sentAs);
  const url = `${publicUrl}/attachments/${channelId}/${id}/${filename}`;
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
    flags: spoiler ? SPOILER : NO_FLAGS,
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
