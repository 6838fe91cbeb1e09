import { Audiences } from '../../engine/fanout/audience.ts';
import type { Origin, Recipient } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import { channelPermissions, standingPermissions } from '../../engine/permissions/permissions.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import { dispatchRow } from '../../protocol/dispatches.ts';
import { type ChannelId, isChannelId, type UserId } from '../../protocol/ids.ts';
import { ALL_PERMISSIONS, P } from '../../protocol/permissions.ts';
import type { DispatchStream, StreamDispatch } from '../runtime/stream.ts';

/** A dispatch to sessions that are being subscribed. */
export interface SubscriptionDispatch {
  readonly t: string;
  readonly d: object;
  readonly to: readonly Recipient[];
  readonly origin: Origin | null;
}

/** A session, and the last position in the stream that it has; null for none. */
interface Returning {
  readonly subscriber: Recipient;
  readonly after: number | null;
}

/**
 * Channels of missed dispatches that are not in memory: threads that were archived since. Without them nobody is known who
 * may see these dispatches.
 */
export function missedThreads(
  guild: Guild,
  returning: readonly Pick<Returning, 'after'>[],
  stream: DispatchStream | null,
): readonly ChannelId[] {
  const first = Math.min(...returning.map(({ after }) => after ?? Number.POSITIVE_INFINITY));
  const dispatches = stream && Number.isFinite(first) ? stream.since(first) : [];
  if (dispatches === 'tooOld') return [];
  const absent = new Set<ChannelId>();
  for (const { to } of dispatches)
    if (to.kind === 'channel' && !guild.channels.has(to.channelId) && !guild.threads.has(to.channelId))
      absent.add(to.channelId);
  return [...absent];
}

/** The dispatches of the guild, and from which of them on each session was subscribed to this actor. */
interface Past {
  readonly stream: DispatchStream;
  readonly subscribedAt: WeakMap<Recipient, number>;
}

/**
 * Whether the client may know other channels than its session can see now. A session that may have missed CHANNEL_CREATE or
 * CHANNEL_DELETE is sent the guild again.
 *
 * Cost: one pass over the stream for all of them, and for each session the few dispatches that change what is seen.
 */
export function staleness(
  guild: Guild,
  returning: readonly Returning[],
  past: Past,
): (session: Returning) => boolean {
  const { stream } = past;
  const kept = returning.flatMap(({ after }) => (after !== null && after >= stream.floor ? [after] : []));
  const dispatches = kept.length === 0 ? [] : stream.since(Math.min(...kept));
  const changes = dispatches === 'tooOld' ? [] : dispatches.filter(changesClients);
  return (session) => {
    const { subscriber, after } = session;
    if (after === null || after < stream.floor) return false;
    if (stream.isOrphan(after)) return true;
    const { userId } = subscriber;
    const isKnown = isSightKnown(session, past);
    return changes.some(
      (each) =>
        each.n > after &&
        ((dispatchRow(each.t).membership === 'left' && userIdOf(each.d) === userId) ||
          (!isKnown && (mayChangeSight(guild, userId, each) || mayBeForUser(guild, userId, each)))),
    );
  };
}

/** Whether a dispatch may make some session stale. */
const changesClients = (dispatch: StreamDispatch): boolean =>
  dispatchRow(dispatch.t).membership === 'left' || changesSight(dispatch) || FOR_USERS.has(dispatch.t);

/** See `mayBeForUser`. */
const FOR_USERS: ReadonlySet<string> = new Set(['THREAD_DELETE', 'GUILD_SCHEDULED_EVENT_DELETE']);

/**
 * Whether the deletion of a private thread, or of an event that was moved, concerned the user although it does not name the user: it names
 * users with a session at the owner, and a new owner has no sessions at first.
 */
