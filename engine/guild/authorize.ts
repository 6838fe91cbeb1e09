import { GuildMemberFlags } from 'discord-api-types/v10';
import { THREADS } from '../../protocol/channeltypes.ts';
import { snowflakeMs } from '../../protocol/ids.ts';
import type { APIRole } from '../../protocol/objects.ts';
import { ALL_PERMISSIONS, P, TWO_FACTOR_PERMISSIONS } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { CreateInput } from '../channel/draft.ts';
import { type Aggregate, type Commands, type Env, refused } from '../kernel/aggregate.ts';
import type { Authority, By } from '../kernel/authority.ts';
import type { Needs } from '../kernel/needs.ts';
import {
  channelIn,
  channelPermissions,
  guildPermissions,
  holds,
  mayOnlyRead,
  outranksRole,
  standingPermissions,
} from '../permissions/permissions.ts';
import type { Guild, GuildChannel } from './guild.ts';
import type { GuildShape } from './topic.ts';

/** Whether the guild withholds moderation permissions from a caller without a second factor. */
const withholds = ({ info }: Guild, { secondFactor }: By): boolean =>
  info.mfa_level === 1 && secondFactor === 'none';

/** Whether a decision depends on the caller's second factor, which is not loaded. The server then loads it and repeats the command. */
const asksForFactor = (guild: Guild, { userId, secondFactor }: By): boolean =>
  secondFactor === 'unknown' &&
  guild.info.mfa_level === 1 &&
  (standingPermissions(guild, userId) & TWO_FACTOR_PERMISSIONS) !== 0n;

/** Loads the caller's member, and the thread that the command is about: permissions depend on both. */
export function withCaller(needs: Needs, { channels }: Guild, { by, channelId }: Authority): Needs {
  const isThread = channelId !== undefined && !channels.has(channelId);
  const all = isThread ? { ...needs, threads: [channelId, ...(needs.threads ?? [])] } : needs;
  return by.system ? all : { ...all, members: [by.userId, ...(all.members ?? [])] };
}

/** Checked before every command's own rule. */
export const callerRefusal = (
  guild: Guild,
  { row, authority }: { readonly row: GuildShape['row']; readonly authority: Authority },
  env: Env,
): Refusal | null => forbidden(guild, authority, env, row);

type Decide<C extends Commands> = Aggregate<GuildShape, C>['decide'];

const LACKING = refusal('MISSING_PERMISSIONS');

/** Decides commands. Where a caller lacks a permission only for want of a second factor, the refusal says so. */
export function namingFactor<C extends Commands>(decide: Decide<C>): Decide<C> {
  return (guild, type, input, authority, env) => {
    const outcome = decide(guild, type, input, authority, env);
    if (outcome.ok || outcome.refusal.code !== LACKING.code || !withholds(guild, authority.by))
      return outcome;
    const by = { ...authority.by, secondFactor: 'set' } as const;
    const withFactor = decide(guild, type, input, { ...authority, by }, env);
    const isLacking = !withFactor.ok && withFactor.refusal.code === LACKING.code;
    return isLacking ? outcome : refused(refusal('TWO_FACTOR_REQUIRED'));
  };
}

/**
 * Checks membership, then the channel's existence and visibility, then the bits. The refusals reveal nothing to
 * outsiders: a guild looks unknown, a channel inaccessible.
 */
function forbidden(
  guild: Guild,
  authority: Authority,
  { nowMs, rulesMs }: Env,
  { requiresInThread: inThread, anyFactor, acts }: GuildShape['row'] = {},
): Refusal | null {
  const { by, channelId, requires } = authority;
  if (by.system) return null;
  const member = guild.members.get(by.userId);
  if (member && !anyFactor && asksForFactor(guild, by)) return refusal('TWO_FACTOR_REQUIRED');
  if (channelId === undefined) {
    if (!member) return refusal('UNKNOWN_GUILD');
    if (acts && mayOnlyRead(guild, by.userId, nowMs)) return refusal('MISSING_PERMISSIONS');
    if (requires === 0n) return null;
    const held = guildPermissions(guild, by.userId, nowMs);
    return holds(held, requires, rulesMs)
      ? factorMissing(guild, by, requires)
      : refusal('MISSING_PERMISSIONS');
  }
  const channel = channelIn(guild, channelId);
  if (!channel) return refusal('UNKNOWN_CHANNEL');
  if (!member) return refusal('MISSING_ACCESS');
  const permissions = channelPermissions(guild, by.userId, channel, nowMs);
  if ((permissions & P.VIEW_CHANNEL) === 0n) return refusal('MISSING_ACCESS');
  if (acts && mayOnlyRead(guild, by.userId, nowMs)) return refusal('MISSING_PERMISSIONS');
  const needed = THREADS.has(channel.type) ? (inThread ?? requires) : requires;
  return holds(permissions, needed, rulesMs)
    ? factorMissing(guild, by, needed)
    : refusal('MISSING_PERMISSIONS');
}

