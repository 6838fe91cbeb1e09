import {
  type APIAttachment,
  type APIEmbed,
  type APIMessageReference,
  type APIMessageSnapshot,
  type APIMessageTopLevelComponent,
  MessageFlags,
  MessageReferenceType,
  MessageType,
} from 'discord-api-types/v10';
import { FORWARDABLE } from '../../protocol/channeltypes.ts';
import { type FreshId, isMessageId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { StoredMessage } from '../guild/guild.ts';
import { accepted, type Env, type Outcome, type Reply, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { shownBy } from './components.media.ts';
import { type BuiltComponents, buildComponents } from './components.ts';
import type {
  AllowedMentions,
  ComponentUse,
  ContentDraft,
  CreateInput,
  MessageDraft,
  Written,
} from './draft.ts';
import { buildEmbeds } from './embeds.ts';
import { asEphemeral, attachmentsOf, owning, owningUnlisted } from './files.ts';
import { tooLong } from './form.ts';
import { forwardRefusal, snapshotOf } from './forward.ts';
import { can, type MessageFact, newMessage, type Scope, whereOf } from './messages.ts';
import { buildPoll } from './polls.ts';
import { cleanText, isBlank, textLength } from './text.ts';

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

/** The emojis that the caller may use in this channel: another guild's only with USE_EXTERNAL_EMOJIS. */
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
  // A poll in such a message could get no votes: the message is in no channel.
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
  const replied = isMessageId(asked.message_id) && scope.messageOf(asked.message_id);
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
  const owned = [...attachments, ...(forward?.files ?? [])];
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
    ...(unlisted ? owningUnlisted(unlisted) : owned.length > 0 ? owning(owned) : {}),
  });
  return { ok: true, value: message };
}

/** Components that a caller may send as itself. */
export const componentsOf = ({ bot }: By): ComponentUse => (bot ? 'any' : 'links');

/** The visible parts of a message. */
export interface Content {
  readonly content: string;
  readonly embeds: readonly APIEmbed[];
  /** Without attachments that an embed shows; empty in a message of components only. */
  readonly attachments: readonly APIAttachment[];
  readonly components: APIMessageTopLevelComponent[];
}

interface BuiltContent {
  readonly content: Content;
  /** Attachments that only components show; null unless the message consists of components only. */
  readonly unlisted: readonly APIAttachment[] | null;
}

/** The writer of a message, and the message before an edit. */
interface Writing {
  readonly uses: ComponentUse;
  readonly skuIds: readonly string[];
  /** Files that are kept or new. */
  readonly attachments: readonly APIAttachment[];
  /** The message before an edit; null for a new one. */
  readonly before: StoredMessage | null;
  nextId(): FreshId;
}

/**
 * Checks and normalises the visible parts of a message. Absent fields of the draft count as empty, except components:
 * an edit without them keeps the message's components, which were checked when they were written.
 */
export function buildContent(draft: ContentDraft, flags: number, writing: Writing): Reply<BuiltContent> {
  const { attachments } = writing;
  if (attachments.length > LIMITS.attachments_per_message_max) {
    return { ok: false, refusal: refusal('MAXIMUM_ATTACHMENTS') };
  }
  const standalone = (flags & MessageFlags.IsComponentsV2) !== 0;
  const content = cleanText(draft.content ?? '').trim();
  const max = LIMITS.content_chars_max;
  if (textLength(content, max) > max) return { ok: false, refusal: tooLong(['content'], max) };
  const embeds = draft.embeds?.length ? buildEmbeds(draft.embeds, attachments) : NO_EMBEDS;
  if (!embeds.ok) return embeds;
  if (standalone && writing.uses === 'links') return { ok: false, refusal: reservedFlag() };
  const built = readComponents(draft, standalone, writing);
  if (!built.ok) return built;
  if (standalone) {
    const legacy = content ? 'content' : embeds.value.embeds.length > 0 ? 'embeds' : null;
    if (legacy) return legacyFieldRefused(legacy);
  }
  const { components, shownIds } = built.value;
  const listed = standalone ? [] : attachments.filter(({ id }) => !embeds.value.shownIds.has(id));
  const available = standalone ? [...attachments, ...ownedBefore(writing)] : [];
  return {
    ok: true,
    value: {
      content: {
        content: isBlank(content) ? '' : content,
        embeds: embeds.value.embeds,
        attachments: listed,
        components,
      },
      unlisted: standalone ? available.filter(({ id }) => shownIds.has(id)) : null,
    },
  };
}

const NO_EMBEDS: ReturnType<typeof buildEmbeds> = { ok: true, value: { embeds: [], shownIds: new Set() } };

/** Files of the message before the edit that the edit does not keep. */
const ownedBefore = ({ before, attachments }: Writing): readonly APIAttachment[] =>
  before ? attachmentsOf(before).filter(({ id }) => !attachments.some((one) => one.id === id)) : [];

