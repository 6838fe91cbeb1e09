import { GuildMemberFlags, GuildSystemChannelFlags } from 'discord-api-types/v10';
import { MESSAGE } from '../../protocol/channeltypes.ts';
import type { RoleId, UserId } from '../../protocol/ids.ts';
import { type APIUser, NO_FLAGS } from '../../protocol/objects.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { systemMessage } from '../channel/messages.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { Needs } from '../kernel/needs.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, Member } from './guild.ts';
import { ownRole, roleEnd } from './roles.ts';
import { newRequest, screened, withdrawal } from './screening.ts';
import { leftVoice } from './voice.states.ts';

/** Initial values that a join may set; all other fields have fixed ones. */
interface NewMember {
  readonly user: APIUser;
  readonly nick?: string | null;
  readonly roles?: readonly RoleId[];
  readonly mute?: boolean;
  readonly deaf?: boolean;
}

/** A member who joins now, with every field that the wire requires. */
export function newMember(from: NewMember, nowMs: number): Member {
  return {
    user: from.user,
    nick: from.nick ?? null,
    avatar: null,
    banner: null,
    roles: [...(from.roles ?? [])],
    joined_at: isoTimestamp(nowMs),
    premium_since: null,
    deaf: from.deaf ?? false,
    mute: from.mute ?? false,
    flags: NO_FLAGS,
    pending: false,
    communication_disabled_until: null,
  };
}

/** The rows of a user that commands for joining need. */
export const joining = (userId: UserId): Needs => ({
  ...{ members: [userId], formerMembers: [userId], bans: [userId], users: [userId] },
});

/**
 * A user as a member who joins now. A former member keeps a time-out that has not ended, and gets the flag DID_REJOIN; the guild's
 * screening applies. The command needs `joining`.
 */
export function admitted(guild: Guild, from: NewMember, nowMs: number): Member {
  const member = newMember(from, nowMs);
  const former = guild.formerMembers.get(from.user.id);
  if (!former) return screened(guild, member);
  const { timedOutUntil: until } = former;
  return screened(guild, {
    ...member,
    flags: member.flags | GuildMemberFlags.DidRejoin,
    communication_disabled_until: until !== null && Date.parse(until) > nowMs ? until : null,
  });
}

/** Why a user may not become a member by any means; null when allowed. */
export function admissionRefusal(guild: Guild, userId: UserId): Refusal | null {
  if (guild.bans.get(userId)) return refusal('USER_BANNED');
  return guild.memberCount >= guild.info.max_members ? refusal('MAXIMUM_MEMBERS') : null;
}

/** The facts of a join: the member, the request of a pending one, and the join message where the guild has one. */
export function joinFacts(guild: Guild, member: Member, env: Env, temporary = false): GuildFact[] {
  const facts: GuildFact[] = [{ type: 'memberAdded', member, ...(temporary ? { temporary } : {}) }];
  if (member.pending) facts.push({ type: 'joinRequestWritten', request: newRequest(member, env) });
  const channelId = guild.info.system_channel_id;
  const silent = guild.info.system_channel_flags & GuildSystemChannelFlags.SuppressJoinNotifications;
  if (channelId === null || silent || !guild.channels.has(channelId)) return facts;
  return [...facts, systemMessage(env, channelId, MESSAGE.USER_JOIN, member.user)];
}

/**
 * The facts of leaving for any reason: voice first, so that no voice state of a non-member remains. A bot's own role
 * is deleted too, because no user can delete a managed role.
 */
export function leaveFacts(guild: Guild, member: Member): GuildFact[] {
  const userId = member.user.id;
  const voice = guild.voiceStates.get(userId);
  const facts: GuildFact[] = [...withdrawal(guild, member)];
  if (voice) facts.push({ type: 'voiceStateChanged', userId, voiceState: leftVoice(voice, member) });
  const timedOutUntil = member.communication_disabled_until ?? null;
  facts.push({ type: 'memberRemoved', user: member.user, ...(timedOutUntil && { timedOutUntil }) });
  const own = member.user.bot ? ownRole(guild, userId) : null;
  return own ? [...facts, ...roleEnd(guild, own.id)] : facts;
}
