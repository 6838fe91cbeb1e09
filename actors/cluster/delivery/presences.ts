import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { mergePresences, type Presence } from '../../../engine/presence/merge.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import type { Guilds } from '../../guild/guilds.ts';
import type { Placement } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Wheel } from '../../runtime/wheel.ts';
import type { UserState } from '../../user/user.shell.ts';
import type { Users } from '../../user/users.ts';
import { StateSync } from '../routing/statesync.ts';

/** Tells guilds how a user appears now, null: offline. By the owner of the user. */
export type PublishPresence = (
  userId: string,
  guildIds: readonly GuildId[],
  presence: Presence | null,
) => void;

interface PresencePorts {
  readonly guilds: Pick<Guilds, 'call' | 'isResident' | 'look'>;
  readonly users: Pick<Users, 'resident' | 'presenceOf' | 'sessions'>;
  readonly clock: Clock;
  readonly wheel: Wheel;
  readonly cluster: Placement;
  /** How long a session may be away that goes on where it was. */
  readonly resumeWindowMs: number;
  readonly onFault: (error: unknown, id: string) => void;
}

export interface Presences {
  readonly publish: PublishPresence;
  /** Has the owners of these users tell a guild of this shard once more how they appear. */
  readonly republish: (guildId: GuildId, userIds: Iterable<string>) => void;
  /** A session of the user does not hear the guild, which is this shard's, any more. */
  readonly noSubscribers: (guildId: GuildId, userId: string) => void;
}

/** Users in one turn when all are told anew. */
const SLICE = 500;
/** Users who have gone of late, at most. */
const OFFLINE_MAX = 50_000;
/** How long sessions of living shards may take to be open with the next owner of their user. */
const SESSION_WAIT_MS = 5_000;
/** As of a stream: the epoch of the user's owner, then a count. */
const PER_EPOCH = 2 ** 32;

/** How a user appears, for one guild. */
type PresenceUpdate = readonly [presence: Presence | null, n: number, again: boolean];

/** Tells the guilds of this shard and of others how users appear. */
export function createPresences(ports: PresencePorts): Presences {
  const { guilds, users, cluster, onFault } = ports;
  if (!cluster.ownership.standalone) return clusterPresences(ports);
  const publish: PublishPresence = (userId, guildIds, presence) => {
    for (const guildId of guildIds)
      guilds
        .call(guildId, 'setPresence', { userId: userId as UserId, presence }, SYSTEM)
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

/** Who has gone offline of late, so that owners of guilds that come after hear of it too. */
interface WentOffline {
  readonly guildIds: readonly GuildId[];
  readonly n: number;
  readonly atMs: number;
}

/**
 * The owner of a user tells the owner of each guild, until that one has taken it, and everything anew when the guild
 * changes hands. What was said late, by an earlier owner of the user or in another order, is known by its number.
 */
function clusterPresences(ports: PresencePorts): Presences {
  const { guilds, clock, wheel, cluster, onFault } = ports;
  const { ownership } = cluster;
  const updates = new StateSync<PresenceUpdate>({
    ...{ ownership, router: cluster.router, clock, wheel, method: 'guilds.setPresences', onFault },
    apply(guildId, userId, [presence, n, again]) {
      guilds
        .call(guildId as GuildId, 'setPresence', { userId: userId as UserId, presence, n, again }, SYSTEM)
        .catch((fault) => onFault(fault, guildId));
    },
  });
  const isOurs = (userId: string) => {
    const owner = ownership.ownerOf(userId);
    return owner !== null && owner.instance === ownership.self?.instance;
  };
  let count = 0;
  const next = (userId: string): number => {
    count += 1;
    return (ownership.ownerOf(userId)?.epoch ?? 0) * PER_EPOCH + count;
  };
  const online = new Set<string>();
  const offline = new Map<string, WentOffline>();

  const publish: PublishPresence = (userId, guildIds, presence) => {
    const n = next(userId);
    for (const guildId of guildIds) updates.put(guildId, userId, [presence, n, false]);
    if (presence) {
      online.add(userId);
      offline.delete(userId);
    } else if (online.delete(userId)) {
      offline.set(userId, { guildIds, n, atMs: clock.monotonic() });
      const [oldest] = offline.keys();
      if (offline.size > OFFLINE_MAX && oldest !== undefined) offline.delete(oldest);
    }
  };

  function forgetGone(): void {
    const beforeMs = clock.monotonic() - ports.resumeWindowMs;
    for (const [userId, { atMs }] of offline) if (atMs < beforeMs || !isOurs(userId)) offline.delete(userId);
    for (const userId of online) if (!isOurs(userId)) online.delete(userId);
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

/** Tells guilds anew of everyone here who is online, a few at a time: for most nothing changes by it. */
function republishingAll({ users, clock }: PresencePorts, publish: PublishPresence) {
  function slice(waiting: UserState[], concerns: (guildId: string) => boolean): void {
    for (const { user, guildIds, presences } of waiting.splice(-SLICE)) {
      const presence = mergePresences(presences.values());
      const concerned = presence ? [...guildIds].filter(concerns) : [];
      if (concerned.length > 0) publish(user.id, concerned, presence);
    }
    if (waiting.length > 0) clock.defer(() => slice(waiting, concerns));
  }
  return (concerns: (guildId: string) => boolean): void =>
    slice(
      [...users.resident()].filter(({ presences }) => presences.size > 0),
      concerns,
    );
}

/** Tells guilds once more of users of this shard, when their owners ask for it. */
function republishingOnRequest(ports: PresencePorts, publish: PublishPresence): StateSync<null> {
  const { users, clock, wheel, cluster, onFault } = ports;
  const { ownership, router } = cluster;
  return new StateSync<null>({
    ...{ ownership, router, clock, wheel, method: 'users.repeatPresences', onFault },
    apply(userId, guildId) {
      const tell = () => {
        if (ownership.owns(userId)) publish(userId, [guildId as GuildId], users.presenceOf(userId));
      };
      // A user who has just come from another shard may come before the sessions.
      if (users.sessions(userId).length > 0) tell();
      else wheel.after(tell, SESSION_WAIT_MS);
    },
  });
}

/** Has users presented again that a guild shows, though no session of theirs hears it any more: their owner may have died with them. */
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
  return (guildId: GuildId, userId: string): void => {
    if (left.size === 0)
      wheel.after(() => {
        const due = left;
        left = new Map();
        for (const [id, userIds] of due) look(id, userIds).catch((fault) => onFault(fault, id));
      }, SESSION_WAIT_MS);
    const userIds = left.get(guildId);
    if (userIds) userIds.add(userId as UserId);
    else left.set(guildId, new Set([userId as UserId]));
  };
}