function readComponents(
  { components: raw }: ContentDraft,
  standalone: boolean,
  writing: Writing,
): Reply<BuiltComponents> {
  const { uses, skuIds, attachments, before, nextId } = writing;
  if (raw === undefined && before) {
    const components = before.components ?? [];
    return { ok: true, value: { components, shownIds: shownBy(components) } };
  }
  if (!raw?.length) return { ok: true, value: { components: [], shownIds: new Set() } };
  const uploads = { named: attachments, owned: [...attachments, ...ownedBefore(writing)], nextId };
  return buildComponents(raw, { standalone, uses, skuIds, uploads });
}

const reservedFlag = () =>
  invalidField(
    ['flags'],
    'MESSAGE_FLAG_RESERVED_FOR_APPLICATIONS',
    'Only applications may send messages made of components (IS_COMPONENTS_V2).',
  );

/** A message of components only cannot have the older fields. */
export const legacyFieldRefused = (field: string) =>
  ({
    ok: false,
    refusal: invalidField(
      [field],
      'MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2',
      `The '${field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2`,
    ),
  }) as const;

export const isEmpty = ({ content, embeds, attachments, components }: Content): boolean =>
  content === '' && embeds.length === 0 && attachments.length === 0 && components.length === 0;

interface Mentioned {
  readonly mentions: APIUser[];
  readonly mention_roles: string[];
  readonly mention_everyone: boolean;
}

/**
 * The users and roles that a text notifies: the mentions in it, restricted by `allowed_mentions`, by existence, and by
 * the caller's permissions.
 *
 * @param replied Author of the message replied to when the reply notifies them; else null.
 */
export function mentioned(
  scope: Scope,
  content: string,
  allowed: AllowedMentions | null | undefined,
  replied: APIUser | null,
): Mentioned {
  const { userIds, roleIds, everyone } = wanted(namedIn(content), allowed);
  const users = userIds.map((id) => scope.userOf(id)).filter((user) => user !== null);
  if (replied && !users.some(({ id }) => id === replied.id)) users.unshift(replied);
  return {
    mentions: users,
    mention_roles: roleIds.filter((id) => scope.mayNotifyRole(id)),
    mention_everyone: everyone && can(scope, P.MENTION_EVERYONE),
  };
}

/** Mentions in a text, before any permission check. Ids are distinct, in order of appearance. */
interface Named {
  readonly userIds: readonly string[];
  readonly roleIds: readonly string[];
  readonly everyone: boolean;
}

const CODE = /```[\s\S]*?```|``[\s\S]*?``|`[^`\n]*`/g;
const MENTION = /<@(!|&)?(\d{15,20})>/g;
const EVERYONE = /@(?:everyone|here)/;

/**
 * Finds the mentions of a text, at most 100 users and 100 roles. Mentions in code spans do not count. O(length), except
 * for unclosed code marks, which are quadratic in a text of at most 2000 characters.
 *
 * @source https://docs.discord.com/developers/reference#message-formatting
 */
export function namedIn(content: string): Named {
  if (!content.includes('@')) return NOBODY;
  const text = content.replace(CODE, ' ');
  const users = new Set<string>();
  const roles = new Set<string>();
  for (const [, kind, id] of text.matchAll(MENTION)) {
    const ids = kind === '&' ? roles : users;
    if (ids.size < LIMITS.allowed_mention_ids_max) ids.add(id!);
  }
  return { userIds: [...users], roleIds: [...roles], everyone: EVERYONE.test(text) };
}

const NOBODY: Named = { userIds: [], roleIds: [], everyone: false };

/** Refuses contradictions: a kind in `parse` together with a list of the same kind. */
export function contradictionIn(allowed: AllowedMentions | null | undefined): Refusal | null {
  for (const kind of ['users', 'roles'] as const) {
    if (allowed?.parse?.includes(kind) && allowed[kind]?.length) {
      const message = `parse:["${kind}"] and ${kind}: [ids...] are mutually exclusive.`;
      return invalidField(['allowed_mentions'], 'MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE', message);
    }
  }
  return null;
}

/** The part of `named` that the author allows; permissions are checked elsewhere. */
function wanted(named: Named, allowed: AllowedMentions | null | undefined): Named {
  if (!allowed) return named;
  const pick = (kind: 'users' | 'roles', ids: readonly string[]): readonly string[] => {
    if (allowed.parse?.includes(kind)) return ids;
    const listed = new Set(allowed[kind] ?? []);
    return ids.filter((id) => listed.has(id));
  };
  return {
    userIds: pick('users', named.userIds),
    roleIds: pick('roles', named.roleIds),
    everyone: named.everyone && (allowed.parse?.includes('everyone') ?? false),
  };
}
