import type { StoredFile, StoredMessage } from '../guild/guild.ts';

/** What a new message owns: the files that were stored for it, also those that only an embed shows. */
export function owning(files: readonly StoredFile[]): { readonly files?: readonly StoredFile[] } {
  return files.length > 0 ? { files: files.map(({ id, filename }) => ({ id, filename })) } : {};
}

/**
 * A revised message with those of its files that it still shows: listed, or in an embed, a component or a copy. A
 * link to some other message's file makes it nobody else's.
 */
export function owningShown(message: StoredMessage, files: readonly StoredFile[]): StoredMessage {
  if (files.length === 0) return message;
  const { files: _, ...rest } = message;
  const shown = JSON.stringify([rest.attachments, rest.embeds, rest.components, rest.message_snapshots]);
  return { ...rest, ...owning(files.filter(({ id }) => shown.includes(`/${rest.channel_id}/${id}/`))) };
}
