import type { APIAttachment } from 'discord-api-types/v10';
import { LIMITS } from '../../protocol/limits.ts';
import { visibleName } from '../../protocol/names.ts';
import type { StoredFile, StoredMessage } from '../guild/guild.ts';

/** Begins a link to an attachment of the same message; its name follows. */
export const ATTACHMENT_SCHEME = 'attachment://';

/** By a guild's premium tier. @source https://docs.discord.com/developers/reference#uploading-files and its help pages */
const TIER_BYTES = [
  LIMITS.attachment_bytes_max,
  LIMITS.attachment_bytes_max,
  LIMITS.attachment_tier_2_bytes_max,
  LIMITS.attachment_tier_3_bytes_max,
];
/** By a person's premium type: none, classic, full, basic. */
const PREMIUM_BYTES = [
  LIMITS.attachment_bytes_max,
  LIMITS.attachment_premium_bytes_max,
  LIMITS.attachment_premium_full_bytes_max,
  LIMITS.attachment_premium_bytes_max,
];

/** The largest file that a person with this premium type may send in a guild of this tier, in bytes: the larger of the two. */
export const uploadBytesMax = (tier: number, premiumType: number): number =>
  Math.max(TIER_BYTES[tier] ?? 0, PREMIUM_BYTES[premiumType] ?? 0);

/** Files stored for a new message, including files that only an embed shows. */
export function owning(files: readonly StoredFile[]): { readonly files?: readonly StoredFile[] } {
  return files.length > 0 ? { files: files.map(({ id, filename }) => ({ id, filename })) } : {};
}

/** Files of a message of components: it lists no attachments, so their objects are stored here for edits. */
export function owningUnlisted(attachments: readonly APIAttachment[]): {
  readonly files?: readonly StoredFile[];
} {
  if (attachments.length === 0) return {};
  return {
    files: attachments.map((attachment) => ({
      id: attachment.id,
      filename: attachment.filename,
      attachment,
    })),
  };
}

/** A file of a message that only one person sees. */
export const asEphemeral = (file: APIAttachment): APIAttachment => ({ ...file, ephemeral: true });

/** The attachments of a message: the listed ones, and the ones that only components show. */
export const attachmentsOf = ({ attachments, files = [] }: StoredMessage): readonly APIAttachment[] => [
  ...attachments,
  ...files.flatMap(({ attachment }) => attachment ?? []),
];

/** Matches the stored name, or the upload's original name when it had to be changed. */
export const isNamed = ({ filename, title }: APIAttachment, name: string): boolean =>
  filename === name ||
  (title !== undefined && `${title}${filename.slice(filename.lastIndexOf('.'))}` === visibleName(name));

/**
 * A revised message with the files that it still shows: listed, or in an embed, a component or a copy. A link to
 * another message's file does not make the file its own.
 */
export function owningShown(message: StoredMessage, files: readonly StoredFile[]): StoredMessage {
  if (files.length === 0) return message;
  const { files: _, ...rest } = message;
  const shown = JSON.stringify([rest.attachments, rest.embeds, rest.components, rest.message_snapshots]);
  return { ...rest, ...owning(files.filter(({ id }) => shown.includes(`/${rest.channel_id}/${id}/`))) };
}
