import {
  type APIAttachment,
  type APIEmbed,
  type APIMessageTopLevelComponent,
  type APIUser,
  MessageFlags,
} from 'discord-api-types/v10';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, refusal } from '../../protocol/refusal.ts';
import type { Reply } from '../outcome.ts';
import { buildComponents } from './components.ts';
import type { ContentDraft } from './draft.ts';
import { buildEmbeds } from './embeds.ts';
import { tooLong } from './form.ts';
import { type AllowedMentions, namedIn, wanted } from './mentions.ts';
import { can, type Scope } from './scope.ts';
import { cleanText, isBlank, textLength } from './text.ts';

/** The visible parts of a message. */
export interface Content {
  readonly content: string;
  readonly embeds: readonly APIEmbed[];
  /** Without those that an embed shows. */
  readonly attachments: readonly APIAttachment[];
  readonly components: APIMessageTopLevelComponent[];
}

/** Checks and normalises what a message shows. Fields that the draft does not give count as empty. */
export function buildContent(
  draft: ContentDraft,
  flags: number,
  attachments: readonly APIAttachment[],
): Reply<Content> {
  if (attachments.length > LIMITS.attachments_per_message_max) {
    return { ok: false, refusal: refusal('MAXIMUM_ATTACHMENTS') };
  }
  const standalone = (flags & MessageFlags.IsComponentsV2) !== 0;
  const content = cleanText(draft.content ?? '').trim();
  const max = LIMITS.content_chars_max;
  if (textLength(content, max) > max) return { ok: false, refusal: tooLong(['content'], max) };
  const embeds = buildEmbeds(draft.embeds ?? [], attachments);
  if (!embeds.ok) return embeds;
  const components = buildComponents(draft.components ?? [], standalone);
  if (!components.ok) return components;
  if (standalone) {
    const legacy = content ? 'content' : embeds.value.embeds.length > 0 ? 'embeds' : null;
    if (legacy) return notBeside(legacy);
  }
  const listed = attachments.filter(({ id }) => !embeds.value.shownIds.has(id));
  return {
    ok: true,
    value: {
      content: isBlank(content) ? '' : content,
      embeds: embeds.value.embeds,
      attachments: listed,
      components: components.value,
    },
  };
}

/** A message of components alone carries none of the older fields. */
export const notBeside = (field: string) =>
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

export interface Mentioned {
  readonly mentions: APIUser[];
  readonly mention_roles: string[];
  readonly mention_everyone: boolean;
}

/**
 * Whom a text reaches: what it names, narrowed by `allowed_mentions`, by what exists, and by what the caller may.
 *
 * @param replied Author of the message this one answers, when they are to be told; else null.
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
