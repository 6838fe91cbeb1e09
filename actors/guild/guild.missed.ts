import { Audiences } from '../../engine/fanout/audience.ts';
import type { Origin, Recipient } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import type { Dispatch } from '../../engine/kernel/dispatch.ts';
import { channelPermissions } from '../../engine/permissions/permissions.ts';
import { CHANNEL } from '../../protocol/channeltypes.ts';
import { dispatchRow } from '../../protocol/dispatches.ts';
import { isChannelId, type UserId } from '../../protocol/ids.ts';
import { P } from '../../protocol/permissions.ts';
import type { DispatchStream, StreamDispatch } from '../runtime/stream.ts';

/** A dispatch to sessions that are being subscribed. */
export interface MissedDispatch {
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

/** The dispatches of the guild, and from which of them on each session was subscribed to this actor. */
interface Past {
  readonly stream: DispatchStream;
  readonly subscribedAt: WeakMap<Recipient, number>;
}

/**
 * Whether the client may know other channels than its session can see now. A session that may have missed CHANNEL_CREATE or
 * CHANNEL_DELETE is sent the guild again.
 */
export function isStale(session: Returning, past: Past): boolean {
  const { subscriber, after } = session;
  const dispatches = after === null ? 'tooOld' : past.stream.since(after);
  if (after === null || dispatches === 'tooOld') return false;
  if (past.stream.isOrphan(after)) return true;
  const hasLeft = ({ t, d }: StreamDispatch) =>
    dispatchRow(t).membership === 'left' && userIdOf(d) === subscriber.userId;
  return dispatches.some(hasLeft) || unknownUpTo(session, dispatches, past) > 0;
}

/**
 * The number up to which it is not known what the session could see; 0 when it is known. CHANNEL_CREATE and CHANNEL_DELETE for a
 * change of visibility are computed for subscribed sessions only. A session may have missed them unless it was subscribed to this actor at
 * its position: an earlier owner cannot be asked, an actor of the same epoch may have ended in between, and the answer to an earlier
 * request, which subscribed the session later, may be lost.
 */
function unknownUpTo(
  { subscriber, after }: Returning,
  dispatches: readonly StreamDispatch[],
  { subscribedAt }: Past,
): number {
  if ((subscribedAt.get(subscriber) ?? Number.POSITIVE_INFINITY) <= (after ?? 0)) return 0;
  const last = dispatches.findLast(({ t, d, n }) => {
    const { changesVisibility } = dispatchRow(t);
    if (n <= (after ?? 0)) return false;
    return changesVisibility === 'all' || (changesVisibility === 'own' && userIdOf(d) === subscriber.userId);
  });
  return last?.n ?? 0;
}

/** The user that a dispatch of a membership names. */
const userIdOf = (d: object): string => (d as { user: { id: string } }).user.id;

/**
 * The dispatches that sessions with the guild have missed, for those that could see them then and may see them now. What was sent to a
 * channel while a session's sight of it is not known is left out: that session is sent the guild again.
 */
export function missed(
  guild: Guild,
  arrived: readonly Returning[],
  past: Past,
  nowMs: number,
): MissedDispatch[] {
  const { stream } = past;
  const behind = arrived.filter(({ after }) => after !== null);
  const afters = new Map(
    behind.map(({ subscriber, after }): [Recipient, number] => [subscriber, after ?? 0]),
  );
  if (afters.size === 0) return [];
  const [first, last] = [Math.min(...afters.values()), Math.max(...afters.values())];
  const dispatches = stream.since(first);
  if (dispatches === 'tooOld') return [];
  const unknown = new Map(behind.map((each) => [each.subscriber, unknownUpTo(each, dispatches, past)]));
  const isKnown = Math.max(...unknown.values()) === 0;
  const among = new Audiences(afters.keys());
  // A removed member who rejoined receives the guild again, and nothing of it in between: the session may have received
  // GUILD_DELETE in the meantime, from the stream that it asks to continue.
  const repeated = dispatches.filter(({ t }) => t !== 'GUILD_DELETE');
  const removedAt = removalsOf(dispatches);
  const sightChanges = sightChangesOf(guild, dispatches);
  return repeated.flatMap(({ t, d: payload, to: audience, n }) => {
    const channelId = audience.kind === 'channel' ? audience.channelId : null;
    const isHidden = channelId === null ? null : hiddenAt(guild, channelId, n, sightChanges);
    const isMissed = (session: Recipient): boolean =>
      (afters.get(session) ?? n) < n &&
      !isRemovedBefore(removedAt.get(session.userId), afters.get(session), n) &&
      (channelId === null || n > (unknown.get(session) ?? 0)) &&
      !isHidden?.(session.userId);
    const isForAll = n > last && removedAt.size === 0 && isKnown && !isHidden;
    return among
      .recipients(guild, { t, d: payload, to: audience } as Dispatch, nowMs)
      .flatMap(({ d, to: all }) => {
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

/** Changes of sight are sent to the users whom they concern; a channel that is created or deleted is sent to its viewers. */
function sightChangesOf(guild: Guild, dispatches: readonly StreamDispatch[]): SightChanges {
  const changes = new Map<string, SightChange[]>();
  for (const { t, d, to, n } of dispatches) {
    if (to.kind !== 'users') continue;
    const isOfThread = t === 'THREAD_CREATE';
    if (t !== 'CHANNEL_CREATE' && t !== 'CHANNEL_DELETE' && !isOfThread) continue;
    const id = 'id' in d ? String(d.id) : '';
    const userIds = isOfThread ? admitted(guild, id, to.userIds) : to.userIds;
    const change = { n, isShown: t !== 'CHANNEL_DELETE', userIds: new Set<string>(userIds) };
    changes.set(id, [...(changes.get(id) ?? []), change]);
  }
  return changes;
}

/** The users who see a thread only since they were added to it. */
function admitted(guild: Guild, threadId: string, userIds: readonly UserId[]): readonly UserId[] {
  const thread = isChannelId(threadId) ? guild.threads.get(threadId)?.thread : undefined;
  const parent = thread?.type === CHANNEL.PRIVATE_THREAD ? guild.channels.get(thread.parent_id) : undefined;
  if (!parent) return [];
  return userIds.filter((userId) => (channelPermissions(guild, userId, parent, 0) & P.MANAGE_THREADS) === 0n);
}

/** Users who were shown the channel, or the channel of the thread, only after `n`; null when there are none. */
function hiddenAt(
  guild: Guild,
  channelId: string,
  n: number,
  changes: SightChanges,
): ((userId: string) => boolean) | null {
  const parentId = isChannelId(channelId) ? guild.threads.get(channelId)?.thread.parent_id : undefined;
  const later = [channelId, parentId ?? channelId].map(
    (id) => changes.get(id)?.filter((each) => each.n > n) ?? [],
  );
  if (later.every((each) => each.length === 0)) return null;
  return (userId) => later.some((each) => each.find(({ userIds }) => userIds.has(userId))?.isShown ?? false);
}
