import type { ChannelId, GuildId, RoleId, UserId } from '../ids.ts';
import {
  choice,
  dict,
  flag,
  id,
  integer,
  link,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';

const guildWelcomeScreenChannel = object(
  {
    channel_id: id<ChannelId>(),
    description: text,
    emoji_id: nullable(id()),
    emoji_name: nullable(text),
  },
  'GuildWelcomeScreenChannel',
);

const guildWelcomeScreen = object(
  {
    description: nullable(text),
    welcome_channels: list(guildWelcomeScreenChannel),
  },
  'GuildWelcomeScreen',
);
export interface GuildWelcomeScreen extends ValueOf<typeof guildWelcomeScreen> {}
export const GuildWelcomeScreen: Schema<GuildWelcomeScreen> = guildWelcomeScreen;

const settingsEmoji = object(
  {
    id: nullable(id()),
    name: nullable(text),
    animated: flag,
  },
  'SettingsEmoji',
);

const newMemberAction = object(
  {
    channel_id: id<ChannelId>(),
    action_type: choice(0, 1),
    title: text,
    description: text,
    emoji: optional(settingsEmoji),
  },
  'NewMemberAction',
);

const resourceChannel = object(
  {
    channel_id: id<ChannelId>(),
    title: text,
    emoji: optional(settingsEmoji),
    description: text,
  },
  'ResourceChannel',
);

const welcomeMessage = object(
  {
    author_ids: list(id<UserId>()),
    message: text,
  },
  'WelcomeMessage',
);

const newMemberWelcome = object(
  {
    guild_id: id<GuildId>(),
    enabled: flag,
    welcome_message: optional(welcomeMessage),
    new_member_actions: list(newMemberAction),
    resource_channels: list(resourceChannel),
  },
  'NewMemberWelcome',
);
export interface NewMemberWelcome extends ValueOf<typeof newMemberWelcome> {}
export const NewMemberWelcome: Schema<NewMemberWelcome> = newMemberWelcome;

const onboardingPromptOption = object(
  {
    id: id(),
    title: text,
    description: text,
    emoji: settingsEmoji,
    role_ids: list(id<RoleId>()),
    channel_ids: list(id<ChannelId>()),
  },
  'OnboardingPromptOption',
);

const onboardingPrompt = object(
  {
    id: id(),
    title: text,
    options: list(onboardingPromptOption),
    single_select: flag,
    required: flag,
    in_onboarding: flag,
    type: choice(0, 1),
  },
  'OnboardingPrompt',
);

const onboardingFields = {
  guild_id: id<GuildId>(),
  prompts: list(onboardingPrompt),
  default_channel_ids: list(id<ChannelId>()),
  enabled: flag,
  mode: choice(0, 1),
};
const onboarding = object(onboardingFields, 'Onboarding');
export interface Onboarding extends ValueOf<typeof onboarding> {}
export const Onboarding: Schema<Onboarding> = onboarding;

const ownOnboarding = object(
  {
    ...onboardingFields,
    onboarding_prompts_seen: optional(dict(integer)),
    onboarding_responses_seen: optional(dict(integer)),
    responses: optional(list(id())),
  },
  'OwnOnboarding',
);
export interface OwnOnboarding extends ValueOf<typeof ownOnboarding> {}
export const OwnOnboarding: Schema<OwnOnboarding> = ownOnboarding;

const targetUsersJobStatus = object(
  {
    status: choice(0, 1, 2, 3),
    total_users: integer,
    processed_users: integer,
    created_at: nullable(time),
    completed_at: nullable(time),
    error_message: nullable(text),
  },
  'TargetUsersJobStatus',
);
export interface TargetUsersJobStatus extends ValueOf<typeof targetUsersJobStatus> {}
export const TargetUsersJobStatus: Schema<TargetUsersJobStatus> = targetUsersJobStatus;

const widgetChannel = object(
  {
    id: id(),
    name: text,
    position: integer,
  },
  'WidgetChannel',
);

const widgetActivity = object(
  {
    name: text,
  },
  'WidgetActivity',
);

const widgetMember = object(
  {
    id: text,
    username: text,
    discriminator: choice('0000'),
    avatar: nullable(text),
    status: text,
    avatar_url: link,
    activity: optional(widgetActivity),
    deaf: optional(flag),
    mute: optional(flag),
    self_deaf: optional(flag),
    self_mute: optional(flag),
    suppress: optional(flag),
    channel_id: optional(id<ChannelId>()),
  },
  'WidgetMember',
);

const widget = object(
  {
    id: id<GuildId>(),
    name: text,
    instant_invite: nullable(text),
    channels: list(widgetChannel),
    members: list(widgetMember),
    presence_count: integer,
  },
  'Widget',
);
export interface Widget extends ValueOf<typeof widget> {}
export const Widget: Schema<Widget> = widget;

const widgetSettings = object(
  {
    enabled: flag,
    channel_id: nullable(id<ChannelId>()),
  },
  'WidgetSettings',
);
export interface WidgetSettings extends ValueOf<typeof widgetSettings> {}
export const WidgetSettings: Schema<WidgetSettings> = widgetSettings;
