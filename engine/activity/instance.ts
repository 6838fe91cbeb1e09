import {
  ACTIVITIES_PER_LOCATION_MAX,
  ACTIVITY_CONNECTIONS_MAX,
  ACTIVITY_CONNECTIONS_PER_USER_MAX,
  ACTIVITY_LEASE_MS,
  type ActivityLocation,
  instanceIdOf,
  locationObject,
} from '../../protocol/activityinstances.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { accepted, type FactOf, type Outcome, refused } from '../kernel/aggregate.ts';

/** One window of a user that shows the activity. */
interface ActivityConnection {
  readonly userId: UserId;
  /** Chosen by the client; null for a user whose client is yet to open the activity. */
  readonly connectionId: string | null;
  /** The connection ends at this time unless its client renews it, Unix milliseconds. */
  readonly untilMs: number;
}

/** A running activity of one application at one location. Plain data. */
export interface ActivityInstance extends ActivityLocation {
  readonly ownerId: string;
  readonly applicationId: ApplicationId;
  readonly launchId: string;
  /** Oldest first; never empty. */
  readonly connections: readonly ActivityConnection[];
}

export type ActivityFacts = {
  activityInstanceWritten: { readonly instance: ActivityInstance };
  activityInstanceEnded: { readonly channelId: ChannelId; readonly applicationId: ApplicationId };
};
export type ActivityFact = FactOf<ActivityFacts>;

/** All instances that one guild or private channel owns. */
type ActivityInstances = readonly ActivityInstance[];

/** The instance after a change, and whether others see the change; a renewal is not stored. */
export interface ActivityChange {
  readonly instance: ActivityInstance;
  readonly isShown: boolean;
}

type Decision<Value> = Outcome<Value, ActivityFact>;

interface Joining extends ActivityLocation {
  readonly ownerId: string;
  readonly applicationId: ApplicationId;
  readonly userId: UserId;
  readonly connectionId: string | null;
}

const isAt = (
  { channelId, applicationId }: ActivityInstance,
  at: Pick<Joining, 'channelId' | 'applicationId'>,
) => channelId === at.channelId && applicationId === at.applicationId;

export const instanceAt = (
  all: ActivityInstances,
  at: Pick<Joining, 'channelId' | 'applicationId'>,
): ActivityInstance | null => all.find((one) => isAt(one, at)) ?? null;

/** Users who take part, in the order in which they joined. */
const usersOf = ({ connections }: ActivityInstance): UserId[] => [
  ...new Set(connections.map(({ userId }) => userId)),
];

export const idOf = (instance: ActivityInstance): string => instanceIdOf(instance.launchId, instance);

/**
 * Joins the activity of an application at a location, launches it if it does not run there, or renews a connection. A
 * connection of a user takes the place of one that was to be opened.
 */
export function joinActivity(
  all: ActivityInstances,
  joining: Joining,
  env: { readonly nowMs: number; nextId(): string },
): Decision<ActivityChange> {
  const { userId, connectionId, ownerId, guildId, channelId, applicationId } = joining;
  const before = instanceAt(all, joining);
  const connection = { userId, connectionId, untilMs: env.nowMs + ACTIVITY_LEASE_MS };
  if (!before) {
    if (all.filter((one) => one.channelId === channelId).length >= ACTIVITIES_PER_LOCATION_MAX)
      return refused(refusal('CONFLICT'));
    const place = { ownerId, guildId, channelId, applicationId };
    const instance = { ...place, launchId: env.nextId(), connections: [connection] };
    return shown(instance);
  }
  const own = before.connections.filter((one) => one.userId === userId);
  if (connectionId === null && own.length > 0) return accepted({ instance: before, isShown: false });
  const replaced = own.find((one) => one.connectionId === connectionId || one.connectionId === null);
  if (replaced) {
    const connections = before.connections.map((one) => (one === replaced ? connection : one));
    const instance = { ...before, connections };
    return replaced.connectionId === connectionId ? accepted({ instance, isShown: false }) : stored(instance);
  }
  const isFull =
    own.length >= ACTIVITY_CONNECTIONS_PER_USER_MAX || before.connections.length >= ACTIVITY_CONNECTIONS_MAX;
  if (isFull) return refused(refusal('CONFLICT'));
  const instance = { ...before, connections: [...before.connections, connection] };
  return own.length > 0 ? stored(instance) : shown(instance);
}

/** Ends one connection of a user; null ends all of them. Null when nothing changes. */
export function leaveActivity(
  before: ActivityInstance,
  { userId, connectionId }: Pick<Joining, 'userId' | 'connectionId'>,
): Decision<ActivityChange | null> {
  return without(
    before,
    (one) => one.userId === userId && (connectionId === null || one.connectionId === connectionId),
  );
}

/** Ends connections that their clients have not renewed. Null without any. */
export const lapseActivity = (before: ActivityInstance, nowMs: number): Decision<ActivityChange | null> =>
  without(before, ({ untilMs }) => untilMs <= nowMs);

/** The instance with full leases for all participants, because a new owner starts counting now. */
export const withFreshLeases = (instance: ActivityInstance, nowMs: number): ActivityInstance => ({
  ...instance,
  connections: instance.connections.map((one) => ({ ...one, untilMs: nowMs + ACTIVITY_LEASE_MS })),
});

/** When the earliest lease ends, Unix milliseconds. */
export const nextLapseMs = (all: ActivityInstances): number =>
  Math.min(...all.flatMap(({ connections }) => connections.map(({ untilMs }) => untilMs)));

function without(
  before: ActivityInstance,
  isOver: (one: ActivityConnection) => boolean,
): Decision<ActivityChange | null> {
  const connections = before.connections.filter((one) => !isOver(one));
  if (connections.length === before.connections.length) return accepted(null);
  const instance = { ...before, connections };
  if (connections.length > 0)
    return usersOf(instance).length === usersOf(before).length ? stored(instance) : shown(instance);
  const { channelId, applicationId } = before;
  return accepted({ instance, isShown: true }, [{ type: 'activityInstanceEnded', channelId, applicationId }]);
}

const shown = (instance: ActivityInstance): Decision<ActivityChange> =>
  accepted({ instance, isShown: true }, [{ type: 'activityInstanceWritten', instance }]);
const stored = (instance: ActivityInstance): Decision<ActivityChange> =>
  accepted({ instance, isShown: false }, [{ type: 'activityInstanceWritten', instance }]);

/** A running activity as bots see it. */
export const instanceObject = (instance: ActivityInstance): object => ({
  application_id: instance.applicationId,
  instance_id: idOf(instance),
  launch_id: instance.launchId,
  location: locationObject(instance),
  users: usersOf(instance),
});

/**
 * A running activity as clients see it; one that has ended has no participants.
 *
 * @source https://docs.discord.food/topics/gateway-events#embedded-activity-update-v2
 */
export const embeddedActivityObject = (instance: ActivityInstance): object => ({
  application_id: instance.applicationId,
  composite_instance_id: idOf(instance),
  launch_id: instance.launchId,
  location: locationObject(instance),
  participants: usersOf(instance).map((userId) => ({ user_id: userId })),
});
