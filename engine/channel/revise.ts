import { type APIAttachment, AttachmentFlags, MessageFlags } from 'discord-api-types/v10';
import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import type { MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { withoutDirectionControls } from '../../protocol/names.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import {
  buildContent,
  type Content,
  componentsOf,
  contradictionIn,
  isEmpty,
  legacyFieldRefused,
  mentioned,
  namedIn,
} from './compose.ts';
import type { ContentDraft, EditDraft, EditInput, KeptAttachment, Written } from './draft.ts';
import { asEphemeral, attachmentsOf, owningShown, owningUnlisted } from './files.ts';
import { tooLong } from './form.ts';
import { can, type MessageFact, type Scope, whereOf } from './messages.ts';
import { buildPoll } from './polls.ts';
import { cleanText, textLength } from './text.ts';

/**
 * Edits a message. The author may change everything shown; a caller with MANAGE_MESSAGES may only hide and show embeds.
 * Absent keys stay as they are; an edit that changes nothing makes no fact.
 */
export function reviseMessage(
  scope: Scope,
  messageId: MessageId,
  input: EditInput,
  by: By,
  env: Env,
): Outcome<Written, MessageFact> {
  const message = scope.messageOf(messageId);
  if (!message) return refused(refusal('UNKNOWN_MESSAGE'));
  const no = notPermitted(scope, message, input) ?? contradictionIn(input.edit.allowed_mentions);
  if (no) return refused(no);
  const flags = flagsOf(message, input);
  const touched = touchesContent(message, input);
  // A message that is still being prepared has no content to keep, so an edit of it must bring some.
  if (!touched && isLoading(message) && input.from) return refused(refusal('CANNOT_SEND_EMPTY_MESSAGE'));
  const revised = touched
    ? rewrite(scope, message, input, flags, by, env)
    : ({ ok: true, value: { ...message, flags } } as const);
  if (!revised.ok) return revised;
  const value: Written = { ...whereOf(scope), message: revised.value, nonce: null };
  const changed = touched || flags !== (message.flags ?? 0);
  return accepted(value, changed ? [{ type: 'messageUpdated', message: revised.value }] : []);
}

const touchesContent = (message: StoredMessage, { edit, keep, attachments }: EditInput): boolean =>
  becomesStandalone(message, edit) ||
  edit.content !== undefined ||
  edit.embeds !== undefined ||
  edit.components !== undefined ||
  Boolean(edit.poll) ||
  keep !== null ||
  attachments.length > 0;

const isLoading = ({ flags }: StoredMessage): boolean => ((flags ?? 0) & MessageFlags.Loading) !== 0;

const isEphemeral = ({ flags }: StoredMessage): boolean => ((flags ?? 0) & MessageFlags.Ephemeral) !== 0;

/** Whether the edit turns the message into one of components only, which may show nothing else. */
const becomesStandalone = ({ flags: before }: StoredMessage, { flags }: ContentDraft): boolean =>
  ((flags ?? 0) & ~(before ?? 0) & MessageFlags.IsComponentsV2) !== 0;

/** An edit that lists exactly the stickers of the message changes none. */
function changesStickers({ sticker_items: items = [] }: StoredMessage, { sticker_ids }: EditDraft): boolean {
  if (!sticker_ids) return false;
  const had = new Set<string>(items.map(({ id }) => id));
  const asked = new Set(sticker_ids);
  return asked.size !== had.size || sticker_ids.some((id) => !had.has(id));
}

/** An application changes what a webhook of its own has sent, when it answers a component of it. */
const isByWebhookOf = ({ webhook_id, application_id }: StoredMessage, { from }: EditInput): boolean =>
  webhook_id !== undefined && application_id !== undefined && application_id === from?.fields.application_id;

function notPermitted(scope: Scope, message: StoredMessage, input: EditInput): Refusal | null {
  const stickers = changesStickers(message, input.edit);
  if (message.author.id !== scope.user.id && !isByWebhookOf(message, input)) {
    const onlyFlags = !touchesContent(message, input) && !stickers && input.edit.flags !== undefined;
    const mayHide = onlyFlags && can(scope, P.MANAGE_MESSAGES);
    return mayHide ? null : refusal('CANNOT_EDIT_OTHERS_MESSAGE');
  }
  if (!FORWARDABLE.has(message.type)) return refusal('CANNOT_EXECUTE_ON_SYSTEM_MESSAGE');
  if (stickers) return refusal('CANNOT_EDIT_STICKERS');
  if (!touchesContent(message, input)) return null;
  if (((message.flags ?? 0) & MessageFlags.IsVoiceMessage) !== 0) {
    return refusal('VOICE_MESSAGES_CANNOT_BE_EDITED');
  }
  if (message.poll || (input.edit.poll && !isLoading(message))) return refusal('CANNOT_EDIT_POLL');
  if (input.edit.poll && isEphemeral(message)) return refusal('INVALID_CHANNEL_TYPE_FOR_POLL');
  if (message.message_snapshots) return refusal('INVALID_MESSAGE_TYPE');
  let needed = 0n;
  if (input.edit.embeds?.length) needed |= P.EMBED_LINKS;
  if (input.attachments.length > 0) needed |= P.ATTACH_FILES;
  if (input.edit.poll) needed |= P.SEND_POLLS;
  return can(scope, needed) ? null : refusal('MISSING_PERMISSIONS');
}

