import type { APIAuditLogEntry, GatewayPresenceUpdate } from 'discord-api-types/v10';
import type {
  ApplicationId,
  AutoModerationRuleId,
  ChannelId,
  MessageId,
  RoleId,
  ScheduledEventId,
  UserId,
  WebhookId,
} from '../../protocol/ids.ts';
import type { APIRole, APIUser, GatewayVoiceState } from '../../protocol/objects.ts';
import type { EventResponse } from '../../protocol/scheduledevents.ts';
import type { ActivityFacts } from '../activity/instance.ts';
import type { Rule, RuleAction } from '../automod/rule.ts';
import type { FactOf } from '../kernel/aggregate.ts';
import type { EventException, RsvpKey, ScheduledEvent } from '../scheduledevent/event.ts';
import type { Thread, ThreadMember } from '../thread/thread.ts';
import type { Webhook } from '../webhook/webhook.ts';
import type { EmojiFacts, PlayedSound, SoundFacts, StickerFacts } from './expressions.ts';
import type {
  Ban,
  GuildChannel,
  GuildInfo,
  Invite,
  Member,
  ReactionCount,
  StageInstance,
  StoredMessage,
} from './guild.ts';
import type { JoinRequest } from './joinrequests.types.ts';
import type { OnboardingAnswers, PageChange } from './pages.types.ts';

/**
 * Everything that can happen to a guild, by topic. A fact carries complete new objects in the wire's shape, so that
 * `apply`, the dispatches and the tables need nothing else.
 */
export type InfoFacts = {
  guildCreated: {
    readonly info: GuildInfo;
    readonly roles: readonly APIRole[];
    readonly channels: readonly GuildChannel[];
    readonly owner: Member;
  };
  guildUpdated: { readonly info: GuildInfo };
  guildDeleted: { readonly memberIds: readonly UserId[] };
};

export type ChannelFacts = {
  channelCreated: { readonly channel: GuildChannel };
  channelUpdated: { readonly channel: GuildChannel };
  channelDeleted: { readonly channel: GuildChannel };
};

export type ThreadFacts = {
  /** `dueMs`: when the clock archives it, Unix milliseconds; null for never. */
  threadCreated: {
    readonly thread: Thread;
    readonly dueMs: number | null;
    readonly members: readonly ThreadMember[];
  };
  threadUpdated: { readonly thread: Thread; readonly dueMs: number | null };
  threadDeleted: { readonly thread: Thread };
  threadMembersChanged: {
    readonly threadId: ChannelId;
    readonly added: readonly ThreadMember[];
    readonly removed: readonly UserId[];
  };
  /** Messages were sent or deleted; no dispatch is sent. */
  threadCounted: {
    readonly threadId: ChannelId;
    readonly messageCount: number;
    readonly totalMessageSent: number;
    readonly dueMs: number | null;
  };
};

export type RoleFacts = {
  roleCreated: { readonly role: APIRole };
  roleUpdated: { readonly role: APIRole };
  /** `storage` and `apply` also remove the role from the members and overwrites that name it. */
  roleDeleted: { readonly roleId: RoleId };
};

export type MemberFacts = {
  /** `temporary`: the membership ends with the user's last session, unless the member has a role by then. */
  memberAdded: { readonly member: Member; readonly temporary?: true };
  memberUpdated: { readonly member: Member };
  /** `timedOutUntil`: the end of the member's latest time-out, which a rejoin does not lift. */
  memberRemoved: { readonly user: APIUser; readonly timedOutUntil?: string };
};

export type BanFacts = {
  banAdded: { readonly ban: Ban };
  banRemoved: { readonly user: APIUser };
};

export type JoinRequestFacts = {
  joinRequestWritten: { readonly request: JoinRequest };
  /** Its user has gone before anything was decided. */
  joinRequestDeleted: { readonly request: JoinRequest };
};

export type OnboardingAnswerFacts = {
  onboardingAnswered: { readonly userId: UserId; readonly answers: OnboardingAnswers };
};

export type InviteFacts = {
  inviteCreated: { readonly invite: Invite };
  inviteUsed: { readonly invite: Invite };
  inviteDeleted: { readonly code: string; readonly channelId: ChannelId };
};

export type InviteTargetFacts = {
  /** Other users than before may accept the invite. */
  inviteTargeted: { readonly invite: Invite };
};