function mayBeForUser(guild: Guild, userId: UserId, { t, d, to }: StreamDispatch): boolean {
  if (to.kind !== 'users' || to.userIds.includes(userId)) return false;
  if (t === 'THREAD_DELETE')
    return mayIn(guild, userId, 'parent_id' in d ? d.parent_id : null, P.MANAGE_THREADS);
  if (t !== 'GUILD_SCHEDULED_EVENT_DELETE' || !('channel_id' in d) || !('id' in d)) return false;
  const placeNow = [...guild.scheduledEvents.byId.values()].find(({ id }) => id === d.id)?.channel_id;
  if (placeNow === null) return false;
  const sawIt = d.channel_id === null || mayIn(guild, userId, d.channel_id, P.VIEW_CHANNEL);
  return sawIt && !mayIn(guild, userId, placeNow, P.VIEW_CHANNEL);
}

function mayIn(guild: Guild, userId: UserId, channelId: unknown, permission: bigint): boolean {
  const channel = isChannelId(channelId) ? guild.channels.get(channelId) : undefined;
  return channel !== undefined && (channelPermissions(guild, userId, channel, 0) & permission) !== 0n;
}

/** Whether a dispatch may change which channels and threads some user sees. */
const changesSight = ({ t, keepsSight }: StreamDispatch): boolean =>
  dispatchRow(t).changesVisibility !== undefined && !keepsSight;

/**
 * Whether a dispatch may change which channels and threads this user sees. Changes of channels do not affect a user who sees all of them:
 * the user saw them before, or the dispatch that granted ADMINISTRATOR is among those missed. A role that the user lost is not checked,
 * because the GUILD_MEMBER_UPDATE of that loss is among them too.
 */
function mayChangeSight(guild: Guild, userId: UserId, dispatch: StreamDispatch): boolean {
  if (!changesSight(dispatch)) return false;
  const { t, d } = dispatch;
  const { changesVisibility } = dispatchRow(t);
  if (guild.info.owner_id === userId) return t === 'GUILD_UPDATE';
  if (changesVisibility === 'own') return userIdOf(d) === userId;
  if (t.startsWith('CHANNEL_')) return standingPermissions(guild, userId) !== ALL_PERMISSIONS;
  return t !== 'GUILD_ROLE_UPDATE' || isRoleOf(guild, userId, d);
}

/** Whether the dispatch shows a role that the user has. */
function isRoleOf(guild: Guild, userId: UserId, d: object): boolean {
  const role: unknown = 'role' in d ? d.role : null;
  const id = role instanceof Object && 'id' in role ? role.id : null;
  return id === guild.id || (guild.members.get(userId)?.roles.some((roleId) => roleId === id) ?? false);
}

/**
 * CHANNEL_CREATE and CHANNEL_DELETE for a change of visibility are computed for subscribed sessions only. A session may have missed them
 * unless it was subscribed to this actor at its position: an earlier owner cannot be asked, an actor of the same epoch may have ended in
 * between, and the answer to an earlier request, which subscribed the session later, may be lost.
 */
const isSightKnown = ({ subscriber, after }: Returning, { subscribedAt }: Past): boolean =>
  (subscribedAt.get(subscriber) ?? Number.POSITIVE_INFINITY) <= (after ?? 0);

/** By channel, `ALL` for every channel: the number of the last dispatch that may have shown it to a user. */
type Reveals = ReadonlyMap<string, number>;
const ALL = '';
const NONE: Reveals = new Map();

/** What may have been shown to the session since its position. */
function revealsOf(guild: Guild, session: Returning, dispatches: readonly StreamDispatch[]): Reveals {
  const reveals = new Map<string, number>();
  for (const each of dispatches) {
    const { n } = each;
    const revealed = n > (session.after ?? 0) ? revealedBy(guild, session.subscriber.userId, each) : null;
    if (revealed !== null) reveals.set(revealed, n);
  }
  return reveals;
}