const factorMissing = (guild: Guild, by: By, requires: bigint): Refusal | null =>
  (requires & TWO_FACTOR_PERMISSIONS) !== 0n && withholds(guild, by) ? refusal('TWO_FACTOR_REQUIRED') : null;

/** The bits a caller holds in the guild and may use; the server itself holds all. */
export const bitsOf = (guild: Guild, by: By, nowMs: number): bigint =>
  by.system ? ALL_PERMISSIONS : usable(guild, by, guildPermissions(guild, by.userId, nowMs));

/** The bits a caller holds in a channel and may use; the server itself holds all. */
export const bitsIn = (guild: Guild, by: By, channel: GuildChannel, nowMs: number): bigint =>
  by.system ? ALL_PERMISSIONS : usable(guild, by, channelPermissions(guild, by.userId, channel, nowMs));

const usable = (guild: Guild, by: By, held: bigint): bigint =>
  withholds(guild, by) ? held & ~TWO_FACTOR_PERMISSIONS : held;

/** Whether a role is below the caller's highest. */
export const mayEditRole = (guild: Guild, by: By, role: APIRole): boolean =>
  by.system === true || outranksRole(guild, by.userId, role);

/** A guild's `verification_level`. */
const LEVEL = { MEDIUM: 2, HIGH: 3, VERY_HIGH: 4 } as const;

/** How old an account, and how long ago a member joined, at least. */
const ACCOUNT_AGE_MS = 5 * 60_000;
const MEMBERSHIP_AGE_MS = 10 * 60_000;

/**
 * Why a member may not speak in the guild yet: 50009 by its verification level. Members with a role or the flag
 * BYPASSES_VERIFICATION, bots and the owner always may. LOW asks for a confirmed address and VERY_HIGH for a phone number: accounts of this server count as
 * confirmed, and have no phone numbers, so that VERY_HIGH asks for a role.
 *
 * @source https://docs.discord.com/developers/resources/guild#guild-object-verification-level
 */
export function verificationRefusal(guild: Guild, by: By, env: Env): Refusal | null {
  const { info, members } = guild;
  const level = info.verification_level ?? 0;
  const member = members.get(by.userId);
  if (!by.system && mayOnlyRead(guild, by.userId, env.nowMs)) return refusal('MISSING_PERMISSIONS');
  if (level < LEVEL.MEDIUM || by.bot || by.system || by.userId === info.owner_id) return null;
  if (!member || member.user.bot || member.roles.length > 0) return null;
  if (member.flags & GuildMemberFlags.BypassesVerification) return null;
  const isOld = env.nowMs - snowflakeMs(by.userId) >= ACCOUNT_AGE_MS;
  const isLong = level < LEVEL.HIGH || env.nowMs - joinedMs(member.joined_at) >= MEMBERSHIP_AGE_MS;
  return isOld && isLong && level < LEVEL.VERY_HIGH ? null : refusal('VERIFICATION_LEVEL_TOO_HIGH');
}

const joinedMs = (joinedAt: string | null | undefined): number => (joinedAt ? Date.parse(joinedAt) : 0);

/** A guild's `explicit_content_filter`. */
const FILTER = { MEMBERS_WITHOUT_ROLES: 1, ALL_MEMBERS: 2 } as const;

/**
 * Refuses an explicit image with 20009 when the guild's filter covers its author. Whether an image is explicit is decided
 * by the embedding program.
 *
 * @source https://docs.discord.com/developers/resources/guild#guild-object-explicit-content-filter-level
 */
export function explicitRefusal(
  { info, members }: Guild,
  { userId, system }: By,
  { isExplicit, from }: Pick<CreateInput, 'isExplicit' | 'from'>,
): Refusal | null {
  if (!isExplicit || from || system) return null;
  const level = info.explicit_content_filter;
  const hasRoles = (members.get(userId)?.roles.length ?? 0) > 0;
  const isFiltered = level === FILTER.ALL_MEMBERS || (level === FILTER.MEMBERS_WITHOUT_ROLES && !hasRoles);
  return isFiltered ? refusal('EXPLICIT_CONTENT_CANNOT_BE_SENT') : null;
}
