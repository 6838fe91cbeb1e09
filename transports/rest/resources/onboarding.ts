import type { ChannelId, RoleId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { OnboardingAnswers } from '../../../protocol/schemas/extension.ts';
import { NewMemberWelcome, Onboarding, OwnOnboarding } from '../../../protocol/schemas/guildpages.ts';
import {
  Arr,
  Bool,
  Choice,
  Dict,
  Nullable,
  Num,
  Obj,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Bucket, op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READS = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const WRITES = { per: 'guild_id', limit: 5, windowMs: 10_000 } as const;

const Option = Obj({
  id: Optional(Nullable(Snowflake())),
  title: Str(1, LIMITS.onboarding_option_title_chars_max),
  description: Optional(Nullable(Str(0, LIMITS.onboarding_option_description_chars_max))),
  emoji_id: Optional(Nullable(Snowflake())),
  emoji_name: Optional(Nullable(Str(0, LIMITS.emoji_text_chars_max))),
  emoji_animated: Optional(Nullable(Bool())),
  role_ids: Optional(Nullable(Arr(Snowflake<RoleId>(), LIMITS.onboarding_option_roles_max))),
  channel_ids: Optional(Nullable(Arr(Snowflake<ChannelId>(), LIMITS.onboarding_option_channels_max))),
});

const Prompt = Obj({
  id: Snowflake(),
  title: Str(1, LIMITS.onboarding_prompt_title_chars_max),
  options: Arr(Option, LIMITS.onboarding_options_max, 1),
  single_select: Optional(Nullable(Bool())),
  required: Optional(Nullable(Bool())),
  in_onboarding: Optional(Nullable(Bool())),
  type: Optional(Nullable(Choice(0, 1))),
});

export const onboarding = resource({
  get_guilds_onboarding: op({
    method: 'GET',
    path: '/guilds/:guild_id/onboarding',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: OwnOnboarding,
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'getOnboarding', {}, authority),
  }),

  put_guilds_onboarding: op({
    method: 'PUT',
    path: '/guilds/:guild_id/onboarding',
    auth: 'any',
    permission: P.MANAGE_GUILD | P.MANAGE_ROLES,
    bucket: WRITES,
    bodyBytesMax: BODY_BYTES.onboarding,
    body: Obj({
      prompts: Optional(Nullable(Arr(Prompt, LIMITS.onboarding_prompts_max))),
      enabled: Optional(Nullable(Bool())),
      default_channel_ids: Optional(Nullable(Arr(Snowflake<ChannelId>(), LIMITS.channels_per_guild_max))),
      mode: Optional(Nullable(Choice(0, 1))),
    }),
    status: 200,
    reply: Onboarding,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'putOnboarding', { draft }, authority),
  }),

  get_guild_new_member_welcome: op({
    method: 'GET',
    path: '/guilds/:guild_id/new-member-welcome',
    auth: 'any',
    bucket: READS,
    status: 200,
    reply: NewMemberWelcome,
    also: { 204: none },
    handle: async ({ params, authority }, { guilds }) => {
      const reply = await guilds.call(params.guild_id, 'getNewMemberWelcome', {}, authority);
      return reply.ok && reply.value === null ? { ok: true, status: 204 } : reply;
    },
  }),
});

const GuideChannel = {
  channel_id: Snowflake<ChannelId>(),
  title: Str(1, LIMITS.guide_title_chars_max),
  description: Optional(Nullable(Str(0, LIMITS.guide_description_chars_max))),
  emoji: Optional(
    Nullable(
      Obj({
        id: Optional(Nullable(Snowflake())),
        name: Optional(Nullable(Str(0, LIMITS.emoji_text_chars_max))),
      }),
    ),
  ),
};

const OPTIONS_MAX = LIMITS.onboarding_prompts_max * LIMITS.onboarding_options_max;
const Seen = (max: number) => Optional(Nullable(Dict(Num(0, Number.MAX_SAFE_INTEGER), max)));
const Answers = Obj({
  onboarding_responses: Arr(Snowflake(), OPTIONS_MAX),
  onboarding_prompts_seen: Seen(LIMITS.onboarding_prompts_max),
  onboarding_responses_seen: Seen(OPTIONS_MAX),
});
const ANSWERS: Bucket = { per: 'guild_id', limit: 10, windowMs: 10_000 };

/** How people's own clients answer the onboarding and write the guide. @source https://docs.discord.food/resources/guild#modify-guild-new-member-welcome */
export const onboardingUnlisted = resource({
  submit_guild_onboarding_responses: op({
    method: 'POST',
    path: '/guilds/:guild_id/onboarding-responses',
    auth: 'user',
    bucket: ANSWERS,
    bodyBytesMax: BODY_BYTES.texts,
    body: Answers,
    status: 200,
    reply: OnboardingAnswers,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'answerOnboarding', { draft, isLast: true }, authority),
  }),

  update_guild_onboarding_responses: op({
    method: 'PUT',
    path: '/guilds/:guild_id/onboarding-responses',
    auth: 'user',
    bucket: ANSWERS,
    bodyBytesMax: BODY_BYTES.texts,
    body: Answers,
    status: 200,
    reply: OnboardingAnswers,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'answerOnboarding', { draft, isLast: false }, authority),
  }),

  update_guild_new_member_welcome: op({
    method: 'PUT',
    path: '/guilds/:guild_id/new-member-welcome',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITES,
    body: Obj({
      enabled: Optional(Nullable(Bool())),
      welcome_message: Optional(
        Nullable(
          Obj({
            author_ids: Arr(Snowflake<UserId>(), LIMITS.guide_authors_max),
            message: Str(1, LIMITS.guide_message_chars_max),
          }),
        ),
      ),
      new_member_actions: Optional(
        Nullable(Arr(Obj({ ...GuideChannel, action_type: Choice(0, 1) }), LIMITS.guide_actions_max)),
      ),
      resource_channels: Optional(Nullable(Arr(Obj(GuideChannel), LIMITS.guide_channels_max))),
    }),
    status: 200,
    reply: NewMemberWelcome,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'putNewMemberWelcome', { draft }, authority),
  }),
});