/** Hiding embeds can be undone; components-only is permanent; clients cannot set any other flag. */
function flagsOf(message: StoredMessage, { edit: { flags }, from }: EditInput): MessageFlags {
  const before = (message.flags ?? 0) & (from ? ~MessageFlags.Loading : ~0);
  if (flags === undefined || flags === null) return before;
  const kept = before & ~MessageFlags.SuppressEmbeds;
  return kept | (flags & (MessageFlags.SuppressEmbeds | MessageFlags.IsComponentsV2));
}

function rewrite(
  scope: Scope,
  message: StoredMessage,
  input: EditInput,
  flags: MessageFlags,
  by: By,
  env: Env,
): Reply<StoredMessage> {
  const { edit } = input;
  const kept = keptFiles(attachmentsOf(message), input.keep);
  if (!kept.ok) return kept;
  const added = isEphemeral(message) ? input.attachments.map(asEphemeral) : input.attachments;
  const attachments = [...kept.value, ...added];
  const standalone = (flags & MessageFlags.IsComponentsV2) !== 0;
  // Parts that the edit leaves out were checked when they were written, and are not checked against a new flag.
  const draft: ContentDraft = {
    content: edit.content === undefined ? message.content : edit.content,
    embeds: edit.embeds ?? [],
    ...(edit.components === undefined ? {} : { components: edit.components }),
  };
  const writing = {
    uses: input.from?.components ?? componentsOf(by),
    skuIds: input.skuIds ?? [],
    attachments,
    before: message,
    nextId: () => env.nextId(),
  };
  const built = buildContent(draft, flags, writing);
  if (!built.ok) return built;
  const { unlisted } = built.value;
  const embeds = edit.embeds === undefined ? message.embeds : built.value.content.embeds;
  // Moderation metadata belongs to the old text.
  const { moderation_metadata: _of, ...before } = message;
  if (standalone && embeds.length > 0) return legacyFieldRefused('embeds');
  if (standalone && edit.poll) return legacyFieldRefused('poll');
  const poll = edit.poll ? buildPoll(edit.poll, env.nowMs) : null;
  if (poll && !poll.ok) return poll;
  const content: Content = { ...built.value.content, embeds };
  if (isEmpty(content) && !poll) return refused(refusal('CANNOT_SEND_EMPTY_MESSAGE'));
  const revised: StoredMessage = {
    ...before,
    ...content,
    ...mentionsOf(scope, message, edit, content.content),
    flags,
    ...(poll ? { poll: poll.value } : {}),
    // Completing a message that was being prepared is no edit.
    edited_timestamp: isLoading(message) ? message.edited_timestamp : isoTimestamp(env.nowMs),
  };
  const { files: owned = [], ...bare } = revised;
  const value = unlisted
    ? { ...bare, ...owningUnlisted(unlisted) }
    : owningShown(revised, [...owned, ...input.attachments]);
  return { ok: true, value };
}

/**
 * An edit that keeps the text keeps its mentions. A user who was mentioned without being named is the author of the
 * message replied to; that mention stays unless the edit removes it.
 */
function mentionsOf(scope: Scope, message: StoredMessage, edit: ContentDraft, content: string) {
  if (edit.content === undefined && edit.allowed_mentions === undefined) return {};
  const named = new Set(namedIn(message.content).userIds);
  const answered = message.mentions.find(({ id }) => !named.has(id)) ?? null;
  const stays = !edit.allowed_mentions || edit.allowed_mentions.replied_user === true;
  return mentioned(scope, content, edit.allowed_mentions, stays ? answered : null);
}

/** The kept files, in the order of the edit. @returns 50146 for an unknown file. */
function keptFiles(
  files: readonly APIAttachment[],
  keep: readonly KeptAttachment[] | null,
): Reply<readonly APIAttachment[]> {
  if (keep === null) return { ok: true, value: files };
  const kept: APIAttachment[] = [];
  for (const [index, wish] of keep.entries()) {
    const file = files.find(({ id }) => id === wish.id);
    if (!file) return refused(refusal('UPLOADED_FILE_NOT_FOUND'));
    if (kept.some(({ id }) => id === file.id)) continue;
    const max = LIMITS.attachment_description_chars_max;
    const description = withoutDirectionControls(cleanText(wish.description ?? ''));
    if (textLength(description, max) > max)
      return refused(tooLong(['attachments', index, 'description'], max));
    kept.push(redescribed(file, wish, description));
  }
  return { ok: true, value: kept };
}

function redescribed(file: APIAttachment, wish: KeptAttachment, description: string): APIAttachment {
  const { description: before, ...rest } = file;
  const text = wish.description === undefined ? before : description;
  const flags = file.flags ?? 0;
  const spoiler = wish.is_spoiler ?? (flags & AttachmentFlags.IsSpoiler) !== 0;
  const next = spoiler ? flags | AttachmentFlags.IsSpoiler : flags & ~AttachmentFlags.IsSpoiler;
  return { ...rest, ...(text ? { description: text } : {}), flags: next };
}