/** The channel that a dispatch may have shown to a user who could not see it before, `ALL`, or null for none. */
function revealedBy(guild: Guild, userId: UserId, dispatch: StreamDispatch): string | null {
  if (!mayChangeSight(guild, userId, dispatch)) return null;
  const { t, d } = dispatch;
  if (t === 'GUILD_UPDATE') return guild.info.owner_id === userId ? ALL : null;
  // A role that was deleted may have hidden channels from those who had it.
  return t.startsWith('CHANNEL_') && 'id' in d ? String(d.id) : ALL;
}

/** The user that a dispatch of a membership names. */
const userIdOf = (d: object): string => (d as { user: { id: string } }).user.id;

/**
 * The dispatches that sessions with the guild have missed, for those that could see them then and may see them now. Where that is not known,
 * what was sent to a channel before it may have been shown to the session is left out: that session is sent the guild again.
 */
export function missed(
  guild: Guild,
  arrived: readonly Returning[],
  past: Past,
  nowMs: number,
): SubscriptionDispatch[] {
  const { stream } = past;
  const behind = arrived.filter(({ after }) => after !== null);
  const afters = new Map(
    behind.map(({ subscriber, after }): [Recipient, number] => [subscriber, after ?? 0]),
  );
  if (afters.size === 0) return [];
  let [first, last] = [Number.POSITIVE_INFINITY, 0];
  for (const after of afters.values()) [first, last] = [Math.min(first, after), Math.max(last, after)];
  const dispatches = stream.since(first);
  if (dispatches === 'tooOld') return [];
  const known = new Set(behind.flatMap((each) => (isSightKnown(each, past) ? [each.subscriber] : [])));
  // Few dispatches change what is seen, and thousands of sessions may return at once.
  const changes = dispatches.filter(changesSight);
  const reveals = new Map(behind.map((each) => [each.subscriber, revealsOf(guild, each, changes)]));
  const isNothingRevealed = [...reveals.values()].every(({ size }) => size === 0);
  const among = new Audiences(afters.keys());
  // A removed member who rejoined receives the guild again, and nothing of it in between: the session may have received
  // GUILD_DELETE in the meantime, from the stream that it asks to continue.
  const repeated = dispatches.filter(({ t }) => t !== 'GUILD_DELETE');
  const removedAt = removalsOf(dispatches);
  const sightChanges = sightChangesOf(guild, dispatches);
  return repeated.flatMap(({ t, d: payload, to: audience, n }) => {
    const channelIds = audience.kind === 'channel' ? shownWith(guild, audience.channelId) : [];
    const isHidden = channelIds.length === 0 ? null : hiddenAt(channelIds, n, sightChanges);
    const isRevealed = (session: Recipient): boolean =>
      (!known.has(session) || isShownByPermission(guild, channelIds[0], session.userId)) &&
      isRevealedAfter(reveals.get(session) ?? NONE, channelIds, n);
    const isMissed = (session: Recipient): boolean =>
      (afters.get(session) ?? n) < n &&
      !isRemovedBefore(removedAt.get(session.userId), afters.get(session), n) &&
      (channelIds.length === 0 || !isRevealed(session)) &&
      !isHidden?.(session.userId);
    const isForAll = n > last && removedAt.size === 0 && isNothingRevealed && !isHidden;
    const deliveries = among.recipients(guild, { t, d: payload, to: audience } as Dispatch, nowMs);
    return deliveries.flatMap(({ d, to: all }) => {
      const to = isForAll ? all : all.filter(isMissed);
      return to.length === 0
        ? []
        : [{ t, d, to, origin: { ownerId: stream.ownerId, n, epoch: stream.epoch } }];
    });
  });
}

/** By user: the numbers of the dispatches that say that the user is no longer a member. */
function removalsOf(dispatches: readonly StreamDispatch[]): ReadonlyMap<string, readonly number[]> {
  const removals = new Map<string, number[]>();
  for (const { t, d, n } of dispatches) {
    if (dispatchRow(t).membership !== 'left') continue;
    const userId = userIdOf(d);
    removals.set(userId, [...(removals.get(userId) ?? []), n]);
  }
  return removals;
}

