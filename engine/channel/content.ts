import {
  type APIAttachment,
  type APIEmbed,
  type APIMessageTopLevelComponent,
  MessageFlags,
} from 'discord-api-types/v10';
import type { FreshId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import type { APIUser } from '../../protocol/objects.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import type { StoredMessage } from '../guild/guild.ts';
import type { Reply } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { shownBy } from './components.media.ts';
import { type BuiltComponents, buildComponents } from './components.ts';
import type { AllowedMentions, ComponentUse, ContentDraft } from './draft.ts';
import { buildEmbeds } from './embeds.ts';
import { attachmentsOf } from './files.ts';
import { tooLong } from './form.ts';
import { can, type Scope } from './scope.ts';
import { cleanText, isBlank, textLength } from './text.ts';

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
