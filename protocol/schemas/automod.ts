import type { ChannelId, GuildId, RoleId, UserId } from '../ids.ts';
import {
  choice,
  flag,
  id,
  list,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  type ValueOf,
  whole,
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
    duration_seconds: whole,
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

const keywordPresetTriggerMetadata = object(
  {
    allow_list: list(text),
    presets: list(choice(1, 2, 3)),
  },
  'KeywordPresetTriggerMetadata',
);

const keywordPresetRule = object(
  {
    id: id(),
    guild_id: id<GuildId>(),
    creator_id: id<UserId>(),
    name: text,
    event_type: choice(1, 2),
    actions: list(autoModerationAction),
    trigger_type: choice(4),
    enabled: flag,
    exempt_roles: list(id<RoleId>()),
    exempt_channels: list(id<ChannelId>()),
    trigger_metadata: keywordPresetTriggerMetadata,
  },
  'KeywordPresetRule',
);

const keywordTriggerMetadata = object(
  {
    keyword_filter: list(text),
    regex_patterns: list(text),
    allow_list: list(text),
  },
  'KeywordTriggerMetadata',
);

const keywordRule = object(
  {
    id: id(),
    guild_id: id<GuildId>(),
    creator_id: id<UserId>(),
    name: text,
    event_type: choice(1, 2),
    actions: list(autoModerationAction),
    trigger_type: choice(1),
    enabled: flag,
    exempt_roles: list(id<RoleId>()),
    exempt_channels: list(id<ChannelId>()),
    trigger_metadata: keywordTriggerMetadata,
  },
  'KeywordRule',
);

const mentionSpamTriggerMetadata = object(
  {
    mention_total_limit: whole,
    mention_raid_protection_enabled: flag,
  },
  'MentionSpamTriggerMetadata',
);

const mentionSpamRule = object(
  {
    id: id(),
    guild_id: id<GuildId>(),
    creator_id: id<UserId>(),
    name: text,
    event_type: choice(1, 2),
    actions: list(autoModerationAction),
    trigger_type: choice(5),
    enabled: flag,
    exempt_roles: list(id<RoleId>()),
    exempt_channels: list(id<ChannelId>()),
    trigger_metadata: mentionSpamTriggerMetadata,
  },
  'MentionSpamRule',
);

const spamTriggerMetadata = object({}, 'SpamTriggerMetadata');

const spamRule = object(
  {
    id: id(),
    guild_id: id<GuildId>(),
    creator_id: id<UserId>(),
    name: text,
    event_type: choice(1, 2),
    actions: list(autoModerationAction),
    trigger_type: choice(3),
    enabled: flag,
    exempt_roles: list(id<RoleId>()),
    exempt_channels: list(id<ChannelId>()),
    trigger_metadata: spamTriggerMetadata,
  },
  'SpamRule',
);

const userProfileMetadata = object(
  {
    keyword_filter: list(text),
    regex_patterns: list(text),
    allow_list: list(text),
  },
  'UserProfileMetadata',
);

const userProfileRule = object(
  {
    id: id(),
    guild_id: id<GuildId>(),
    creator_id: id<UserId>(),
    name: text,
    event_type: choice(1, 2),
    actions: list(autoModerationAction),
    trigger_type: choice(6),
    enabled: flag,
    exempt_roles: list(id<RoleId>()),
    exempt_channels: list(id<ChannelId>()),
    trigger_metadata: userProfileMetadata,
  },
  'UserProfileRule',
);

const autoModerationRule = oneOf(keywordPresetRule, keywordRule, mentionSpamRule, spamRule, userProfileRule);
export type AutoModerationRule = ValueOf<typeof autoModerationRule>;
export const AutoModerationRule: Schema<AutoModerationRule> = autoModerationRule;
