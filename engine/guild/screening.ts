import { GuildMemberFlags } from 'discord-api-types/v10';
import type { UserId } from '../../protocol/ids.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { Env } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildInfo, Member } from './guild.ts';
import type { JoinRequest } from './joinrequests.types.ts';

/** The feature of a guild that asks new members to answer its form. */
export const SCREENING = 'MEMBER_VERIFICATION_GATE_ENABLED';

const isScreened = ({ features }: GuildInfo): boolean => features.includes(SCREENING);

/** Members with their join requests, where the guild has any. */
export const withRequests = ({ info }: Guild, userIds: readonly UserId[]): Needs =>
  isScreened(info) ? { members: userIds, joinRequests: userIds } : { members: userIds };

/** Bots, members with a role and members with the flag need not answer the form. */
const isExempt = ({ user, roles, flags }: Member): boolean =>
  user.bot === true || roles.length > 0 || (flags & GuildMemberFlags.BypassesVerification) !== 0;

/** A new member as the guild's screening takes it in. */
export const screened = ({ info }: Guild, member: Member): Member =>
  isScreened(info) && !isExempt(member) ? { ...member, pending: true } : member;

/** A member after a change. A member who no longer needs screening is not pending. */
export const unscreened = (member: Member): Member =>
  member.pending && isExempt(member) ? { ...member, pending: false } : member;

/** The request of a user who joins now. */
export const newRequest = ({ user }: Member, env: Env): JoinRequest => ({
  id: env.nextId(),
  user,
  status: 'STARTED',
  created_at: isoTimestamp(env.nowMs),
  ...{ reviewed_at: null, rejection_reason: null, form_responses: null, actioned_by_user: null },
});

/** The member's request while nothing is decided; null otherwise. */
export function openRequest(guild: Guild, userId: UserId): JoinRequest | null {
  const request = guild.joinRequests.get(userId);
  return request?.status === 'STARTED' || request?.status === 'SUBMITTED' ? request : null;
}

/** The request as a moderator leaves it. */
export const decidedBy = (
  guild: Guild,
  request: JoinRequest,
  status: 'APPROVED' | 'REJECTED',
  by: By,
  env: Env,
): JoinRequest => ({
  ...request,
  status,
  reviewed_at: isoTimestamp(env.nowMs),
  actioned_by_user: guild.members.get(by.userId)?.user ?? null,
});

/** Closes the open request when a change ends the member's screening. */
export function admissionFacts(
  guild: Guild,
  before: Member,
  after: Member,
  by: By,
  env: Env,
): readonly GuildFact[] {
  const request = before.pending && !after.pending ? openRequest(guild, after.user.id) : null;
  return request
    ? [{ type: 'joinRequestWritten', request: decidedBy(guild, request, 'APPROVED', by, env) }]
    : [];
}

/** Closes the open request when the member leaves. */
export function withdrawal(guild: Guild, { user, pending }: Member): readonly GuildFact[] {
  const request = pending ? openRequest(guild, user.id) : null;
  return request ? [{ type: 'joinRequestDeleted', request }] : [];
}
