import { CHANNEL, THREADS, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import { isInForce } from '../../protocol/dates.ts';
import { type ChannelId, compareIds, everyoneRoleOf, type RoleId, type UserId } from '../../protocol/ids.ts';
import type { APIRole } from '../../protocol/objects.ts';
import {
  ALL_PERMISSIONS,
  P,
  QUARANTINE_FLAGS,
  QUARANTINED_PERMISSIONS,
  SENDING_PERMISSIONS,
  TIMED_OUT_PERMISSIONS,
} from '../../protocol/permissions.ts';
import type { Guild, GuildChannel, Member } from '../guild/guild.ts';

/** The channel of an optional id; undefined without an id, and for an unknown channel. */
export const channelById = (
  { channels }: Pick<Guild, 'channels'>,
  id: ChannelId | null | undefined,
): GuildChannel | undefined => (id === null || id === undefined ? undefined : channels.get(id));

/** A channel, or a thread that is in memory. */
export const channelIn = (
  { channels, threads }: Pick<Guild, 'channels' | 'threads'>,
  id: ChannelId,
): GuildChannel | undefined => channels.get(id) ?? threads.get(id)?.channel;

/** Whether the channel is age-restricted; a thread is as its channel. */
export function isAgeRestricted(guild: Pick<Guild, 'channels'>, channel: GuildChannel): boolean {
  const bearer = THREADS.has(channel.type) ? (channelById(guild, channel.parent_id) ?? channel) : channel;
  return 'nsfw' in bearer && bearer.nsfw === true;
}

/**
 * A user's permissions in the guild as a whole.
 *
 * @param nowMs Unix milliseconds; a time-out that ended before does not count.
 * @returns Every bit for the owner, even when their member row is not loaded; 0n for a user who is not a resident
 *   member.
 *
 * @source https://docs.discord.com/developers/topics/permissions
 */
export function guildPermissions(guild: Guild, userId: UserId, nowMs: number): bigint {
  const standing = standingPermissions(guild, userId);
  const member = guild.members.get(userId);
  if (!member || guild.info.owner_id === userId || isAdministrator(standing)) return standing;
  return standing & restraint(member, nowMs);
}

/** A user's permissions in the guild at any time: time-outs and quarantine do not count. */
export function standingPermissions(guild: Guild, userId: UserId): bigint {
  if (guild.info.owner_id === userId) return ALL_PERMISSIONS;
  const member = guild.members.get(userId);
  if (!member) return 0n;
  const base = basePermissions(guild, member);
  return isAdministrator(base) ? ALL_PERMISSIONS : base;
}

/**
 * A user's permissions in one channel: the guild's permissions, the channel's overwrites, and the bits that a missing
 * bit removes. A thread has its parent's permissions, with the right to send in threads in place of the right to send.
 *
 * @param nowMs Unix milliseconds.
 * @returns 0n when the channel is hidden from the user, or the user is not a resident member.
 */
export function channelPermissions(
  guild: Guild,
  userId: UserId,
  channel: GuildChannel,
  nowMs: number,
): bigint {
  if (guild.info.owner_id === userId) return ALL_PERMISSIONS;
  const member = guild.members.get(userId);
  if (!member) return 0n;
  const base = basePermissions(guild, member);
  if (isAdministrator(base)) return ALL_PERMISSIONS;
  return memberChannelPermissions(guild, member, base, channel) & restraint(member, nowMs);
}

/** The permissions that a channel gives to every member. */
export function everyonePermissions(guild: Guild, channel: GuildChannel): bigint {
  const base = BigInt(guild.roles.get(everyoneRoleOf(guild.id))?.permissions ?? 0);
  if (isAdministrator(base)) return ALL_PERMISSIONS;
  const own = channel.permission_overwrites?.find(({ id }) => id === guild.id);
  const held = own ? (base & ~BigInt(own.deny ?? 0)) | BigInt(own.allow ?? 0) : base;
  return implied(held, channel.type);
}

/** Every channel that the user may see, in the guild's own order, for GUILD_CREATE and channel lists. */
export function visibleChannels(guild: Guild, userId: UserId, nowMs: number): GuildChannel[] {
  const channels = [...guild.channels.values()];
  if (isAdministrator(guildPermissions(guild, userId, nowMs))) return channels;
  const member = guild.members.get(userId);
  if (!member) return [];
  const base = basePermissions(guild, member);
  // Time-out and quarantine keep VIEW_CHANNEL, so they are not checked here.
  return channels.filter(
    (channel) => (memberChannelPermissions(guild, member, base, channel) & P.VIEW_CHANNEL) !== 0n,
  );
}

const isAdministrator = (permissions: bigint): boolean => (permissions & P.ADMINISTRATOR) !== 0n;

/** The bits of @everyone and all roles of the member, before time-outs and overwrites. */
function basePermissions(guild: Guild, member: Member): bigint {
  const everyone = guild.roles.get(everyoneRoleOf(guild.id));
  let base = everyone ? BigInt(everyone.permissions) : 0n;
  for (const id of member.roles) {
    const role = guild.roles.get(id as RoleId);
    if (role) base |= BigInt(role.permissions);
  }
  return base;
}

function memberChannelPermissions(guild: Guild, member: Member, base: bigint, channel: GuildChannel): bigint {
  if (!THREADS.has(channel.type)) return implied(overwritten(guild, member, base, channel), channel.type);
  const parent = channelById(guild, channel.parent_id);
  if (!parent || THREADS.has(parent.type)) return 0n;
  let held = overwritten(guild, member, base, parent);
  held = (held & P.SEND_MESSAGES_IN_THREADS) !== 0n ? held | P.SEND_MESSAGES : held & ~P.SEND_MESSAGES;
  const isPrivate = channel.type === CHANNEL.PRIVATE_THREAD && (held & P.MANAGE_THREADS) === 0n;
  if (isPrivate && !guild.threads.get(channel.id)?.members.has(member.user.id)) return 0n;
  return implied(held, channel.type);
}

/** Applies @everyone's overwrite, then all roles' together, then the member's own; each denies before it allows. */
function overwritten(guild: Guild, member: Member, base: bigint, channel: GuildChannel): bigint {
  let held = base;
  let roleDeny = 0n;
  let roleAllow = 0n;
  let ownDeny = 0n;
  let ownAllow = 0n;
  for (const { id, type, allow, deny } of channel.permission_overwrites ?? []) {
    if (id === guild.id) {
      held = (held & ~BigInt(deny ?? 0)) | BigInt(allow ?? 0);
    } else if (type === 1) {
      if (id !== member.user.id) continue;
      ownDeny = BigInt(deny ?? 0);
      ownAllow = BigInt(allow ?? 0);
    } else if (member.roles.includes(id)) {
      roleDeny |= BigInt(deny ?? 0);
      roleAllow |= BigInt(allow ?? 0);
    }
  }
  held = (held & ~roleDeny) | roleAllow;
  return (held & ~ownDeny) | ownAllow;
}

/** Removes bits that have no effect without another bit. */
function implied(held: bigint, channelType: number): bigint {
  if ((held & P.VIEW_CHANNEL) === 0n) return 0n;
  if (VOICE_LIKE.has(channelType) && (held & P.CONNECT) === 0n) return P.VIEW_CHANNEL;
  return (held & P.SEND_MESSAGES) === 0n ? held & ~SENDING_PERMISSIONS : held;
}

/** The bits that a time-out, screening or quarantine leaves to a member who is neither owner nor administrator. */
function restraint(member: Member, nowMs: number): bigint {
  if (member.pending || timedOutUntilMs(member) > nowMs) return TIMED_OUT_PERMISSIONS;
  return (member.flags & QUARANTINE_FLAGS) !== 0 ? QUARANTINED_PERMISSIONS : ALL_PERMISSIONS;
}

/** Whether a time-out, screening or quarantine leaves the member only the right to read. */
export function mayOnlyRead(guild: Guild, userId: UserId, nowMs: number): boolean {
  const member = guild.members.get(userId);
  return (
    member != null &&
    restraint(member, nowMs) !== ALL_PERMISSIONS &&
    !isAdministrator(standingPermissions(guild, userId))
  );
}

/** Unix milliseconds at which the member's time-out ends or ended; 0 without one. */
export function timedOutUntilMs(member: Member): number {
  const until = member.communication_disabled_until;
  return until ? Date.parse(until) : 0;
}

/**
 * Orders roles by rank: negative when `a` ranks lower. Of two roles with equal position the older one ranks higher; the
 * platform documents only that they are sorted by id.
 */
export function compareRoles(a: APIRole, b: APIRole): number {
  return a.position - b.position || compareIds(b.id, a.id);
}

/** The member's highest-ranking role; @everyone without any other. */
export function highestRole(guild: Guild, member: Member): APIRole {
  let highest: APIRole | undefined;
  for (const id of member.roles) {
    const role = guild.roles.get(id as RoleId);
    if (role && (!highest || compareRoles(role, highest) > 0)) highest = role;
  }
  return highest ?? guild.roles.get(everyoneRoleOf(guild.id))!;
}

/**
 * Whether `actorId` may moderate `targetId`. The owner may moderate everyone else, others only members whose highest
 * role ranks lower. Every member outranks a user who is not a member.
 */
export function outranks(guild: Guild, actorId: UserId, targetId: UserId): boolean {
  if (targetId === guild.info.owner_id || actorId === targetId) return false;
  if (actorId === guild.info.owner_id) return true;
  const actor = guild.members.get(actorId);
  if (!actor) return false;
  const target = guild.members.get(targetId);
  return !target || compareRoles(highestRole(guild, target), highestRole(guild, actor)) < 0;
}

/** Whether `actorId` may edit, grant or take `role`: the owner any role, others only roles below their highest. */
export function outranksRole(guild: Guild, actorId: UserId, role: APIRole): boolean {
  if (actorId === guild.info.owner_id) return true;
  const actor = guild.members.get(actorId);
  return actor ? compareRoles(role, highestRole(guild, actor)) < 0 : false;
}

/** A newer bit, and the older bits any of which still grants it. */
type Splits = readonly { readonly bit: bigint; readonly heldBefore: bigint }[];

/** Bits that were split off older ones. Until the split is in force, an older bit also suffices. */
const SPLITS: Splits = [
  { bit: P.CREATE_GUILD_EXPRESSIONS, heldBefore: P.MANAGE_GUILD_EXPRESSIONS },
  { bit: P.CREATE_EVENTS, heldBefore: P.MANAGE_EVENTS },
  { bit: P.PIN_MESSAGES, heldBefore: P.MANAGE_MESSAGES },
  { bit: P.BYPASS_SLOWMODE, heldBefore: P.MANAGE_MESSAGES | P.MANAGE_CHANNELS | P.MANAGE_THREADS },
];

/**
 * Whether `permissions` contain every bit of `required`.
 *
 * @param rulesMs Unix milliseconds of the day whose rules apply: before the split, an older bit suffices. Absent, all splits are in force.
 */
export function holds(permissions: bigint, required: bigint, rulesMs?: number): boolean {
  let missing = required & ~permissions;
  if (missing === 0n || isInForce('permissions_split', rulesMs)) return missing === 0n;
  for (const { bit, heldBefore } of SPLITS) if ((permissions & heldBefore) !== 0n) missing &= ~bit;
  return missing === 0n;
}
