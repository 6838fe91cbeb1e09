import { AUDIT } from '../../protocol/audit.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { P } from '../../protocol/permissions.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import { auditEntry, changesOf } from './auditing.ts';
import { bitsIn, bitsOf } from './authorize.ts';
import { changedBits, overwriteEntries, overwritesOf, overwritesRefusal } from './channels.overwrites.ts';
import { sectionOf } from './channels.shapes.ts';
import type { GuildFact } from './facts.ts';
import type { Guild, GuildChannel } from './guild.ts';

/** The target of a channel's move. Positions are stored as given; equal ones are ordered by age, oldest first. */
export interface ChannelMove {
  readonly id: ChannelId;
  readonly position?: number | null;
  /** Absent keeps the category; null removes the channel from it. */
  readonly parentId?: ChannelId | null;
  /** Copies the overwrites of the new category. */
  readonly lockPermissions?: boolean;
}

const parentOf = (channel: GuildChannel): ChannelId | null => channel.parent_id ?? null;

/** One past the last position among the channels of the same section and category. */
export function nextPosition(guild: Guild, type: number, parentId: ChannelId | null): number {
  let last = -1;
  for (const channel of guild.channels.values()) {
    if (sectionOf(channel.type) !== sectionOf(type) || parentOf(channel) !== parentId) continue;
    last = Math.max(last, channel.position);
  }
  return last + 1;
}

/** Why a channel of this type cannot be in the category. `channel` is the moved one; null for a new one. */
export function parentRefusal(
  guild: Guild,
  type: number,
  parentId: ChannelId | null,
  channel: GuildChannel | null,
): Refusal | null {
  if (parentId === null) return null;
  const invalid = (code: string, message: string) => invalidField(['parent_id'], code, message);
  const parent = guild.channels.get(parentId);
  if (!parent) return invalid('CHANNEL_PARENT_INVALID', 'Category does not exist');
  if (parent.type !== CHANNEL.GUILD_CATEGORY) {
    return invalid('CHANNEL_PARENT_INVALID_TYPE', 'Not a category');
  }
  if (type === CHANNEL.GUILD_CATEGORY) {
    return invalid('CHANNEL_PARENT_INVALID_PARENT', 'Categories cannot have subcategories');
  }
  let children = 0;
  for (const other of guild.channels.values()) {
    if (parentOf(other) === parentId && other.id !== channel?.id) children += 1;
  }
  if (children < LIMITS.channels_per_category_max) return null;
  return invalid(
    'CHANNEL_PARENT_MAX_CHANNELS',
    `Maximum number of channels in category reached (${LIMITS.channels_per_category_max})`,
  );
}

/**
 * Reorders channels. A request may move at most one of them into another category.
 *
 * Positions require MANAGE_CHANNELS in the guild or in the channel's category; a change of category requires it in the
 * channel itself and in the new category.
 */
export function moveChannels(
  guild: Guild,
  { moves }: { readonly moves: readonly ChannelMove[] },
  by: By,
  env: Env,
): Outcome<null, GuildFact> {
  const next = new Map<ChannelId, GuildChannel>();
  let parentChanges = 0;
  for (const move of moves) {
    const before = next.get(move.id) ?? guild.channels.get(move.id);
    if (!before) return refused(refusal('UNKNOWN_CHANNEL'));
    const after = moved(guild, before, move, by, env.nowMs);
    if (!after.ok) return after;
    if (parentOf(after.value) !== parentOf(before)) parentChanges += 1;
    if (parentChanges > LIMITS.parent_changes_per_reorder_max) {
      return refused(refusal('ONLY_ONE_PARENT_CHANGE'));
    }
    next.set(move.id, after.value);
  }
  return accepted(
    null,
    [...next.values()].flatMap((channel) => movedFacts(guild, channel, by, env)),
  );
}

function moved(
  guild: Guild,
  channel: GuildChannel,
  move: ChannelMove,
  by: By,
  nowMs: number,
): Outcome<GuildChannel, never> {
  const parentId = move.parentId === undefined ? parentOf(channel) : move.parentId;
  const position = move.position ?? channel.position;
  const category = parentId ? guild.channels.get(parentId) : undefined;
  if (parentId !== parentOf(channel)) {
    const no = parentRefusal(guild, channel.type, parentId, channel);
    if (no) return refused(no);
    if (!manages(guild, by, channel, nowMs) || !manages(guild, by, category, nowMs)) {
      return refused(refusal('MISSING_PERMISSIONS'));
    }
  } else if (
    position !== channel.position &&
    !manages(guild, by, undefined, nowMs) &&
    !(category && manages(guild, by, category, nowMs))
  ) {
    return refused(refusal('MISSING_PERMISSIONS'));
  }
  if (!move.lockPermissions || !category) return accepted({ ...channel, parent_id: parentId, position });
  const overwrites = overwritesOf(category);
  const bits = changedBits(overwritesOf(channel), overwrites);
  const no = overwritesRefusal(guild, by, { channel, parentId }, bits, nowMs);
  if (no) return refused(no);
  return accepted({ ...channel, parent_id: parentId, position, permission_overwrites: [...overwrites] });
}

/** In a channel or category; in the guild without one. */
function manages(guild: Guild, by: By, channel: GuildChannel | undefined, nowMs: number): boolean {
  const bits = channel ? bitsIn(guild, by, channel, nowMs) : bitsOf(guild, by, nowMs);
  return (bits & P.MANAGE_CHANNELS) !== 0n;
}

function movedFacts(guild: Guild, channel: GuildChannel, by: By, env: Env): GuildFact[] {
  const before = guild.channels.get(channel.id)!;
  const changes = changesOf(before, channel, ['parent_id', 'position']);
  const entries = overwriteEntries(guild, env, by, channel.id, overwritesOf(before), overwritesOf(channel));
  if (changes.length === 0 && entries.length === 0) return [];
  const update = { actionType: AUDIT.CHANNEL_UPDATE, targetId: channel.id, changes };
  return [
    { type: 'channelUpdated', channel },
    ...(changes.length > 0 ? [auditEntry(env, by, update)] : []),
    ...entries,
  ];
}
