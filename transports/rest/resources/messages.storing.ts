import type { APIAttachment } from 'discord-api-types/v10';
import type { ForwardSource, KeptAttachment, Written } from '../../../engine/channel/draft.ts';
import type { Reply } from '../../../engine/kernel/outcome.ts';
import {
  type AttachmentNote,
  copyFiles,
  discardFiles,
  holdsExplicitImage,
  type Paired,
  type Shelf,
  sizeRefusal,
  storeFiles,
} from './messages.files.ts';

/**
 * Stores the files of a command unless one is too large (40005), copies those of a forwarded message, runs the command with
 * them, and deletes files that no message uses.
 */
export async function usingFiles<Value extends Written | null>(
  shelf: Shelf,
  { paired, forward }: { readonly paired: Paired; readonly forward: ForwardSource | null },
  run: (
    attachments: readonly APIAttachment[],
    forward: ForwardSource | null,
    isExplicit: boolean,
  ) => Promise<Reply<Value>>,
): Promise<Reply<Value>> {
  if (paired.files.length === 0 && !forward?.message.files) return run([], forward, false);
  const no = await sizeRefusal(shelf, paired);
  if (no) return { ok: false, refusal: no };
  const isExplicit = await holdsExplicitImage(shelf, paired);
  const attachments = await storeFiles(shelf, paired);
  // After a fault it is unknown whether the message was committed. A file without a message wastes space, but a message
  // without its file loses data, so only a refusal deletes the files.
  const copied = forward && (await copyFiles(shelf, forward));
  const reply = await run(attachments, copied, isExplicit);
  // Files are also unused when the message repeats an earlier one, or when an edit shows fewer files than it sent.
  const taken = new Set(reply.ok ? reply.value?.message.files?.map(({ id }) => id) : []);
  const stored = [...attachments, ...(copied?.files ?? [])];
  await discardFiles(
    shelf,
    stored.filter(({ id }) => !taken.has(id)),
  );
  return reply;
}

/** Attachments that an edit keeps: null means all, if the edit omits the field; null in the edit means none. */
export const keptBy = (
  { attachments }: { readonly attachments?: readonly AttachmentNote[] | null },
  { rest }: Paired,
): readonly KeptAttachment[] | null => (attachments === undefined ? null : rest);
