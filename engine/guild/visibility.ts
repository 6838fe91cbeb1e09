import { CHANNEL, VOICE_LIKE } from '../../protocol/channeltypes.ts';
import type { ChannelId, UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { channelPermissions } from '../permissions/permissions.ts';
import type { Guild, GuildChannel } from './guild.ts';
import { threadsSynced } from './threads.dispatches.ts';

/**
 * The channels and users whose sight a fact can change; absent means any. Keep it narrow: the cost is users times
 * channels.
 */
interface Reach {
  readonly userIds?: Iterable<UserId>;
  readonly channelIds?: Iterable<ChannelId>;
}

/** Users who gained sight of a channel, users who lost it, and users who kept it. */
interface VisibilityChange {
  /** The current channel; for a deleted one its last state. */
  readonly channel: GuildChannel;
  readonly gained: readonly UserId[];
  readonly lost: readonly UserId[];
  readonly kept: readonly UserId[];
}

interface View {
  readonly channel: GuildChannel;
  readonly viewers: ReadonlySet<UserId>;
}

/** The channels that subscribed users saw before a fact. */
export interface Sight {
  readonly userIds: readonly UserId[];
  readonly channelIds: readonly ChannelId[];
  readonly views: ReadonlyMap<ChannelId, View>;
}

/** Time affects no bit that VIEW_CHANNEL depends on: a member in time-out sees the same channels. */
const ANY_TIME_MS = 0;

/**
 * The channels that subscribed users see: for the `before` of a fact that may change them.
 *
 * Cost: channels times distinct sets of roles, plus the members that overwrites name.
 */
export function sightOf(guild: Guild, reach: Reach = {}): Sight {
  const userIds = [...(reach.userIds ?? guild.sessionCounts.keys())].filter((id) =>
    guild.sessionCounts.has(id),
  );
  const channelIds = [...(reach.channelIds ?? guild.channels.keys())];
  return { userIds, channelIds, views: viewsOf(guild, userIds, channelIds) };
}

/** The changes of sight since before a fact; empty without a `before`. */
export function visibilityChanges(guild: Guild, before: Sight | null): VisibilityChange[] {
  if (!before) return [];
  const { userIds, channelIds, views } = before;
  const now = viewsOf(guild, userIds, channelIds);
  const changes: VisibilityChange[] = [];
  for (const id of channelIds) {
    const then = views.get(id);
    const after = now.get(id);
    const channel = after?.channel ?? then?.channel;
    if (!channel) continue;
    const had = (userId: UserId) => then?.viewers.has(userId) === true;
    const has = (userId: UserId) => after?.viewers.has(userId) === true;
    changes.push({
      channel,
      gained: userIds.filter((userId) => has(userId) && !had(userId)),
      lost: userIds.filter((userId) => had(userId) && !has(userId)),
      kept: userIds.filter((userId) => had(userId) && has(userId)),
    });
  }
  return changes;
}

/**
 * CHANNEL_CREATE and THREAD_LIST_SYNC for users who gained sight of a channel, CHANNEL_DELETE for users who lost it, each with who is in
 * voice there. A client that received a category's channels has received the category before.
 */
export function visibilityDiff(guild: Guild, before: Sight | null): Dispatch[] {
  return dispatchesOf(guild, visibilityChanges(guild, before));
}

/** The dispatches of `visibilityDiff`, from changes already computed. */
export function dispatchesOf(guild: Guild, changes: readonly VisibilityChange[]): Dispatch[] {
  const parentsFirst = [...changes].sort((a, b) => rank(a) - rank(b));
  const lost = parentsFirst
    .toReversed()
    .filter((change) => change.lost.length > 0)
    .flatMap(({ channel, lost }) => [
      ...voiceShown(guild, channel, lost, false),
      shown('CHANNEL_DELETE', channel, lost),
    ]);
  const gained = parentsFirst
    .filter((change) => change.gained.length > 0)
    .flatMap(({ channel, gained }) => [
      shown('CHANNEL_CREATE', channel, gained),
      ...voiceShown(guild, channel, gained, true),
    ]);
  return [...lost, ...gained, ...threadsSynced(guild, parentsFirst)];
}

const rank = (change: VisibilityChange): number => (change.channel.type === CHANNEL.GUILD_CATEGORY ? 0 : 1);

const shown = (
  t: 'CHANNEL_CREATE' | 'CHANNEL_DELETE',
  d: GuildChannel,
  userIds: readonly UserId[],
): Dispatch => ({ t, d, to: { kind: 'users', userIds } });

/** The voice states of a channel for users who see it now, or as if everybody had left for users who do not. Users know their own. */
function voiceShown(
  guild: Guild,
  { id, type }: GuildChannel,
  userIds: readonly UserId[],
  isSeen: boolean,
): Dispatch[] {
  if (!VOICE_LIKE.has(type)) return [];
  const states = [...guild.voiceStates.values()].filter(({ channel_id }) => channel_id === id);
  return states.flatMap((state): Dispatch[] => {
    const others = userIds.filter((userId) => userId !== state.user_id);
    const d = isSeen ? state : { ...state, channel_id: null };
    return others.length > 0 ? [{ t: 'VOICE_STATE_UPDATE', d, to: { kind: 'users', userIds: others } }] : [];
  });
}

function viewsOf(
  guild: Guild,
  userIds: readonly UserId[],
  channelIds: readonly ChannelId[],
): Map<ChannelId, View> {
  const alike = new Map(userIds.map((id) => [id, userPermissionKey(guild, id)]));
  const views = new Map<ChannelId, View>();
  for (const id of channelIds) {
    const channel = guild.channels.get(id);
    if (!channel) continue;
    const named = new Set(channel.permission_overwrites?.map((overwrite) => overwrite.id));
    const seen = new Map<string, boolean>();
    const viewers = new Set<UserId>();
    for (const [userId, roles] of alike) {
      const key = named.has(userId) ? userId : roles;
      let sees = seen.get(key);
      if (sees === undefined) {
        sees = (channelPermissions(guild, userId, channel, ANY_TIME_MS) & P.VIEW_CHANNEL) !== 0n;
        seen.set(key, sees);
      }
      if (sees) viewers.add(userId);
    }
    views.set(id, { channel, viewers });
  }
  return views;
}

/** Users with equal keys hold equal permissions wherever no overwrite names them. */
function userPermissionKey(guild: Guild, userId: UserId): string {
  if (userId === guild.info.owner_id) return 'owner';
  const member = guild.members.get(userId);
  return member ? `roles:${member.roles.join()}` : 'stranger';
}
