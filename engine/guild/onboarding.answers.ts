import { GuildMemberFlags } from 'discord-api-types/v10';
import type { GuildId, RoleId, UserId } from '../../protocol/ids.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { sameValue } from './auditing.ts';
import type { GuildFact, OnboardingAnswerFacts } from './facts.ts';
import type { Guild, Member } from './guild.ts';
import type { Onboarding, OnboardingAnswers, OnboardingPrompt } from './pages.types.ts';
import type { GuildTopic } from './topic.ts';

export interface AnswersObject {
  readonly guild_id: GuildId;
  readonly user_id: UserId;
  /** Ids of the chosen options. */
  readonly onboarding_responses: readonly string[];
  /** When the member saw each prompt and each option, Unix milliseconds. */
  readonly onboarding_prompts_seen: Readonly<Record<string, number>>;
  readonly onboarding_responses_seen: Readonly<Record<string, number>>;
}

export interface AnswersDraft {
  readonly onboarding_responses: readonly string[];
  readonly onboarding_prompts_seen?: Readonly<Record<string, number>> | null;
  readonly onboarding_responses_seen?: Readonly<Record<string, number>> | null;
}

type AnswerCommands = {
  /** Replaces the caller's answers. `isLast`: the caller has gone through the onboarding. */
  answerOnboarding: {
    input: { readonly draft: AnswersDraft; readonly isLast: boolean };
    value: AnswersObject;
  };
};

const NONE: OnboardingAnswers = { chosen: [], promptsSeen: {}, optionsSeen: {} };

/** Answers of members in the onboarding. @source https://docs.discord.food/resources/guild#update-guild-onboarding-responses */
export const onboardingAnswers: GuildTopic<AnswerCommands, keyof OnboardingAnswerFacts> = {
  commands: {
    answerOnboarding: {
      needs: (_input, _guild, by) => ({ onboardingAnswers: [by.userId] }),
      decide: answer,
    },
  },
  facts: {
    onboardingAnswered: {
      apply: (guild, { userId, answers }) => {
        guild.onboardingAnswers.set(userId, { userId, answers });
      },
      dispatches: () => [],
    },
  },
};

/** The member's answers, without prompts and options that were deleted since. */
export function answersOf(guild: Guild, page: Onboarding, userId: UserId): OnboardingAnswers {
  const { chosen, promptsSeen, optionsSeen } = guild.onboardingAnswers.get(userId)?.answers ?? NONE;
  const optionIds = idsOf(page.prompts.flatMap(({ options }) => options));
  return {
    chosen: chosen.filter((id) => optionIds.has(id)),
    promptsSeen: picked(promptsSeen, idsOf(page.prompts)),
    optionsSeen: picked(optionsSeen, optionIds),
  };
}

const idsOf = (all: readonly { readonly id: string }[]): ReadonlySet<string> =>
  new Set(all.map(({ id }) => id));

const picked = (seen: OnboardingAnswers['promptsSeen'], ids: ReadonlySet<string>) =>
  Object.fromEntries(Object.entries(seen).filter(([id]) => ids.has(id)));

function answer(
  guild: Guild,
  { draft, isLast }: AnswerCommands['answerOnboarding']['input'],
  by: By,
): Outcome<AnswersObject, GuildFact> {
  const { userId } = by;
  const member = guild.members.get(userId);
  const page = guild.pages.onboarding;
  if (!member || !page?.enabled) return refused(refusal('MISSING_PERMISSIONS'));
  // A role would end the screening of a member who has not passed it.
  if (member.pending) return refused(refusal('MISSING_PERMISSIONS'));
  const chosen = [...new Set(draft.onboarding_responses)];
  const no = choiceRefusal(page.prompts, chosen, isLast);
  if (no) return refused(no);
  const before = answersOf(guild, page, userId);
  const optionIds = idsOf(page.prompts.flatMap(({ options }) => options));
  const answers: OnboardingAnswers = {
    chosen,
    promptsSeen: {
      ...before.promptsSeen,
      ...picked(draft.onboarding_prompts_seen ?? {}, idsOf(page.prompts)),
    },
    optionsSeen: { ...before.optionsSeen, ...picked(draft.onboarding_responses_seen ?? {}, optionIds) },
  };
  const facts: GuildFact[] = [];
  if (!sameValue(answers, before)) facts.push({ type: 'onboardingAnswered', userId, answers });
  const after = withRolesOf(guild, member, before.chosen, chosen, isLast);
  if (!sameValue(after, member)) facts.push({ type: 'memberUpdated', member: after });
  return accepted(answersObject(guild.id, userId, answers), facts);
}

const answersObject = (guildId: GuildId, userId: UserId, answers: OnboardingAnswers): AnswersObject => ({
  ...{ guild_id: guildId, user_id: userId, onboarding_responses: answers.chosen },
  ...{ onboarding_prompts_seen: answers.promptsSeen, onboarding_responses_seen: answers.optionsSeen },
});

/**
 * Each chosen id must be an option of the onboarding; a prompt with one choice takes at most one. The last answer of a new member
 * must cover all required prompts.
 */
function choiceRefusal(
  prompts: readonly OnboardingPrompt[],
  chosen: readonly string[],
  isLast: boolean,
): Refusal | null {
  const no = (code: string, message: string) => invalidField(['onboarding_responses'], code, message);
  const ids = new Set(chosen);
  let known = 0;
  for (const { options, single_select, required, in_onboarding, title } of prompts) {
    const count = options.filter(({ id }) => ids.has(id)).length;
    known += count;
    if (single_select && count > 1)
      return no('BASE_TYPE_MAX_LENGTH', `Choose one option of "${title}", not ${count}.`);
    if (isLast && required && in_onboarding && count === 0)
      return no('BASE_TYPE_REQUIRED', `Choose an option of "${title}".`);
  }
  return known === chosen.length
    ? null
    : no('BASE_TYPE_CHOICES', 'An id is not that of an option of this onboarding.');
}

/**
 * The member with the roles of the chosen options, and without those of options that were chosen before. Roles that an
 * application manages are left as they are: the author of a prompt could not have given them.
 */
function withRolesOf(
  guild: Guild,
  member: Member,
  before: readonly string[],
  chosen: readonly string[],
  isLast: boolean,
): Member {
  const given = rolesOf(guild, chosen);
  const taken = rolesOf(
    guild,
    before.filter((id) => !chosen.includes(id)),
  );
  const held: readonly string[] = member.roles;
  const roles = [
    ...held.filter((id): id is RoleId => given.has(id) || !taken.has(id)),
    ...[...given].filter((id) => !held.includes(id)),
  ];
  const { StartedOnboarding, CompletedOnboarding } = GuildMemberFlags;
  const flags = member.flags | StartedOnboarding | (isLast ? CompletedOnboarding : 0);
  return { ...member, roles, flags };
}

function rolesOf(guild: Guild, optionIds: readonly string[]): ReadonlySet<string> {
  const wanted = new Set(optionIds);
  const options = guild.pages.onboarding?.prompts.flatMap((prompt) => prompt.options) ?? [];
  const ids = options.flatMap(({ id, role_ids }) => (wanted.has(id) ? role_ids : []));
  return new Set(ids.filter((id) => guild.roles.has(id) && !guild.roles.get(id)?.managed));
}