export type WebhookFacts = {
  webhookCreated: { readonly webhook: Webhook };
  /** `movedFrom`: the channel that it was in before, if that changed. */
  webhookUpdated: { readonly webhook: Webhook; readonly movedFrom?: ChannelId };
  webhookDeleted: { readonly webhookId: WebhookId; readonly channelId: ChannelId };
};

export type CrosspostFacts = {
  /** The guild's followers must receive a message: it was published (`creates`), changed or deleted. */
  crosspostQueued: {
    readonly id: string;
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    readonly creates: boolean;
  };
  /** A channel of this guild, which follows another, has a copy of a published message. */
  crosspostCopied: {
    readonly sourceId: MessageId;
    readonly webhookId: WebhookId;
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
  };
};

/** The owner of these facts is a guild, or a private channel for direct messages. */
export type MessageFacts = {
  messageCreated: {
    readonly message: StoredMessage;
    readonly nonce: string | number | null;
    /** Additions for the dispatch and the reply: the author's member, the replied-to message. */
    readonly referenced: StoredMessage | null;
    readonly enforceNonce: boolean;
  };
  messageUpdated: { readonly message: StoredMessage };
  messageDeleted: { readonly channelId: ChannelId; readonly messageId: MessageId };
  messagesBulkDeleted: { readonly channelId: ChannelId; readonly messageIds: readonly MessageId[] };
  messagePinned: {
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    readonly pinnedMs: number;
  };
  messageUnpinned: {
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    /** Unix milliseconds of the channel's newest remaining pin; null without one. */
    readonly lastPinMs: number | null;
  };
};

export type ReactionFacts = {
  reactionAdded: {
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    readonly userId: UserId;
    readonly messageAuthorId: UserId;
    readonly emoji: ReactionCount['emoji'];
    readonly key: string;
    /** Unix milliseconds. */
    readonly atMs: number;
  };
  reactionRemoved: {
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    readonly userId: UserId;
    readonly emoji: ReactionCount['emoji'];
    readonly key: string;
  };
  reactionsCleared: { readonly channelId: ChannelId; readonly messageId: MessageId };
  reactionsEmojiCleared: {
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    readonly emoji: ReactionCount['emoji'];
    readonly key: string;
  };
};

/** One fact for each answer. The owner is a guild or a private channel. */
export type PollFacts = {
  pollVoted: {
    readonly channelId: ChannelId;
    readonly messageId: MessageId;
    readonly answerId: number;
    readonly userId: UserId;
  };
  pollUnvoted: PollFacts['pollVoted'];
};

export type AuditFacts = {
  auditLogged: { readonly entry: APIAuditLogEntry };
};

export type AutoModerationFacts = {
  autoModerationRuleCreated: { readonly rule: Rule };
  autoModerationRuleUpdated: { readonly rule: Rule };
  autoModerationRuleDeleted: { readonly rule: Rule };
  /** Never stored: a rule did something about a member. */
  autoModerationActionExecuted: { readonly execution: Execution };
  /** Never stored: patterns have read a message. */
  autoModerationWorked: { readonly units: number; readonly atMs: number };
};

/** @source https://docs.discord.com/developers/events/gateway-events#auto-moderation-action-execution */
export interface Execution {
  readonly action: RuleAction;
  readonly rule_id: AutoModerationRuleId;
  readonly rule_trigger_type: Rule['trigger_type'];
  readonly user_id: UserId;
  readonly channel_id?: ChannelId;
  /** Absent for a blocked message. */
  readonly message_id?: MessageId;
  readonly alert_system_message_id?: MessageId;
  readonly content: string;
  readonly matched_keyword: string | null;
  readonly matched_content: string | null;
}

export type StageFacts = {
  stageInstanceCreated: { readonly stage: StageInstance };
  stageInstanceUpdated: { readonly stage: StageInstance };
  stageInstanceDeleted: { readonly stage: StageInstance };
};

export type ScheduledEventFacts = {
  scheduledEventCreated: { readonly event: ScheduledEvent };
  scheduledEventUpdated: { readonly event: ScheduledEvent };
  /** The clock checks the event at another time; no dispatch is sent. */
  scheduledEventTimed: { readonly event: ScheduledEvent };
  scheduledEventDeleted: { readonly event: ScheduledEvent };
  /** An event that ended long ago is deleted; no dispatch is sent. */
  scheduledEventForgotten: { readonly eventId: ScheduledEventId };
};