const isRemovedBefore = (
  removals: readonly number[] | undefined,
  after: number | undefined,
  n: number,
): boolean => removals?.some((at) => at > (after ?? n) && at <= n) ?? false;

/** A dispatch after which users could see a channel or private thread, or could not. */
interface SightChange {
  readonly n: number;
  readonly isShown: boolean;
  readonly userIds: ReadonlySet<string>;
}

/** By channel or private thread, ascending. */
type SightChanges = ReadonlyMap<string, readonly SightChange[]>;

/** CHANNEL_CREATE and CHANNEL_DELETE for a change of permissions are sent to users, those of new and deleted channels to the channel. */
function sightChangesOf(guild: Guild, dispatches: readonly StreamDispatch[]): SightChanges {
  const changes = new Map<string, SightChange[]>();
  for (const { t, d, to, n } of dispatches) {
    const id = 'id' in d ? String(d.id) : '';
    const change = changeOf(guild, id, { t, d, to });
    if (change) changes.set(id, [...(changes.get(id) ?? []), { ...change, n }]);
  }
  return changes;
}

function changeOf(
  guild: Guild,
  id: string,
  { t, d, to }: Pick<StreamDispatch, 't' | 'd' | 'to'>,
): Omit<SightChange, 'n'> | null {
  if (t === 'THREAD_MEMBERS_UPDATE' && 'removed_member_ids' in d && Array.isArray(d.removed_member_ids))
    return { isShown: false, userIds: new Set(d.removed_member_ids.map(String)) };
  if (to.kind !== 'users') return null;
  if (t === 'THREAD_CREATE') return { isShown: true, userIds: new Set(admitted(guild, id, to.userIds)) };
  const isOfChannel = t === 'CHANNEL_CREATE' || t === 'CHANNEL_DELETE';
  return isOfChannel ? { isShown: t === 'CHANNEL_CREATE', userIds: new Set(to.userIds) } : null;
}

/** The users who see a thread only since they were added to it. */
function admitted(guild: Guild, threadId: string, userIds: readonly UserId[]): readonly UserId[] {
  const thread = isChannelId(threadId) ? guild.threads.get(threadId)?.thread : undefined;
  const parent = thread?.type === CHANNEL.PRIVATE_THREAD ? guild.channels.get(thread.parent_id) : undefined;
  if (!parent) return [];
  return userIds.filter((userId) => (channelPermissions(guild, userId, parent, 0) & P.MANAGE_THREADS) === 0n);
}

/** The channel; for a thread also its channel. */
function shownWith(guild: Guild, channelId: string): readonly string[] {
  const parentId = isChannelId(channelId) ? guild.threads.get(channelId)?.thread.parent_id : undefined;
  return parentId === undefined ? [channelId] : [channelId, parentId];
}

/**
 * Whether the user sees a private thread without being a member of it. No dispatch names those who were given that permission, also while
 * their sessions are subscribed.
 */
function isShownByPermission(guild: Guild, channelId: string | undefined, userId: UserId): boolean {
  const record = isChannelId(channelId) ? guild.threads.get(channelId) : undefined;
  return record?.thread.type === CHANNEL.PRIVATE_THREAD && !record.members.has(userId);
}

const isRevealedAfter = (reveals: Reveals, channelIds: readonly string[], n: number): boolean =>
  [ALL, ...channelIds].some((id) => (reveals.get(id) ?? 0) > n);

/** Users who were shown one of the channels only after `n`; null when there are none. */
function hiddenAt(
  channelIds: readonly string[],
  n: number,
  changes: SightChanges,
): ((userId: string) => boolean) | null {
  const later = channelIds.map((id) => changes.get(id)?.filter((each) => each.n > n) ?? []);
  if (later.every((each) => each.length === 0)) return null;
  return (userId) => later.some((each) => each.find(({ userIds }) => userIds.has(userId))?.isShown ?? false);
}
