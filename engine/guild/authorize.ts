import { THREADS } from '../../protocol/channeltypes.ts';
import { P, splitsAt, TWO_FACTOR_PERMISSIONS } from '../../protocol/permissions.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import type { Authority, By } from '../kernel/authority.ts';
import type { Env } from '../kernel/outcome.ts';
import { channelIn } from '../permissions/channelbyid.ts';
import { channelPermissions, guildPermissions, holds } from '../permissions/permissions.ts';
import type { Guild } from './guild.ts';
import { asksForFactor, withholds } from './mfa.ts';
import type { GuildShape } from './topic.ts';

/**
 * Checks membership, then the channel's existence and visibility, then the bits. The refusals reveal nothing to
 * outsiders: a guild looks unknown, a channel inaccessible.
 */
export function forbidden(
  guild: Guild,
  authority: Authority,
  { nowMs, rulesMs }: Env,
  { requiresInThread: inThread, anyFactor }: GuildShape['row'] = {},
): Refusal | null {
  const splits = splitsAt(rulesMs);
  const { by, channelId, requires } = authority;
  if (by.system) return null;
  const member = guild.members.get(by.userId);
  if (member && !anyFactor && asksForFactor(guild, by)) return refusal('TWO_FACTOR_REQUIRED');
  if (channelId === undefined) {
    if (!member) return refusal('UNKNOWN_GUILD');
    if (requires === 0n) return null;
    const held = guildPermissions(guild, by.userId, nowMs);
    return holds(held, requires, splits)
      ? factorMissing(guild, by, requires)
      : refusal('MISSING_PERMISSIONS');
  }
  const channel = channelIn(guild, channelId);
  if (!channel) return refusal('UNKNOWN_CHANNEL');
  if (!member) return refusal('MISSING_ACCESS');
  const permissions = channelPermissions(guild, by.userId, channel, nowMs);
  if ((permissions & P.VIEW_CHANNEL) === 0n) return refusal('MISSING_ACCESS');
  const needed = THREADS.has(channel.type) ? (inThread ?? requires) : requires;
  return holds(permissions, needed, splits)
    ? factorMissing(guild, by, needed)
    : refusal('MISSING_PERMISSIONS');
}

const factorMissing = (guild: Guild, by: By, requires: bigint): Refusal | null =>
  (requires & TWO_FACTOR_PERMISSIONS) !== 0n && withholds(guild, by) ? refusal('TWO_FACTOR_REQUIRED') : null;
