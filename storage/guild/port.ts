import type { APIAuditLogEntry } from 'discord-api-types/v10';
import type { Rule } from '../../engine/automod/rule.ts';
import type { Emoji, ExpressionLists } from '../../engine/guild/expressions.ts';
import type {
  Ban,
  FormerMember,
  GuildChannel,
  GuildInfo,
  Invite,
  LiveVoiceChannel,
  Member,
  StageInstance,
} from '../../engine/guild/guild.ts';
import type { JoinRequest } from '../../engine/guild/joinrequests.types.ts';
import type { GuildPages, GuildTag, MemberAnswers } from '../../engine/guild/pages.types.ts';
import type { StoredThread } from '../../engine/guild/threads.state.ts';
import type { CountedEvent } from '../../engine/scheduledevent/event.ts';
import type {
  ApplicationId,
  ChannelId,
  FreshId,
  GuildId,
  JoinRequestId,
  RoleId,
  UserId,
} from '../../protocol/ids.ts';
import type { APIRole, GatewayVoiceState } from '../../protocol/objects.ts';
import type { Inactivity } from './inactive.ts';

/** The part of a guild that its actor loads: everything but members. */
export interface GuildSnapshot {
  readonly info: GuildInfo;
  readonly roles: readonly APIRole[];
  readonly channels: readonly GuildChannel[];
  /** Threads that are not archived. */
  readonly threads: readonly StoredThread[];
  readonly stageInstances: readonly StageInstance[];
  /** Users in voice, also those of an owner that has ended, without their members. */
  readonly voiceStates: readonly Omit<GatewayVoiceState, 'member'>[];
  readonly liveVoice: readonly (readonly [ChannelId, LiveVoiceChannel])[];
  readonly scheduledEvents: readonly CountedEvent[];
  /** Oldest first. */
  readonly autoModerationRules: readonly Rule[];
  readonly pages: GuildPages;
  readonly expressions: ExpressionLists;
  readonly memberCount: number;
}

export type ExpressionKind = 'emoji' | 'sticker' | 'sound' | 'application emoji';

export interface ExpressionStore {
  /** The owner of an expression: a guild or an application; null for an unknown id. */
  owner(id: string): Promise<{ readonly kind: ExpressionKind; readonly ownerId: FreshId } | null>;
  /** An application's emoji, oldest first. */
  ofApplication(applicationId: ApplicationId): Promise<Emoji[]>;
}

/** Queued updates of users whose shown tag may differ from the tag of their guild. */
export interface TagUpdate {
  readonly guildId: GuildId;
  /** Only this user, who has left the guild; null for all users who show the tag. */
  readonly userId: UserId | null;
  /** Grows with each update that is queued. */
  readonly seq: string;
}

export interface TagStore {
  /** Queued updates after this one, oldest first. */
  updates(after: TagUpdate['seq'] | null, limit: number): Promise<TagUpdate[]>;
  /** Removes an update that is done, unless it was queued again since. */
  drop(done: TagUpdate): Promise<void>;
  /** The tag of a guild; null for a guild without one, and for an unknown guild. */
  of(guildId: GuildId): Promise<GuildTag | null>;
  /** Users who show the tag of this guild, ascending. */
  users(guildId: GuildId, after: UserId | null, limit: number): Promise<UserId[]>;
}

export interface JoinRequestFilter {
  readonly statuses: readonly JoinRequest['status'][];
  readonly before?: string;
  readonly after?: string;
  readonly limit: number;
}

export interface GuildStore {
  load(guildId: GuildId): Promise<GuildSnapshot | null>;
  /** The members among `userIds`; users who are not members are omitted. */
  members(guildId: GuildId, userIds: readonly UserId[]): Promise<Member[]>;
  /** Members with ids above `after`, ascending by user id. */
  membersAfter(guildId: GuildId, after: UserId | null, limit: number): Promise<Member[]>;
  /** Members whose nick, username or display name starts with `prefix`, case-insensitively; ascending by id. */
  membersByPrefix(guildId: GuildId, prefix: string, limit: number): Promise<Member[]>;
  /** Inactive members, bots excluded, with ids above `after`, ascending. */
  inactiveMembers(
    guildId: GuildId,
    inactivity: Inactivity,
    after: UserId | null,
    limit: number,
  ): Promise<UserId[]>;
  /** The guilds among `guildIds` in whose voice the user is, with the session. */
  inVoice(
    userId: UserId,
    guildIds: readonly GuildId[],
  ): Promise<readonly { readonly id: GuildId; readonly sessionId: string }[]>;
  /** The users among `userIds` who were members before and are not now. */
  formerMembersOf(guildId: GuildId, userIds: readonly UserId[]): Promise<FormerMember[]>;
  roleMemberCounts(guildId: GuildId): Promise<ReadonlyMap<RoleId, number>>;
  bans(guildId: GuildId, page: { before?: UserId; after?: UserId; limit: number }): Promise<Ban[]>;
  bansOf(guildId: GuildId, userIds: readonly UserId[]): Promise<Ban[]>;
  /** Join requests with one of the statuses, newest first, and how many there are. */
  joinRequests(
    guildId: GuildId,
    filter: JoinRequestFilter,
  ): Promise<{ total: number; requests: JoinRequest[] }>;
  onboardingAnswersOf(guildId: GuildId, userIds: readonly UserId[]): Promise<MemberAnswers[]>;
  joinRequestsOf(guildId: GuildId, userIds: readonly UserId[]): Promise<JoinRequest[]>;
  /** The user of a join request; null for an unknown id. */
  joinRequestUser(guildId: GuildId, requestId: JoinRequestId): Promise<UserId | null>;
  /** Members who have not passed the screening, ascending by id, with ids above `after`. */
  pendingMembers(guildId: GuildId, after: UserId | null, limit: number): Promise<UserId[]>;
  /** Invites not expired at `nowMs`, of one channel or of the guild, oldest first. */
  invites(guildId: GuildId, channelId: ChannelId | null, nowMs: number): Promise<Invite[]>;
  invitesByCode(guildId: GuildId, codes: readonly string[]): Promise<Invite[]>;
  auditLog(
    guildId: GuildId,
    filter: {
      userId?: UserId;
      targetId?: string;
      actionType?: number;
      before?: string;
      after?: string;
      limit: number;
    },
  ): Promise<APIAuditLogEntry[]>;
}
