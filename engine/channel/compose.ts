import {
  type APIAttachment,
  type APIMessageReference,
  type APIMessageSnapshot,
  MessageFlags,
  MessageReferenceType,
  MessageType,
} from 'discord-api-types/v10';
import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import type { ChannelId, MessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import {
  buildContent,
  componentsOf,
  contradictionIn,
  isEmpty,
  legacyFieldRefused,
  mentioned,
} from './content.ts';
import type { CreateInput, MessageDraft, Written } from './draft.ts';
import { asEphemeral, owning, owningUnlisted } from './files.ts';
import { forwardRefusal, snapshotOf } from './forward.ts';
import { buildPoll } from './polls.ts';
import { can, type MessageFact, type Scope, whereOf } from './scope.ts';
import { cleanText, textLength } from './text.ts';

/** Flags a client may set on a new message; other flags are set by the server only and ignored here. */
const SETTABLE =
  MessageFlags.SuppressEmbeds |
  MessageFlags.SuppressNotifications |
  MessageFlags.IsVoiceMessage |
  MessageFlags.IsComponentsV2;

/** The message that a new message replies to or forwards. */
interface Reference {
  readonly wire: APIMessageReference;
  /** The message replied to. */
  readonly replied: StoredMessage | null;
  readonly snapshot: APIMessageSnapshot | null;
}

/**
 * Writes a message into a channel. The kind of channel and slow mode are not checked here, as private channels have
 * neither.
 */
export function composeMessage(
  scope: Scope,
  input: CreateInput,
  by: By,
  env: Env,
): Outcome<Written, MessageFact> {
  const { draft } = input;
  const nonce = typeof draft.nonce === 'string' ? cleanText(draft.nonce) : (draft.nonce ?? null);
  if (typeof nonce === 'string' && textLength(nonce) > LIMITS.nonce_chars_max) return refused(longNonce());
  const no = notPermitted(scope, input) ?? contradictionIn(draft.allowed_mentions) ?? badVoice(input);
  if (no) return refused(no);
  const reference = resolveReference(scope, input, by, env);
  if (!reference.ok) return reference;
  const message = build(scope, input, reference.value, by, env);
  if (!message.ok) return message;
  const referenced = reference.value?.replied ?? null;
  const written: Written = { ...whereOf(scope), message: message.value, nonce, referenced };
  const enforceNonce = draft.enforce_nonce === true;
  return accepted(written, [
    { type: 'messageCreated', message: message.value, nonce, referenced, enforceNonce },
  ]);
}

/** The earlier message with the same nonce, when the client asked for enforced nonces. */
export function repeated(scope: Scope, { draft }: CreateInput): Written | null {
  const { nonce = null } = draft;
  if (!draft.enforce_nonce || nonce === null) return null;
  const message = scope.sentUnder(String(nonce));
  return message && { ...whereOf(scope), message, nonce };
}

const longNonce = (): Refusal =>
  invalidField(['nonce'], 'NONCE_TYPE_TOO_LONG', `Must be ${LIMITS.nonce_chars_max} or fewer in length.`);

/** @returns 50081 for stickers that do not exist, 50600 for another guild's without USE_EXTERNAL_STICKERS. */
function wrongStickers(scope: Scope, { draft, stickers = [] }: CreateInput): Refusal | null {
  const asked = new Set(draft.sticker_ids ?? []);
  if (stickers.length !== asked.size) return refusal('INVALID_STICKER_SENT');
  const isExternal = stickers.some(({ guildId }) => guildId !== null && guildId !== scope.guildId);
  return isExternal && !can(scope, P.USE_EXTERNAL_STICKERS) ? refusal('CANNOT_SEND_STICKER') : null;
}

/** Those of the emojis that the caller may use in this channel: another guild's only with USE_EXTERNAL_EMOJIS. */
const usableIn = (scope: Scope, emojis: CreateInput['emojis'] = []) =>
  can(scope, P.USE_EXTERNAL_EMOJIS)
    ? emojis
    : emojis.filter(({ guildId }) => guildId === null || guildId === scope.guildId);

const itemsOf = (stickers: CreateInput['stickers'] = []) =>
  stickers.length === 0
    ? {}
    : { sticker_items: stickers.map(({ id, name, format_type }) => ({ id, name, format_type })) };

function notPermitted(scope: Scope, input: CreateInput): Refusal | null {
  const { draft, attachments, from } = input;
  const voice = ((draft.flags ?? 0) & MessageFlags.IsVoiceMessage) !== 0;
  if (voice && !can(scope, P.SEND_VOICE_MESSAGES)) return refusal('CANNOT_SEND_VOICE_MESSAGES_HERE');
  if (draft.message_reference && !can(scope, P.READ_MESSAGE_HISTORY)) {
    const forward = draft.message_reference.type === MessageReferenceType.Forward;
    if (!forward) return refusal('CANNOT_REPLY_WITHOUT_HISTORY');
  }
  let needed = 0n;
  if (draft.tts) needed |= P.SEND_TTS_MESSAGES;
  if (draft.embeds?.length) needed |= P.EMBED_LINKS;
  if (attachments.length > 0) needed |= P.ATTACH_FILES;
  if (draft.poll) needed |= P.SEND_POLLS;
  if (!can(scope, needed)) return refusal('MISSING_PERMISSIONS');
  // Nobody could vote: such a message is in no channel.
  if (draft.poll && from?.isEphemeral) return refusal('INVALID_CHANNEL_TYPE_FOR_POLL');
  return besideComponents(draft) ?? wrongStickers(scope, input);
}

/** A message of components only cannot have a poll or a sticker. */
function besideComponents({ flags, poll, sticker_ids }: MessageDraft): Refusal | null {
  if (((flags ?? 0) & MessageFlags.IsComponentsV2) === 0) return null;
  const field = poll ? 'poll' : sticker_ids?.length ? 'sticker_ids' : null;
  return field && legacyFieldRefused(field).refusal;
}

/** A voice message has one audio file with its length and waveform, and nothing else. */
function badVoice({ draft, attachments }: CreateInput): Refusal | null {
  if (((draft.flags ?? 0) & MessageFlags.IsVoiceMessage) === 0) return null;
  if (draft.content || draft.embeds?.length || draft.components?.length || draft.poll) {
    return refusal('VOICE_MESSAGES_NO_CONTENT');
  }
  const [audio] = attachments;
  const isAudio = (file: APIAttachment) => file.content_type?.startsWith('audio/') ?? false;
  if (attachments.length !== 1 || !audio || !isAudio(audio)) return refusal('VOICE_MESSAGES_ONE_ATTACHMENT');
  const hasMetadata = audio.duration_secs !== undefined && audio.waveform !== undefined;
  return hasMetadata ? null : refusal('VOICE_MESSAGES_NEED_METADATA');
}

function resolveReference(
  scope: Scope,
  { draft, forward }: CreateInput,
  by: By,
  env: Env,
): Reply<Reference | null> {
  const asked = draft.message_reference;
  if (!asked) return { ok: true, value: null };
  const guild = (id: string | null) => (id === null ? {} : { guild_id: id });
  if (asked.type === MessageReferenceType.Forward) {
    if (!forward) return refused(refusal('UNKNOWN_MESSAGE'));
    const no = forwardRefusal(by, forward, env) ?? notBesideForward(draft);
    if (no) return refused(no);
    const { id: message_id, channel_id } = forward.message;
    const wire = { type: MessageReferenceType.Forward, channel_id, message_id, ...guild(forward.guildId) };
    return { ok: true, value: { wire, replied: null, snapshot: snapshotOf(forward.message) } };
  }
  const bad = (code: string, message: string) => refused(invalidField(['message_reference'], code, message));
  if (asked.channel_id && asked.channel_id !== scope.channelId) {
    const message = 'Cannot reply to a message in a different channel';
    return bad('REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL', message);
  }
  const replied = scope.messageOf(asked.message_id as MessageId);
  if (!replied) {
    if (asked.fail_if_not_exists === false) return { ok: true, value: null };
    return bad('REPLIES_UNKNOWN_MESSAGE', 'Unknown message');
  }
  if (!FORWARDABLE.has(replied.type)) {
    return bad('REPLIES_CANNOT_REFERENCE_SYSTEM_MESSAGE', 'Cannot reply to a system message');
  }
  const wire = {
    type: MessageReferenceType.Default,
    channel_id: scope.channelId,
    message_id: replied.id,
    ...guild(scope.guildId),
  };
  return { ok: true, value: { wire, replied, snapshot: null } };
}

/** A forward has no content of its own beside the copy. */
function notBesideForward(draft: MessageDraft): Refusal | null {
  const field = (['content', 'embeds', 'components', 'poll'] as const).find((key) => {
    const value = draft[key];
    return Array.isArray(value) ? value.length > 0 : Boolean(value);
  });
  const named = field ?? (((draft.flags ?? 0) & MessageFlags.IsComponentsV2) !== 0 ? 'flags' : null);
  if (!named) return null;
  return invalidField([named], 'MESSAGE_FORWARD_CANNOT_HAVE_CONTENT', 'A forward carries nothing else.');
}

function build(
  scope: Scope,
  { draft, stickers, emojis, skuIds, attachments, forward, carried, from }: CreateInput,
  reference: Reference | null,
  by: By,
  env: Env,
): Reply<StoredMessage> {
  const flags =
    ((draft.flags ?? 0) & SETTABLE) |
    (from?.isLoading ? MessageFlags.Loading : 0) |
    (from?.isEphemeral ? MessageFlags.Ephemeral : 0);
  const writing = {
    uses: from?.components ?? componentsOf(by),
    skuIds: skuIds ?? [],
    attachments: from?.isEphemeral ? attachments.map(asEphemeral) : attachments,
    before: null,
    nextId: () => env.nextId(),
  };
  const built = buildContent(draft, flags, writing);
  if (!built.ok) return built;
  const { content, unlisted } = built.value;
  const poll = draft.poll ? buildPoll(draft.poll, env.nowMs, usableIn(scope, emojis)) : null;
  if (poll && !poll.ok) return poll;
  const snapshot = reference?.snapshot ?? null;
  // A file that an embed shows is not listed, but then the embed is not empty.
  const isBare = !poll && !snapshot && !stickers?.length && !carried?.activity && !from?.isLoading;
  if (isEmpty(content) && isBare) return refused(refusal('CANNOT_SEND_EMPTY_MESSAGE'));
  const replied = reference?.replied ?? null;
  const tellReplied = draft.allowed_mentions ? draft.allowed_mentions.replied_user === true : true;
  const message = newMessage(env, {
    channel_id: scope.channelId,
    type: replied ? MessageType.Reply : MessageType.Default,
    author: scope.user,
    ...content,
    ...mentioned(
      scope,
      content.content,
      draft.allowed_mentions,
      tellReplied ? (replied?.author ?? null) : null,
    ),
    flags: snapshot ? flags | MessageFlags.HasSnapshot : flags,
    tts: draft.tts === true,
    ...(reference ? { message_reference: reference.wire } : {}),
    ...(snapshot ? { message_snapshots: [snapshot] } : {}),
    ...(poll ? { poll: poll.value } : {}),
    ...itemsOf(stickers),
    ...carried,
    ...from?.fields,
    ...(unlisted ? owningUnlisted(unlisted) : owning([...attachments, ...(forward?.files ?? [])])),
  });
  return { ok: true, value: message };
}

/** A new message, without reactions and pins. */
export function newMessage(
  env: Env,
  parts: Pick<StoredMessage, 'channel_id' | 'type' | 'author'> & Partial<StoredMessage>,
): StoredMessage {
  return {
    content: '',
    mentions: [],
    mention_roles: [],
    mention_everyone: false,
    attachments: [],
    embeds: [],
    components: [],
    flags: 0 as MessageFlags,
    tts: false,
    pinned: false,
    edited_timestamp: null,
    reactions: [],
    pinned_ms: null,
    ...parts,
    id: parts.id ?? env.nextId(),
    timestamp: isoTimestamp(env.nowMs),
  };
}

/** The fact of a message that the server wrote for a user: a pin, a join. */
export function systemMessage(
  env: Env,
  channelId: ChannelId,
  type: MessageType,
  author: APIUser,
  reference?: APIMessageReference,
): Extract<MessageFact, { type: 'messageCreated' }> {
  const message = newMessage(env, {
    channel_id: channelId,
    type,
    author,
    ...(reference ? { message_reference: reference } : {}),
  });
  return { type: 'messageCreated', message, nonce: null, referenced: null, enforceNonce: false };
}