/** `event` has the exceptions as they are then. */
export type EventExceptionFacts = {
  eventExceptionCreated: { readonly event: ScheduledEvent; readonly exception: EventException };
  eventExceptionUpdated: { readonly event: ScheduledEvent; readonly exception: EventException };
  eventExceptionDeleted: { readonly event: ScheduledEvent; readonly exception: EventException };
  /** All exceptions of an event end, because its rule is another one. */
  eventExceptionsDeleted: { readonly event: ScheduledEvent };
};

export type EventUserFacts = {
  /** `counted`: the user is one more of those interested in the event. */
  eventRsvpSet: RsvpKey & { readonly response: EventResponse; readonly counted: boolean };
  eventRsvpRemoved: RsvpKey & { readonly response: EventResponse; readonly counted: boolean };
};

export type PageFacts = {
  /** One of the guild's pages has new content, or is gone. */
  pageWritten: PageChange;
  /** The directory of templates has a code of this guild, or has lost it. */
  templateCodeTaken: { readonly code: string };
  templateCodeDropped: { readonly code: string };
};

/** Voice states: the next owner continues them, and ends those whose sessions have ended. */
export type VoiceStateFacts = {
  /** A null `channel_id` means left. */
  voiceStateChanged: { readonly userId: UserId; readonly voiceState: GatewayVoiceState };
  /** The stream ended with the process of the last owner; `userIds` are in its channel. The voice state is without it. */
  streamLost: {
    readonly channelId: ChannelId;
    readonly voiceState: GatewayVoiceState;
    readonly userIds: readonly UserId[];
  };
};

/** State of a voice channel, until its last member has left. */
export type VoiceChannelFacts = {
  /** A null `status` removes it. */
  voiceStatusChanged: { readonly channelId: ChannelId; readonly status: string | null };
  /** Unix milliseconds at which the first member joined; null after the last one left. */
  voiceStartChanged: { readonly channelId: ChannelId; readonly startedMs: number | null };
};

/** Never stored. */
export type EphemeralFacts = {
  typingStarted: { readonly channelId: ChannelId; readonly userId: UserId; readonly atMs: number };
  /** Null when the user went offline. */
  presenceChanged: { readonly userId: UserId; readonly presence: GatewayPresenceUpdate | null };
  /** The number of the latest update of the user's presence. */
  presenceReceived: { readonly userId: UserId; readonly n: number };
  /** The user asked for the state that holds already: the voice server is sent again. */
  voiceStateRepeated: { readonly userId: UserId };
  soundPlayed: { readonly channelId: ChannelId; readonly userId: UserId; readonly sound: PlayedSound };
};

/** The overwrites of a command, or of an application's commands, in the wire's shape. */
export interface SetPermissions {
  readonly id: string;
  readonly application_id: ApplicationId;
  readonly permissions: readonly { readonly id: string }[];
}

/** In no table; changes of commands are in the record of their command. */
export type GuildInteractionFacts = {
  /** A member used a command or a component of an application whose bot is here. */
  interactionSent: { readonly botId: UserId; readonly interaction: object };
  commandPermissionsChanged: { readonly permissions: SetPermissions };
  /** An application has come or gone. */
  integrationChanged: {
    readonly change: 'created' | 'updated' | 'deleted';
    readonly integration: { readonly id: string };
  };
  /** Commands that members can use have changed. */
  commandIndexChanged: object;
};

export type GuildActivityFacts = ActivityFacts & {
  /** A running activity in a channel has changed. Only in the record of its command. */
  activityShown: { readonly channelId: ChannelId; readonly activity: object };
};

export type GuildFacts = InfoFacts &
  ChannelFacts &
  ThreadFacts &
  RoleFacts &
  MemberFacts &
  BanFacts &
  JoinRequestFacts &
  OnboardingAnswerFacts &
  InviteFacts &
  InviteTargetFacts &
  WebhookFacts &
  CrosspostFacts &
  MessageFacts &
  ReactionFacts &
  PollFacts &
  AuditFacts &
  AutoModerationFacts &
  StageFacts &
  ScheduledEventFacts &
  EventExceptionFacts &
  EventUserFacts &
  PageFacts &
  EmojiFacts &
  StickerFacts &
  SoundFacts &
  VoiceStateFacts &
  VoiceChannelFacts &
  EphemeralFacts &
  GuildActivityFacts &
  GuildInteractionFacts;

export type GuildFact = FactOf<GuildFacts>;
