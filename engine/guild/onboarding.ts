import { RoleFlags } from 'discord-api-types/v10';
import { AUDIT } from '../../protocol/audit.ts';
import type { ChannelId, RoleId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { everyonePermissions } from '../permissions/permissions.ts';
import { type AuditFact, auditEntry, changesOf, sameValue } from './auditing.ts';
import { chosenEmoji, type EmojiDraft } from './expressions.emoji.ts';
import type { GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import { roleRefusal } from './members.update.ts';
import { answersOf } from './onboarding.answers.ts';
import type { Onboarding, OnboardingOption, OnboardingPrompt } from './pages.types.ts';
import type { GuildTopic } from './topic.ts';

/** A request for the whole onboarding; absent and null keep a part. */
export interface OnboardingDraft {
  readonly prompts?: readonly PromptDraft[] | null;
  readonly default_channel_ids?: readonly ChannelId[] | null;
  readonly enabled?: boolean | null;
  readonly mode?: 0 | 1 | null;
}

interface PromptDraft {
  /** Id of a prompt that exists; any other id stands for a new one. */
  readonly id: string;
  readonly title: string;
  readonly options: readonly OptionDraft[];
  readonly single_select?: boolean | null;
  readonly required?: boolean | null;
  readonly in_onboarding?: boolean | null;
  readonly type?: 0 | 1 | null;
}

interface OptionDraft extends EmojiDraft {
  readonly id?: string | null;
  readonly title: string;
  readonly description?: string | null;
  /** Ignored: the emoji says it. */
  readonly emoji_animated?: boolean | null;
  readonly role_ids?: readonly RoleId[] | null;
  readonly channel_ids?: readonly ChannelId[] | null;
}

type OnboardingObject = Onboarding & {
  readonly guild_id: string;
  /** The caller's answers; only for people. */
  readonly responses?: readonly string[];
  readonly onboarding_prompts_seen?: Readonly<Record<string, number>>;
  readonly onboarding_responses_seen?: Readonly<Record<string, number>>;
};

type OnboardingCommands = {
  getOnboarding: { input: object; value: OnboardingObject };
  putOnboarding: { input: { readonly draft: OnboardingDraft }; value: OnboardingObject };
};

const NONE: Onboarding = { prompts: [], default_channel_ids: [], enabled: false, mode: 0 };

/** Questions that a guild asks new members, and their default channels. */
export const onboarding: GuildTopic<OnboardingCommands, never> = {
  commands: {
    getOnboarding: {
      repeatable: true,
      needs: (_input, _guild, by) => ({ onboardingAnswers: [by.userId] }),
      decide: (guild, _input, by) => {
        const page = guild.pages.onboarding ?? NONE;
        if (by.bot || by.system) return accepted(shown(guild, page));
        const { chosen: responses, promptsSeen, optionsSeen } = answersOf(guild, page, by.userId);
        const seen = { onboarding_prompts_seen: promptsSeen, onboarding_responses_seen: optionsSeen };
        return accepted({ ...shown(guild, page), responses, ...seen });
      },
    },
    putOnboarding: { decide: putOnboarding },
  },
  facts: {},
};

/** Omits roles and channels that were deleted. */
function live(guild: Guild, { prompts, default_channel_ids, ...rest }: Onboarding): Onboarding {
  const channelIds = (ids: readonly ChannelId[]) => ids.filter((id) => guild.channels.has(id));
  const roleIds = (ids: readonly RoleId[]) => ids.filter((id) => guild.roles.has(id));
  return {
    ...rest,
    default_channel_ids: channelIds(default_channel_ids),
    prompts: prompts.map((prompt) => ({
      ...prompt,
      options: prompt.options.map((option) => ({
        ...option,
        role_ids: roleIds(option.role_ids),
        channel_ids: channelIds(option.channel_ids),
      })),
    })),
  };
}

const shown = (guild: Guild, page: Onboarding): OnboardingObject => ({
  guild_id: guild.id,
  ...live(guild, page),
});

function putOnboarding(
  guild: Guild,
  { draft }: OnboardingCommands['putOnboarding']['input'],
  by: By,
  env: Env,
): Outcome<OnboardingObject, GuildFact> {
  const stored = guild.pages.onboarding ?? null;
  const before = live(guild, stored ?? NONE);
  const prompts = draft.prompts ? promptsOf(guild, before.prompts, draft.prompts, by, env) : null;
  if (prompts && !prompts.ok) return prompts;
  const defaults = draft.default_channel_ids;
  const unknown = defaults?.some((id) => !guild.channels.has(id));
  if (unknown) return refused(refusal('UNKNOWN_CHANNEL'));
  const after: Onboarding = {
    prompts: prompts?.value ?? before.prompts,
    default_channel_ids: defaults ? [...new Set(defaults)] : before.default_channel_ids,
    enabled: draft.enabled ?? before.enabled,
    mode: draft.mode ?? before.mode,
  };
  const no = requirementRefusal(guild, before, after);
  if (no) return refused(no);
  if (stored && sameValue(before, after)) return accepted(shown(guild, after));
  return accepted(shown(guild, after), [
    { type: 'pageWritten', page: 'onboarding', data: after },
    ...markedRoles(guild, after),
    ...entriesOf(guild, stored && before, after, by, env),
  ]);
}

/** Sets the flag IN_PROMPT of roles that a question gives, and clears it on all others. @source https://docs.discord.com/developers/topics/permissions#role-object-role-flags */
function markedRoles({ roles }: Guild, { prompts }: Onboarding): GuildFact[] {
  const given = new Set(prompts.flatMap(({ options }) => options.flatMap(({ role_ids }) => role_ids)));
  return [...roles.values()].flatMap((role) => {
    const { flags = 0 } = role;
    const marked = given.has(role.id) ? flags | RoleFlags.InPrompt : flags & ~RoleFlags.InPrompt;
    return marked === flags ? [] : [{ type: 'roleUpdated' as const, role: { ...role, flags: marked } }];
  });
}

/**
 * New members must find enough channels: default channels and, in the advanced mode, channels of the questions too.
 *
 * @source https://docs.discord.com/developers/resources/guild#modify-guild-onboarding
 */
function requirementRefusal(guild: Guild, before: Onboarding, after: Onboarding): Refusal | null {
  if (!after.enabled) return null;
  const asked = after.mode === 1 ? after.prompts.filter((prompt) => prompt.in_onboarding) : [];
  const ids = new Set([
    ...after.default_channel_ids,
    ...asked.flatMap(({ options }) => options.flatMap(({ channel_ids }) => channel_ids)),
  ]);
  const open = [...ids].flatMap((id) => {
    const channel = guild.channels.get(id);
    const bits = channel ? everyonePermissions(guild, channel) : 0n;
    return bits & P.VIEW_CHANNEL ? [bits] : [];
  });
  const writable = open.filter((bits) => bits & P.SEND_MESSAGES).length;
  if (open.length >= LIMITS.onboarding_channels_min && writable >= LIMITS.onboarding_writable_channels_min)
    return null;
  return refusal(before.enabled ? 'CANNOT_UPDATE_ONBOARDING' : 'CANNOT_ENABLE_ONBOARDING');
}

function promptsOf(
  guild: Guild,
  before: readonly OnboardingPrompt[],
  drafts: readonly PromptDraft[],
  by: By,
  env: Env,
): Outcome<readonly OnboardingPrompt[], never> {
  const prompts: OnboardingPrompt[] = [];
  for (const draft of drafts) {
    const known = before.find(({ id }) => id === draft.id && !prompts.some((prompt) => prompt.id === id));
    const options: OnboardingOption[] = [];
    for (const each of draft.options) {
      const old = known?.options.find(
        ({ id }) => id === each.id && !options.some((option) => option.id === id),
      );
      const option = optionOf(guild, old ?? null, each, by, env);
      if (!option.ok) return option;
      options.push(option.value);
    }
    const { title, single_select, required, in_onboarding, type } = draft;
    prompts.push({
      ...{ id: known?.id ?? env.nextId(), title, options, type: type ?? 0 },
      single_select: single_select ?? false,
      required: required ?? false,
      in_onboarding: in_onboarding ?? false,
    });
  }
  return accepted(prompts);
}

/** A question may give only roles that its author could assign. Roles that the question gave before stay. */
function optionOf(
  guild: Guild,
  old: OnboardingOption | null,
  draft: OptionDraft,
  by: By,
  env: Env,
): Outcome<OnboardingOption, never> {
  const roleIds = [...new Set(draft.role_ids)];
  for (const roleId of roleIds) {
    const no = old?.role_ids.includes(roleId) ? null : roleRefusal(guild, by, roleId);
    if (no) return refused(no);
  }
  const channelIds = [...new Set(draft.channel_ids)];
  if (channelIds.some((id) => !guild.channels.has(id))) return refused(refusal('UNKNOWN_CHANNEL'));
  const emoji = chosenEmoji(guild, draft, old?.emoji.id);
  if (!emoji.ok) return emoji;
  return accepted({
    ...{ id: old?.id ?? env.nextId(), title: draft.title, description: draft.description ?? '' },
    emoji: emoji.value ?? { id: null, name: null, animated: false },
    ...{ role_ids: roleIds, channel_ids: channelIds },
  });
}

const AUDITED = ['default_channel_ids', 'enabled', 'mode'] as const satisfies readonly (keyof Onboarding)[];
const PROMPT_AUDITED = [
  'title',
  'options',
  'single_select',
  'required',
  'in_onboarding',
  'type',
] as const satisfies readonly (keyof OnboardingPrompt)[];

/** One entry for the onboarding, if its own settings changed, and one for each prompt. */
function entriesOf(
  guild: Guild,
  before: Onboarding | null,
  after: Onboarding,
  by: By,
  env: Env,
): AuditFact[] {
  const entries: AuditFact[] = [];
  const own = changesOf(before, after, AUDITED);
  if (own.length > 0 || !before) {
    const actionType = before ? AUDIT.ONBOARDING_UPDATE : AUDIT.ONBOARDING_CREATE;
    entries.push(auditEntry(env, by, { actionType, targetId: guild.id, changes: own }));
  }
  const was = new Map(before?.prompts.map((prompt) => [prompt.id, prompt]));
  for (const prompt of after.prompts) {
    const old = was.get(prompt.id) ?? null;
    was.delete(prompt.id);
    const changes = changesOf(old, prompt, PROMPT_AUDITED);
    const actionType = old ? AUDIT.ONBOARDING_PROMPT_UPDATE : AUDIT.ONBOARDING_PROMPT_CREATE;
    if (changes.length > 0) entries.push(auditEntry(env, by, { actionType, targetId: prompt.id, changes }));
  }
  for (const prompt of was.values()) {
    const changes = changesOf(prompt, null, PROMPT_AUDITED);
    const actionType = AUDIT.ONBOARDING_PROMPT_DELETE;
    entries.push(auditEntry(env, by, { actionType, targetId: prompt.id, changes }));
  }
  return entries;
}
