import type { ChannelId, GuildId, RoleId, UserId } from '../ids.ts';
import {
  flag,
  id,
  integer,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User, UserAvatarDecoration, UserCollectibles } from './user.ts';

const ban = object(
  {
    user: User,
    reason: nullable(text),
  },
  'Ban',
);
export interface Ban extends ValueOf<typeof ban> {}
export const Ban: Schema<Ban> = ban;

const bulkBanUsers = object(
  {
    banned_users: list(id<UserId>()),
    failed_users: list(id<UserId>()),
  },
  'BulkBanUsers',
);
export interface BulkBanUsers extends ValueOf<typeof bulkBanUsers> {}
export const BulkBanUsers: Schema<BulkBanUsers> = bulkBanUsers;

/** A member without its user. */
const memberFields = {
  avatar: nullable(text),
  avatar_decoration_data: optional(nullable(UserAvatarDecoration)),
  banner: nullable(text),
  communication_disabled_until: nullable(time),
  flags: integer,
  joined_at: time,
  nick: nullable(text),
  pending: flag,
  premium_since: nullable(time),
  roles: list(id<RoleId>()),
  collectibles: optional(nullable(UserCollectibles)),
  mute: flag,
  deaf: flag,
};

const interactionMember = object(memberFields, 'InteractionMember');
export interface InteractionMember extends ValueOf<typeof interactionMember> {}
export const InteractionMember: Schema<InteractionMember> = interactionMember;

const member = object(
  {
    ...memberFields,
    user: User,
  },
  'Member',
);
export interface Member extends ValueOf<typeof member> {}
export const Member: Schema<Member> = member;

const pruneResult = object(
  {
    pruned: nullable(integer),
  },
  'PruneResult',
);
export interface PruneResult extends ValueOf<typeof pruneResult> {}
export const PruneResult: Schema<PruneResult> = pruneResult;

const threadMember = object(
  {
    id: id(),
    user_id: id<UserId>(),
    join_timestamp: time,
    flags: integer,
    member: optional(Member),
  },
  'ThreadMember',
);
export interface ThreadMember extends ValueOf<typeof threadMember> {}
export const ThreadMember: Schema<ThreadMember> = threadMember;

const voiceState = object(
  {
    channel_id: nullable(id<ChannelId>()),
    deaf: flag,
    guild_id: nullable(id<GuildId>()),
    member: optional(Member),
    mute: flag,
    request_to_speak_timestamp: nullable(time),
    suppress: flag,
    self_stream: nullable(flag),
    self_deaf: flag,
    self_mute: flag,
    self_video: flag,
    session_id: text,
    user_id: id<UserId>(),
  },
  'VoiceState',
);
export interface VoiceState extends ValueOf<typeof voiceState> {}
export const VoiceState: Schema<VoiceState> = voiceState;
