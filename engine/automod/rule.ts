import type { AutoModerationRuleId, ChannelId, GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import { readKeyword } from './matcher.ts';
import type { PresetNumber } from './presets.ts';
import { compilePattern } from './regex.ts';

/** @source https://docs.discord.com/developers/resources/auto-moderation#auto-moderation-rule-object-trigger-types */
export const TRIGGER = {
  KEYWORD: 1,
  SPAM: 3,
  KEYWORD_PRESET: 4,
  MENTION_SPAM: 5,
  MEMBER_PROFILE: 6,
} as const;
export type TriggerNumber = (typeof TRIGGER)[keyof typeof TRIGGER];

/** @source https://docs.discord.com/developers/resources/auto-moderation#auto-moderation-rule-object-event-types */
const EVENT = { MESSAGE_SEND: 1, MEMBER_UPDATE: 2 } as const;
type EventNumber = (typeof EVENT)[keyof typeof EVENT];

/** @source https://docs.discord.com/developers/resources/auto-moderation#auto-moderation-action-object-action-types */
export const ACTION = {
  BLOCK_MESSAGE: 1,
  SEND_ALERT_MESSAGE: 2,
  TIMEOUT: 3,
  BLOCK_MEMBER_INTERACTION: 4,
} as const;

export type RuleAction =
  | { readonly type: 1; readonly metadata: { readonly custom_message?: string } }
  | { readonly type: 2; readonly metadata: { readonly channel_id: ChannelId } }
  | { readonly type: 3; readonly metadata: { readonly duration_seconds: number } }
  | { readonly type: 4; readonly metadata: Readonly<Record<string, never>> };

/** The fields of the rule's trigger are present, the others absent. */
interface TriggerMetadata {
  readonly keyword_filter?: readonly string[];
  readonly regex_patterns?: readonly string[];
  readonly allow_list?: readonly string[];
  readonly presets?: readonly PresetNumber[];
  readonly mention_total_limit?: number;
  readonly mention_raid_protection_enabled?: boolean;
}

/** A rule in the wire's shape. */
export interface Rule {
  readonly id: AutoModerationRuleId;
  readonly guild_id: GuildId;
  readonly creator_id: UserId;
  readonly name: string;
  readonly event_type: EventNumber;
  readonly trigger_type: TriggerNumber;
  readonly trigger_metadata: TriggerMetadata;
  readonly actions: readonly RuleAction[];
  readonly enabled: boolean;
  readonly exempt_roles: readonly RoleId[];
  readonly exempt_channels: readonly ChannelId[];
}

/** An action as a request names it: which metadata it needs depends on its type. */
interface ActionDraft {
  readonly type: RuleAction['type'];
  readonly metadata?: {
    readonly custom_message?: string | null;
    readonly channel_id?: ChannelId | null;
    readonly duration_seconds?: number | null;
  } | null;
}

/** A request's fields of a rule. An absent field keeps its value or has its default. */
export interface RuleDraft {
  readonly name?: string;
  readonly event_type?: EventNumber;
  readonly trigger_type?: TriggerNumber;
  readonly trigger_metadata?: {
    readonly keyword_filter?: readonly string[] | null;
    readonly regex_patterns?: readonly string[] | null;
    readonly allow_list?: readonly string[] | null;
    readonly presets?: readonly PresetNumber[] | null;
    readonly mention_total_limit?: number | null;
    readonly mention_raid_protection_enabled?: boolean | null;
  } | null;
  readonly actions?: readonly ActionDraft[] | null;
  readonly enabled?: boolean | null;
  readonly exempt_roles?: readonly RoleId[] | null;
  readonly exempt_channels?: readonly ChannelId[] | null;
}

/** The fields that a request can set. */
type Settings = Omit<Rule, 'id' | 'guild_id' | 'creator_id'>;
type Built<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

const no = (path: readonly (string | number)[], code: string, message: string) =>
  ({ ok: false, refusal: invalidField(path, code, message) }) as const;

const CHOICE = 'BASE_TYPE_CHOICES';

const eventOf = (trigger: TriggerNumber): EventNumber =>
  trigger === TRIGGER.MEMBER_PROFILE ? EVENT.MEMBER_UPDATE : EVENT.MESSAGE_SEND;

/** How many rules of a trigger a guild may have. */
export const rulesMax = (trigger: TriggerNumber): number =>
  trigger === TRIGGER.KEYWORD ? LIMITS.automod_keyword_rules_max : 1;

/** A rule's settings after a request; `before` is null for a new rule. A rule keeps its trigger for life. */
export function settingsOf(draft: RuleDraft, before: Rule | null): Built<Settings> {
  const trigger = before?.trigger_type ?? draft.trigger_type;
  if (trigger === undefined) return no(['trigger_type'], 'BASE_TYPE_REQUIRED', 'This field is required');
  if (draft.trigger_type !== undefined && draft.trigger_type !== trigger)
    return no(['trigger_type'], CHOICE, 'The trigger of a rule cannot change.');
  const event = eventOf(trigger);
  if (draft.event_type !== undefined && draft.event_type !== event)
    return no(['event_type'], CHOICE, `A rule of this trigger has the event ${event}.`);
  const metadata = metadataOf(trigger, draft.trigger_metadata ?? {}, before?.trigger_metadata ?? {});
  if (!metadata.ok) return metadata;
  const actions = draft.actions ? actionsOf(trigger, draft.actions) : null;
  if (actions && !actions.ok) return actions;
  return {
    ok: true,
    value: {
      name: draft.name ?? before?.name ?? '',
      event_type: event,
      trigger_type: trigger,
      trigger_metadata: metadata.value,
      actions: actions?.value ?? before?.actions ?? [usualAction(trigger)],
      enabled: draft.enabled ?? before?.enabled ?? false,
      exempt_roles: distinct(draft.exempt_roles) ?? before?.exempt_roles ?? [],
      exempt_channels: distinct(draft.exempt_channels) ?? before?.exempt_channels ?? [],
    },
  };
}

const distinct = <T>(list: readonly T[] | null | undefined): readonly T[] | null =>
  list ? [...new Set(list)] : null;

const usualAction = (trigger: TriggerNumber): RuleAction =>
  trigger === TRIGGER.MEMBER_PROFILE
    ? { type: ACTION.BLOCK_MEMBER_INTERACTION, metadata: {} }
    : { type: ACTION.BLOCK_MESSAGE, metadata: {} };

type MetadataDraft = NonNullable<RuleDraft['trigger_metadata']>;

function metadataOf(
  trigger: TriggerNumber,
  draft: MetadataDraft,
  before: TriggerMetadata,
): Built<TriggerMetadata> {
  switch (trigger) {
    case TRIGGER.SPAM:
      return { ok: true, value: {} };
    case TRIGGER.MENTION_SPAM:
      return {
        ok: true,
        value: {
          mention_total_limit:
            draft.mention_total_limit ?? before.mention_total_limit ?? LIMITS.automod_mentions_max,
          mention_raid_protection_enabled:
            draft.mention_raid_protection_enabled ?? before.mention_raid_protection_enabled ?? false,
        },
      };
    case TRIGGER.KEYWORD_PRESET: {
      const bad = listProblem('allow_list', draft.allow_list, LIMITS.automod_preset_allowed_max);
      if (bad) return bad;
      const presets = distinct(draft.presets) ?? before.presets ?? [];
      return { ok: true, value: { allow_list: draft.allow_list ?? before.allow_list ?? [], presets } };
    }
  }
  const bad =
    listProblem('keyword_filter', draft.keyword_filter, LIMITS.automod_keywords_max) ??
    listProblem('allow_list', draft.allow_list, LIMITS.automod_allowed_max) ??
    patternProblem(draft.regex_patterns ?? []);
  if (bad) return bad;
  return {
    ok: true,
    value: {
      keyword_filter: draft.keyword_filter ?? before.keyword_filter ?? [],
      regex_patterns: draft.regex_patterns ?? before.regex_patterns ?? [],
      allow_list: draft.allow_list ?? before.allow_list ?? [],
    },
  };
}

/** A list's bound depends on the trigger, so it is checked here; a keyword must name something to look for. */
function listProblem(field: string, list: readonly string[] | null | undefined, max: number) {
  if (!list) return null;
  const path = ['trigger_metadata', field];
  if (list.length > max) return no(path, 'BASE_TYPE_MAX_LENGTH', `Must be ${max} or fewer in length.`);
  for (const [index, keyword] of list.entries()) {
    const { length } = readKeyword(keyword).text;
    if (length === 0)
      return no([...path, index], 'AUTO_MODERATION_INVALID_KEYWORD', 'This keyword is empty.');
    if (length > LIMITS.automod_keyword_folded_units_max)
      return no([...path, index], 'BASE_TYPE_BAD_LENGTH', 'This keyword is too long when it is compared.');
  }
  return null;
}

function patternProblem(patterns: readonly string[]) {
  const index = patterns.findIndex((pattern) => compilePattern(pattern) === null);
  if (index < 0) return null;
  const path = ['trigger_metadata', 'regex_patterns', index];
  return no(path, 'AUTO_MODERATION_INVALID_REGEX', 'This pattern is invalid, not supported or too large.');
}

/** Triggers that may use TIMEOUT: the platform allows it for two of the message triggers. */
const SILENCING: ReadonlySet<TriggerNumber> = new Set([TRIGGER.KEYWORD, TRIGGER.MENTION_SPAM]);

function mayDo(trigger: TriggerNumber, type: RuleAction['type']): boolean {
  if (type === ACTION.SEND_ALERT_MESSAGE) return true;
  if (type === ACTION.TIMEOUT) return SILENCING.has(trigger);
  return (type === ACTION.BLOCK_MEMBER_INTERACTION) === (trigger === TRIGGER.MEMBER_PROFILE);
}

function actionsOf(trigger: TriggerNumber, drafts: readonly ActionDraft[]): Built<readonly RuleAction[]> {
  const actions: RuleAction[] = [];
  for (const [index, { type, metadata }] of drafts.entries()) {
    if (!mayDo(trigger, type))
      return no(['actions', index, 'type'], CHOICE, 'Rules of this trigger have no such action.');
    switch (type) {
      case ACTION.SEND_ALERT_MESSAGE: {
        const channelId = metadata?.channel_id;
        const path = ['actions', index, 'metadata', 'channel_id'];
        if (!channelId) return no(path, 'BASE_TYPE_REQUIRED', 'This field is required');
        actions.push({ type, metadata: { channel_id: channelId } });
        break;
      }
      case ACTION.TIMEOUT: {
        const path = ['actions', index, 'metadata'];
        if (!metadata) return no(path, 'BASE_TYPE_REQUIRED', 'This field is required');
        actions.push({ type, metadata: { duration_seconds: metadata.duration_seconds ?? 0 } });
        break;
      }
      case ACTION.BLOCK_MESSAGE: {
        const text = metadata?.custom_message;
        actions.push({ type, metadata: text ? { custom_message: text } : {} });
        break;
      }
      default:
        actions.push({ type, metadata: {} });
    }
  }
  return { ok: true, value: actions };
}
