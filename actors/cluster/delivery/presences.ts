import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { mergePresences, type Presence } from '../../../engine/presence/merge.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import { dropOldest } from '../../../protocol/oldest.ts';
import type { Guilds } from '../../guild/guilds.ts';
import type { Placement } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import { baseOf } from '../../runtime/stream.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { ResidentUser, Users } from '../../user/users.ts';
import { StateSync } from '../routing/statesync.ts';
import { isOwnedHere } from './ownershard.ts';

/** Publishes a user's presence (null: offline) to guilds. Called by the owner of the user. */
export type PublishPresence = (
  userId: UserId,
  guildIds: readonly GuildId[],
  presence: Presence | null,
) => void;

interface PresencePorts {
  readonly guilds: Pick<Guilds, 'call' | 'isResident' | 'look'>;
  readonly users: Pick<Users, 'resident' | 'presenceOf' | 'sessions'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly cluster: Placement;
  /** How long a disconnected session can be resumed. */
  readonly resumeWindowMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

export interface Presences {
  readonly publish: PublishPresence;
  /** Asks the owners of these users to publish their presences to a guild of this shard again. */
  readonly republish: (guildId: GuildId, userIds: Iterable<UserId>) => void;
  /** A session of the user no longer subscribes to the guild, which this shard owns. */
  readonly noSubscribers: (guildId: GuildId, userId: UserId) => void;
}

/** Upper bound on users in one tick when all presences are republished. */
const SLICE = 500;
/** Upper bound on the remembered users that went offline recently. */
const OFFLINE_MAX = 50_000;
/** How long sessions of live shards may take to reopen with the next owner of their user. */
const SESSION_WAIT_MS = 5_000;

/** A user's presence as published to one guild. */
type PresenceUpdate = readonly [presence: Presence | null, n: number, again: boolean];

/** Publishes the presences of users to the guilds of a standalone process. */
export function presencesHere({ guilds, users, onFault }: PresencePorts): Presences {
  const publish: PublishPresence = (userId, guildIds, presence) => {
    for (const guildId of guildIds)
      guilds
        .call(guildId, 'setPresence', { userId, presence }, SYSTEM)
        .catch((fault) => onFault(fault, guildId));
  };
  return {
    publish,
    republish(guildId, userIds) {
      for (const userId of userIds) publish(userId, [guildId], users.presenceOf(userId));
    },
    noSubscribers: () => undefined,
  };
}

/** A user that went offline recently; the next owners of the user's guilds are notified too. */
interface WentOffline {
  readonly guildIds: readonly GuildId[];
  readonly n: number;
  readonly atMs: number;
}

/**
 * The owner of a user sends presences to the owner of each guild until acknowledged, and sends all of them again when
 * the guild changes owners. The number lets a guild drop updates that are late, from an earlier owner of the user, or
 * out of order.
 */
export function createPresences(ports: PresencePorts): Presences {
  const { guilds, clock, wheel, cluster, onFault } = ports;
  const { ownership, router } = cluster;
  const updates = new StateSync<PresenceUpdate, GuildId, UserId>({
    ...{ ownership, clock, wheel, onFault },
    link: {
      serve: (receive) => router.serve('guilds.setPresences', ([updates]) => receive(updates)),
      send: (to, updates, deadlineMs) => router.askShard(to, 'guilds.setPresences', [updates], deadlineMs),
    },
    apply(guildId, userId, [presence, n, again]) {
      guilds
        .call(guildId, 'setPresence', { userId, presence, n, again }, SYSTEM)
        .catch((fault) => onFault(fault, guildId));
    },
  });
  let count = 0;
  /** Built like the numbers of streams, from the epoch of the user's owner. */
  const next = (userId: string): number => {
    count += 1;
    return baseOf(ownership.ownerOf(userId)?.epoch ?? 0) + count;
  };
  const online = new Set<UserId>();
  const offline = new Map<UserId, WentOffline>();

  const publish: PublishPresence = (userId, guildIds, presence) => {
    const n = next(userId);
    for (const guildId of guildIds) updates.put(guildId, userId, [presence, n, false]);
    if (presence) {
      online.add(userId);
      offline.delete(userId);
    } else if (online.delete(userId)) {
      offline.set(userId, { guildIds, n, atMs: clock.monotonic() });
      dropOldest(offline, OFFLINE_MAX);
    }
  };

  function forgetGone(): void {
    const beforeMs = clock.monotonic() - ports.resumeWindowMs;
    for (const [userId, { atMs }] of offline)
      if (atMs < beforeMs || !isOwnedHere(ownership, userId)) offline.delete(userId);
    for (const userId of online) if (!isOwnedHere(ownership, userId)) online.delete(userId);
  }
  const republishAll = republishingAll(ports, publish);
  ownership.onChange(({ moved }) => {
    if (moved.length === 0) return;
    const partitions = new Set(moved);
    const concerns = (guildId: string) => partitions.has(ownership.partitionOf(guildId));
    forgetGone();
    for (const [userId, { guildIds, n }] of offline)
      for (const guildId of guildIds) if (concerns(guildId)) updates.put(guildId, userId, [null, n, true]);
    republishAll(concerns);
  });

  const requests = republishingOnRequest(ports, publish);
  const republish: Presences['republish'] = (guildId, userIds) => {
    for (const userId of userIds) requests.put(userId, guildId, null);
  };
  return { publish, republish, noSubscribers: recheckingUnsubscribed(ports, republish) };
}

/** Republishes all online users of this shard in slices of `SLICE`; most of these updates change nothing. */
function republishingAll({ users, clock }: PresencePorts, publish: PublishPresence) {
  function slice(waiting: ResidentUser[], concerns: (guildId: string) => boolean): void {
    for (const { user, guildIds, presences } of waiting.splice(-SLICE)) {
      const presence = mergePresences(presences());
      const concerned = presence ? [...guildIds].filter(concerns) : [];
      if (concerned.length > 0) publish(user.id, concerned, presence);
    }
    if (waiting.length > 0) clock.defer(() => slice(waiting, concerns));
  }
  return (concerns: (guildId: string) => boolean): void =>
    slice(
      [...users.resident()].filter(({ presences }) => presences().length > 0),
      concerns,
    );
}

/** Republishes users of this shard to guilds whose owners request it. */
function republishingOnRequest(
  ports: PresencePorts,
  publish: PublishPresence,
): StateSync<null, UserId, GuildId> {
  const { users, clock, wheel, cluster, onFault } = ports;
  const { ownership, router } = cluster;
  return new StateSync<null, UserId, GuildId>({
    ...{ ownership, clock, wheel, onFault },
    link: {
      serve: (receive) => router.serve('users.repeatPresences', ([updates]) => receive(updates)),
      send: (to, updates, deadlineMs) => router.askShard(to, 'users.repeatPresences', [updates], deadlineMs),
    },
    apply(userId, guildId) {
      const tell = () => {
        if (ownership.owns(userId)) publish(userId, [guildId], users.presenceOf(userId));
      };
      // A user that moved from another shard may arrive before the sessions.
      if (users.sessions(userId).length > 0) tell();
      else wheel.after(tell, SESSION_WAIT_MS);
    },
  });
}

/**
 * Requests the presences of users that a guild shows as present although no session of theirs subscribes to it: the
 * owner of such a user may have died together with the sessions.
 */
function recheckingUnsubscribed(
  { guilds, wheel, onFault }: PresencePorts,
  republish: Presences['republish'],
) {
  let left = new Map<GuildId, Set<UserId>>();
  async function look(guildId: GuildId, userIds: ReadonlySet<UserId>): Promise<void> {
    if (!guilds.isResident(guildId)) return;
    const shown = await guilds.look(guildId, ({ presences, sessionCounts }) =>
      [...userIds].filter((userId) => presences.has(userId) && !sessionCounts.has(userId)),
    );
    if (!('refusal' in shown)) republish(guildId, shown);
  }
  return (guildId: GuildId, userId: UserId): void => {
    if (left.size === 0)
      wheel.after(() => {
        const due = left;
        left = new Map();
        for (const [id, userIds] of due) look(id, userIds).catch((fault) => onFault(fault, id));
      }, SESSION_WAIT_MS);
    const userIds = left.get(guildId);
    if (userIds) userIds.add(userId);
    else left.set(guildId, new Set([userId]));
  };
}
