import type { ChannelId, RoleId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import { P } from '../../../protocol/permissions.ts';
import { AutoModerationRule } from '../../../protocol/schemas/automod.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  Str,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import { BODY_BYTES } from '../bodysize.ts';
import { type Bucket, op, resource } from '../operation.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ: Bucket = { per: 'guild_id', limit: 10, windowMs: 5_000 };
const WRITE: Bucket = { per: 'guild_id', limit: 10, windowMs: 10_000 };

const Words = (max: number, chars: number = LIMITS.automod_keyword_chars_max) =>
  Optional(Nullable(Arr(Str(1, chars), max)));

/** The metadata of all triggers; which fields count, and some bounds, depend on the trigger of the rule. */
const Metadata = Obj({
  keyword_filter: Words(LIMITS.automod_keywords_max),
  regex_patterns: Words(LIMITS.automod_regexes_max, LIMITS.automod_regex_chars_max),
  allow_list: Words(LIMITS.automod_preset_allowed_max),
  presets: Optional(Nullable(Arr(Choice(1, 2, 3), 3))),
  mention_total_limit: Optional(Nullable(Int(0, LIMITS.automod_mentions_max))),
  mention_raid_protection_enabled: Optional(Nullable(Bool())),
});

/** The metadata of all actions; which fields count depends on the type of the action. */
const Action = Obj({
  type: Choice(1, 2, 3, 4),
  metadata: Optional(
    Nullable(
      Obj({
        custom_message: Optional(Nullable(Str(0, LIMITS.automod_custom_message_chars_max))),
        channel_id: Optional(Nullable(Snowflake<ChannelId>())),
        duration_seconds: Optional(Nullable(Int(0, LIMITS.automod_timeout_sec_max))),
      }),
    ),
  ),
});

// The platform allows an empty name.
const Name = Str(0, LIMITS.automod_name_chars_max);
const Event = Choice(1, 2);
const Trigger = Choice(1, 3, 4, 5, 6);
const COMMON = {
  trigger_metadata: Optional(Nullable(Metadata)),
  actions: Optional(Nullable(Arr(Action, LIMITS.automod_actions_max, 1))),
  enabled: Optional(Nullable(Bool())),
  exempt_roles: Optional(Nullable(Arr(Snowflake<RoleId>(), LIMITS.automod_exempt_roles_max))),
  exempt_channels: Optional(Nullable(Arr(Snowflake<ChannelId>(), LIMITS.automod_exempt_channels_max))),
};

/** Operations on the rules of auto moderation. */
export const autoModeration = resource({
  list_auto_moderation_rules: op({
    method: 'GET',
    path: '/guilds/:guild_id/auto-moderation/rules',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: READ,
    status: 200,
    reply: list(AutoModerationRule),
    handle: async ({ params, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'listAutoModerationRules', {}, authority),
  }),
  get_auto_moderation_rule: op({
    method: 'GET',
    path: '/guilds/:guild_id/auto-moderation/rules/:rule_id',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: READ,
    status: 200,
    reply: AutoModerationRule,
    handle: async ({ params: { guild_id: guildId, rule_id: ruleId }, authority }, { guilds }) =>
      await guilds.call(guildId, 'getAutoModerationRule', { ruleId }, authority),
  }),
  create_auto_moderation_rule: op({
    method: 'POST',
    path: '/guilds/:guild_id/auto-moderation/rules',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.words,
    body: Obj({ name: Name, event_type: Event, trigger_type: Trigger, ...COMMON }),
    status: 200,
    reply: AutoModerationRule,
    handle: async ({ params, body: draft, authority }, { guilds }) =>
      await guilds.call(params.guild_id, 'createAutoModerationRule', { draft }, authority),
  }),
  update_auto_moderation_rule: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/auto-moderation/rules/:rule_id',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITE,
    bodyBytesMax: BODY_BYTES.words,
    body: Obj({
      name: Optional(Name),
      event_type: Optional(Event),
      trigger_type: Optional(Trigger),
      ...COMMON,
    }),
    status: 200,
    reply: AutoModerationRule,
    handle: async ({ params: { guild_id: guildId, rule_id: ruleId }, body: draft, authority }, { guilds }) =>
      await guilds.call(guildId, 'updateAutoModerationRule', { ruleId, draft }, authority),
  }),
  delete_auto_moderation_rule: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/auto-moderation/rules/:rule_id',
    auth: 'any',
    permission: P.MANAGE_GUILD,
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params: { guild_id: guildId, rule_id: ruleId }, authority }, { guilds }) =>
      guilds.call(guildId, 'deleteAutoModerationRule', { ruleId }, authority),
  }),
});
