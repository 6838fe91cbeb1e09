import type { ChannelId, GuildId, RoleId, UserId } from '../ids.ts';
import {
  choice,
  flag,
  id,
  integer,
  list,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';

const blockMessageActionMetadata = object(
  {
    custom_message: optional(text),
  },
  'BlockMessageActionMetadata',
);

const blockMessageAction = object(
  {
    type: choice(1),
    metadata: blockMessageActionMetadata,
  },
  'BlockMessageAction',
);

const flagToChannelActionMetadata = object(
  {
    channel_id: id<ChannelId>(),
  },
  'FlagToChannelActionMetadata',
);

const flagToChannelAction = object(
  {
    type: choice(2),
    metadata: flagToChannelActionMetadata,
  },
  'FlagToChannelAction',
);

const quarantineUserActionMetadata = object({}, 'QuarantineUserActionMetadata');

const quarantineUserAction = object(
  {
    type: choice(4),
    metadata: quarantineUserActionMetadata,
  },
  'QuarantineUserAction',
);

const userCommunicationDisabledActionMetadata = object(
  {
    duration_seconds: integer,
  },
  'UserCommunicationDisabledActionMetadata',
);

const userCommunicationDisabledAction = object(
  {
    type: choice(3),
    metadata: userCommunicationDisabledActionMetadata,
  },
  'UserCommunicationDisabledAction',
);

const autoModerationAction = oneOf(
  blockMessageAction,
  flagToChannelAction,
  quarantineUserAction,
  userCommunicationDisabledAction,
);

/** The fields of every rule. */
const ruleFields = {
  id: id(),
  guild_id: id<GuildId>(),
  creator_id: id<UserId>(),
  name: text,
  event_type: choice(1, 2),
  actions: list(autoModerationAction),
  enabled: flag,
  exempt_roles: list(id<RoleId>()),
  exempt_channels: list(id<ChannelId>()),
};

const keywordPresetTriggerMetadata = object(
  {
    allow_list: list(text),
    presets: list(choice(1, 2, 3)),
  },
  'KeywordPresetTriggerMetadata',
);

const keywordPresetRule = object(
  {
    ...ruleFields,
    trigger_type: choice(4),
    trigger_metadata: keywordPresetTriggerMetadata,
  },
  'KeywordPresetRule',
);

const keywordFields = {
  keyword_filter: list(text),
  regex_patterns: list(text),
  allow_list: list(text),
};

const keywordTriggerMetadata = object(keywordFields, 'KeywordTriggerMetadata');

const keywordRule = object(
  {
    ...ruleFields,
    trigger_type: choice(1),
    trigger_metadata: keywordTriggerMetadata,
  },
  'KeywordRule',
);

const mentionSpamTriggerMetadata = object(
  {
    mention_total_limit: integer,
    mention_raid_protection_enabled: flag,
  },
  'MentionSpamTriggerMetadata',
);

const mentionSpamRule = object(
  {
    ...ruleFields,
    trigger_type: choice(5),
    trigger_metadata: mentionSpamTriggerMetadata,
  },
  'MentionSpamRule',
);

const spamTriggerMetadata = object({}, 'SpamTriggerMetadata');

const spamRule = object(
  {
    ...ruleFields,
    trigger_type: choice(3),
    trigger_metadata: spamTriggerMetadata,
  },
  'SpamRule',
);

const userProfileMetadata = object(keywordFields, 'UserProfileMetadata');

const userProfileRule = object(
  {
    ...ruleFields,
    trigger_type: choice(6),
    trigger_metadata: userProfileMetadata,
  },
  'UserProfileRule',
);

const autoModerationRule = oneOf(keywordPresetRule, keywordRule, mentionSpamRule, spamRule, userProfileRule);
export type AutoModerationRule = ValueOf<typeof autoModerationRule>;
export const AutoModerationRule: Schema<AutoModerationRule> = autoModerationRule;
