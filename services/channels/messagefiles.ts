import type { APIAttachment } from 'discord-api-types/v10';
import type { ForwardSource, Written } from '../../engine/channel/draft.ts';
import type { StoredFile } from '../../engine/guild/guild.ts';
import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { ChannelId, FreshId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import type { Blobs } from '../../storage/blob/blobs.ts';

/** An image of a new message or an edit, before it is stored. */
export interface UploadedImage {
  readonly filename: string;
  /** The type that its bytes have. */
  readonly contentType: string;
  readonly bytes: Uint8Array;
  readonly channelId: ChannelId;
}

/** A file of a request before it is stored, with the attachment object that it becomes. */
export interface NewFile {
  readonly attachment: APIAttachment;
  readonly bytes: Uint8Array;
  /** The name in the request; the attachment has a safe one. */
  readonly sentAs: string;
  /** Detected from the bytes; null for a file that is no image. */
  readonly imageType: string | null;
}

/** Where the files of one message are stored. */
export interface FileDestination {
  /** The channel in the URLs of the files. */
  readonly channelId: ChannelId;
  /** Whether a file of so many bytes may be sent there. */
  readonly fits: (bytes: number) => Promise<boolean>;
  /** Asks the embedding program whether images are explicit. */
  readonly classifiesImages?: boolean;
}

interface MessageFilePorts {
  readonly blobs: Blobs;
  readonly nextId: () => FreshId;
  readonly fileKey: (channelId: string, attachmentId: string, filename: string) => string;
  /** Provided by the embedding program; without it no image is explicit. */
  readonly isExplicit?: ((image: UploadedImage) => boolean | Promise<boolean>) | undefined;
}

/** Runs a command with stored files. `isExplicit`: the embedding program calls one of the images explicit. */
export type RunWithFiles<Value> = (
  attachments: readonly APIAttachment[],
  forward: ForwardSource | null,
  isExplicit: boolean,
) => Promise<Reply<Value>>;

/** The files of messages, which are stored before the command that sends the message. */
export interface MessageFiles {
  /** Stores all files, or none if one is too large (40005). */
  store(place: FileDestination, files: readonly NewFile[]): Promise<Reply<APIAttachment[]>>;
  /** Deletes stored files that no message uses. */
  discard(place: Pick<FileDestination, 'channelId'>, files: readonly StoredFile[]): Promise<void>;
  /**
   * Stores the files of a command unless one is too large (40005), copies those of a forwarded message, runs the command
   * with them, and deletes files that no message uses.
   */
  using<Value extends Written | null>(
    place: FileDestination,
    sent: { readonly files: readonly NewFile[]; readonly forward: ForwardSource | null },
    run: RunWithFiles<Value>,
  ): Promise<Reply<Value>>;
}

export function createMessageFiles(ports: MessageFilePorts): MessageFiles {
  const { blobs, fileKey } = ports;

  async function put(place: FileDestination, files: readonly NewFile[]): Promise<APIAttachment[]> {
    for (const { attachment, bytes } of files) {
      const key = fileKey(place.channelId, attachment.id, attachment.filename);
      await blobs.put(key, bytes, attachment.content_type ?? 'application/octet-stream');
    }
    return files.map(({ attachment }) => attachment);
  }

  const discard: MessageFiles['discard'] = async ({ channelId }, files) => {
    for (const { id, filename } of files) await blobs.delete(fileKey(channelId, id, filename));
  };

  return {
    async store(place, files) {
      if (!(await allFit(place, files))) return { ok: false, refusal: refusal('PAYLOAD_TOO_LARGE') };
      return { ok: true, value: await put(place, files) };
    },
    discard,
    async using(place, { files, forward }, run) {
      if (files.length === 0 && !forward?.message.files) return run([], forward, false);
      if (!(await allFit(place, files))) return { ok: false, refusal: refusal('PAYLOAD_TOO_LARGE') };
      const isExplicit = await holdsExplicitImage(ports, place, files);
      const attachments = await put(place, files);
      // After a fault it is unknown whether the message was committed. A file without a message wastes space, but a message
      // without its file loses data, so only a refusal deletes the files.
      const copied = forward && (await copyFiles(ports, place.channelId, forward));
      const reply = await run(attachments, copied, isExplicit);
      // Files are also unused when the message repeats an earlier one, or when an edit shows fewer files than it sent.
      const used = new Set(reply.ok ? reply.value?.message.files?.map(({ id }) => id) : []);
      const stored = [...attachments, ...(copied?.files ?? [])];
      await discard(
        place,
        stored.filter(({ id }) => !used.has(id)),
      );
      return reply;
    },
  };
}

function allFit({ fits }: FileDestination, files: readonly NewFile[]): Promise<boolean> {
  return fits(Math.max(0, ...files.map(({ bytes }) => bytes.length)));
}

/** Whether the embedding program calls one of the images explicit. Other files are not shown to it. */
async function holdsExplicitImage(
  { isExplicit }: Pick<MessageFilePorts, 'isExplicit'>,
  { classifiesImages, channelId }: FileDestination,
  files: readonly NewFile[],
): Promise<boolean> {
  if (!isExplicit || !classifiesImages) return false;
  for (const { sentAs: filename, imageType: contentType, bytes } of files) {
    if (contentType && (await isExplicit({ filename, contentType, bytes, channelId }))) return true;
  }
  return false;
}

/**
 * Copies the files of a forwarded message, so that the forward keeps them when that message is deleted. A file that no
 * longer exists is forwarded without a copy.
 */
async function copyFiles(
  { blobs, nextId, fileKey }: MessageFilePorts,
  channelId: ChannelId,
  source: ForwardSource,
): Promise<ForwardSource> {
  const { message } = source;
  const copies = new Map<string, StoredFile>();
  for (const { id, filename } of message.files ?? []) {
    const file = await readWhole(blobs, fileKey(message.channel_id, id, filename));
    if (!file) continue;
    const copy = { id: nextId(), filename };
    await blobs.put(fileKey(channelId, copy.id, filename), file.bytes, file.contentType);
    copies.set(id, copy);
  }
  if (copies.size === 0) return source;
  const renamed = <Part extends Showing>(part: Part): Part => ({
    ...part,
    ...relinked(channelId, message, part, copies),
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
  to: ChannelId,
  from: { readonly channel_id: string },
  part: Showing,
  copies: ReadonlyMap<string, StoredFile>,
): Showing {
  const { attachments, embeds, components } = part;
  let text = JSON.stringify({ attachments, embeds, ...(components ? { components } : {}) });
  for (const [id, copy] of copies) {
    const path = (channelId: string, fileId: string) =>
      `/attachments/${channelId}/${fileId}/${copy.filename}`;
    text = text.replaceAll(path(from.channel_id, id), path(to, copy.id));
    // Media of components name the upload's id. Text of a client cannot match these patterns: its quotes are escaped.
    text = text.replaceAll(`"id":"${id}"`, `"id":"${copy.id}"`);
    text = text.replaceAll(`"attachment_id":"${id}"`, `"attachment_id":"${copy.id}"`);
  }
  return JSON.parse(text);
}

async function readWhole(blobs: Blobs, key: string) {
  const found = await blobs.head(key);
  const chunks = found && (await blobs.read(key));
  if (!found || !chunks) return null;
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return { bytes: Buffer.concat(parts), contentType: found.contentType };
}
