import type { ChannelId, RoleId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { MemberVerification } from './joinrequests.types.ts';

/** The welcome screen for a new member: some channels with a word about each. */
export interface WelcomeScreen {
  readonly description: string | null;
  readonly welcome_channels: readonly WelcomeChannel[];
}

export interface WelcomeChannel {
  readonly channel_id: ChannelId;
  readonly description: string;
  readonly emoji_id: string | null;
  readonly emoji_name: string | null;
}

/** Measures against a raid, each until a time; null for one that does not apply. */
export interface Incidents {
  readonly invites_disabled_until: string | null;
  readonly dms_disabled_until: string | null;
}

/** Questions to a new member, whose answers give roles and channels. */
export interface Onboarding {
  readonly prompts: readonly OnboardingPrompt[];
  readonly default_channel_ids: readonly ChannelId[];
  readonly enabled: boolean;
  /** 0: only default channels count for the requirements; 1: channels of the prompts too. */
  readonly mode: 0 | 1;
}

/** A member's onboarding answers, and when each prompt and option was seen, Unix milliseconds. */
export interface OnboardingAnswers {
  readonly chosen: readonly string[];
  readonly promptsSeen: Readonly<Record<string, number>>;
  readonly optionsSeen: Readonly<Record<string, number>>;
}

export interface MemberAnswers {
  readonly userId: UserId;
  readonly answers: OnboardingAnswers;
}

export interface OnboardingPrompt {
  readonly id: string;
  readonly title: string;
  readonly options: readonly OnboardingOption[];
  readonly single_select: boolean;
  readonly required: boolean;
  readonly in_onboarding: boolean;
  /** 0: multiple choice; 1: a drop-down list. */
  readonly type: 0 | 1;
}

export interface OnboardingOption {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly emoji: { readonly id: string | null; readonly name: string | null; readonly animated: boolean };
  readonly role_ids: readonly RoleId[];
  readonly channel_ids: readonly ChannelId[];
}

/** The guild's template: a snapshot of its roles and channels under a public code. */
export interface GuildTemplate {
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly usage_count: number;
  readonly creator_id: UserId;
  readonly creator: APIUser | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly serialized_source_guild: TemplateSnapshot;
}

/** A guild without identities: roles and channels have small numbers for ids, and refer to each other by them. */
export interface TemplateSnapshot {
  readonly name: string;
  readonly afk_channel_id: string | null;
  readonly system_channel_id: string | null;
  readonly roles: readonly TemplateRole[];
  readonly channels: readonly TemplateChannel[];
}

export interface TemplateRole {
  /** 0 for @everyone. */
  readonly id: number;
  readonly name: string;
  readonly permissions: string;
  readonly color: number;
  readonly colors: {
    readonly primary_color: number;
    readonly secondary_color: number | null;
    readonly tertiary_color: number | null;
  };
  readonly hoist: boolean;
  readonly mentionable: boolean;
  readonly icon: null;
  readonly unicode_emoji: string | null;
}

/** Besides these it has the fields of its type. */
export interface TemplateChannel {
  readonly id: number;
  readonly type: number;
  readonly name: string | null;
  readonly position: number;
  readonly parent_id: string | null;
  readonly available_tags: readonly object[] | null;
  readonly permission_overwrites: readonly {
    readonly id: string;
    readonly type: number;
    readonly allow: string;
    readonly deny: string;
  }[];
}

/** A channel in the guide of a guild. */
export interface GuideChannel {
  readonly channel_id: ChannelId;
  readonly title: string;
  readonly description: string;
  readonly emoji?: { readonly id: string | null; readonly name: string | null; readonly animated: boolean };
}

/** A task for a new member. 0: look at the channel; 1: write in it. */
export interface NewMemberAction extends GuideChannel {
  readonly action_type: 0 | 1;
}

/** The tag that members may show behind their names in every guild. */
export interface GuildTag {
  /** One to four characters. */
  readonly tag: string;
  /** Hash of the image. */
  readonly badge: string | null;
}

/** The guide of a guild for its new members. */
export interface NewMemberWelcome {
  readonly enabled: boolean;
  readonly welcome_message?: { readonly author_ids: readonly UserId[]; readonly message: string };
  readonly new_member_actions: readonly NewMemberAction[];
  readonly resource_channels: readonly GuideChannel[];
}

/** The invite that the guild's widget shows. */
interface WidgetPage {
  readonly invite_code: string;
}

/** Pages of a guild by name; a page that was never written is absent. */
export interface GuildPages {
  readonly welcome_screen?: WelcomeScreen;
  readonly widget?: WidgetPage;
  readonly incidents?: Incidents;
  readonly onboarding?: Onboarding;
  readonly template?: GuildTemplate;
  readonly member_verification?: MemberVerification;
  readonly new_member_welcome?: NewMemberWelcome;
  readonly tag?: GuildTag;
}

/** A page with its new content; null removes it. */
export type PageChange = {
  [Page in keyof GuildPages]-?: {
    readonly page: Page;
    readonly data: NonNullable<GuildPages[Page]> | null;
  };
}[keyof GuildPages];
