import { receivesGuilds } from '../../../engine/fanout/audience.ts';
import { DispatchBody } from '../../../engine/fanout/body.ts';
import { SYSTEM } from '../../../engine/kernel/authority.ts';
import { guildsOfShard } from '../../../engine/session/identify.ts';
import { NotServed } from '../../../protocol/faults.ts';
import type { GuildId, UserId } from '../../../protocol/ids.ts';
import type { VoiceListener } from '../../call/ports.ts';
import type { GuildListener } from '../../guild/guild.notifications.ts';
import type { Guilds } from '../../guild/guilds.ts';
import type { Placement } from '../../placement/ports.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { TimerWheel } from '../../runtime/wheel.ts';
import type { LiveSession } from '../../session/backend.ts';
import type { UserListener } from '../../user/user.shell.ts';
import type { Users } from '../../user/users.ts';
import { StateSync } from '../routing/statesync.ts';
import { isOwnedHere } from './ownershard.ts';
import type { Presences } from './presences.ts';
import type { ClusterSessions } from './sessions.ts';

export interface MembershipPorts {
  readonly guilds: Guilds;
  readonly users: Users;
  /** Null in standalone mode. */
  readonly clusterSessions: ClusterSessions | null;
  /** Receives changes of members' voice states. */
  readonly voiceListener: () => VoiceListener;
  readonly lobbies: {
    channelNews(news: Parameters<GuildListener['linked']>[0]): void;
    userChanged(user: Parameters<UserListener['userChanged']>[0]): void;
  };
  readonly identity: { forget(userId: UserId): void };
  readonly crossposts: { wake(): void };
  readonly eventClock: { schedule(atMs: number): void };
  readonly tags: { wake(): void };
  readonly integrations: {
    changed(guildId: GuildId, botId: UserId, change: 'created' | 'deleted'): Promise<void>;
  };
  readonly wheel: TimerWheel;
  readonly clock: Clock;
  readonly publishPresence: Presences['publish'];
  readonly republishPresences: Presences['republish'];
  readonly onFault: (error: unknown, id: string) => void;
}

/** First and longest delay before a crashed guild is loaded again. */
const RETRY_MS = { first: 500, most: 30_000 };

/**
 * Keeps sessions, users and guilds consistent: sessions of new members are subscribed, those of former members are not,
 * and crashed guilds and users are loaded again.
 */
export interface Membership extends GuildListener, UserListener {
  /** Subscribes a session and, when that fails, retries in the background. @throws the first failure. */
  subscribe(session: LiveSession, guildId: GuildId): Promise<boolean>;
}

type Ports = () => MembershipPorts;
type Timing = Pick<MembershipPorts, 'clock' | 'wheel'>;

/** The cluster with the implementation of the updates. */
interface MembershipCluster extends Placement {
  readonly parts: { readonly memberUpdates: CreateMemberUpdates };
}

/** Updates of the users' guild lists. */
type MemberUpdates = Pick<Membership, 'memberJoined' | 'memberLeft' | 'membersMoved'>;
type Subscribe = Membership['subscribe'];

/** Updates the users' guild lists, and through them the subscriptions of their sessions, at the owners of the users. */
export type CreateMemberUpdates = (
  cluster: Placement,
  timing: Timing,
  ports: Ports,
  subscribe: Subscribe,
) => MemberUpdates;

/**
 * Runs on the owner of the user, which knows the user's sessions.
 *
 * @param always Subscribe the sessions even for a known membership: this shard may have missed that the user left.
 */
const joining =
  (ports: Ports, subscribe: Subscribe, always: boolean) =>
  (guildId: GuildId, userId: UserId): void => {
    const { users, publishPresence, onFault, clusterSessions } = ports();
    users.joined(userId, guildId, always, (sessions) => {
      // Sessions of an application that acts for a user receive no guild dispatches.
      for (const session of sessions as readonly LiveSession[]) {
        if (session.authorization || guildsOfShard([guildId], session.shard).length === 0) continue;
        if (clusterSessions) clusterSessions.join(session, guildId);
        else subscribe(session, guildId).catch((fault) => onFault(fault, guildId));
      }
      publishPresence(userId, [guildId], users.presenceOf(userId));
    });
  };

const leaving =
  (ports: Ports) =>
  (guildId: GuildId, userId: UserId): void =>
    ports().users.left(userId, guildId);

/** Updates the guild lists in a standalone process, which owns every user. */
export const memberUpdatesHere: CreateMemberUpdates = (_cluster, _timing, ports, subscribe) => ({
  memberJoined: joining(ports, subscribe, false),
  memberLeft: leaving(ports),
});

/** Sends the updates of a shard to the owners of the users until acknowledged. */
export const createMemberUpdates: CreateMemberUpdates = (cluster, { clock, wheel }, ports, subscribe) => {
  const { ownership } = cluster;
  const [joined, left] = [joining(ports, subscribe, true), leaving(ports)];
  const { router } = cluster;
  const sync = new StateSync<'joined' | 'left', UserId, GuildId>({
    ...{ ownership, clock, wheel },
    link: {
      serve: (receive) => router.serve('users.setMemberships', ([updates]) => receive(updates)),
      send: (to, updates, deadlineMs) => router.askShard(to, 'users.setMemberships', [updates], deadlineMs),
    },
    apply: (userId, guildId, how) => (how === 'joined' ? joined : left)(guildId, userId),
    // After the guild changes owners, the next owner sends the updates that were not acknowledged.
    isOurs: (guildId) => isOwnedHere(ownership, guildId),
    onFault: (fault, userId) => ports().onFault(fault, userId),
  });
  return {
    memberJoined: (guildId, userId) => sync.put(userId, guildId, 'joined'),
    memberLeft(guildId, userId, n) {
      // Local sessions end their subscription to the guild at once.
      ports().clusterSessions?.memberRemoved(guildId, userId, n);
      sync.put(userId, guildId, 'left');
    },
    membersMoved(guildId, changes) {
      for (const [userId, how] of changes) sync.put(userId, guildId, how);
    },
  };
};

interface Resubscriptions {
  /**
   * Retries after a delay, after this turn for 0, until the guild is loaded or another shard owns it; skips sessions that ended and
   * users that left.
   */
  resubscribe(guildId: GuildId, sessions: readonly LiveSession[], delayMs: number): void;
  /** The guild is loaded, for whatever reason: retries at once. */
  loaded(guildId: GuildId): void;
}

/** Retries the subscriptions to crashed guilds. */
function resubscribing({ ownership }: Placement, ports: Ports): Resubscriptions {
  const waiting = new Map<GuildId, Set<() => void>>();
  const resubscribe: Resubscriptions['resubscribe'] = (guildId, sessions, delayMs) => {
    const { guilds, wheel, republishPresences, clusterSessions } = ports();
    // In a cluster each session's shard retries its own subscriptions; this only loads the guild and republishes
    // presences.
    const again = (session: LiveSession): Promise<boolean | null> =>
      clusterSessions
        ? guilds.look(guildId, () => true).then(Boolean, () => null)
        : guilds.subscribe(guildId, session, session.largeThreshold).catch(() => null);
    const wait = async (): Promise<void> => {
      if (!ownership.owns(guildId)) return;
      const live = sessions.filter((session) => !session.over);
      const back = await Promise.all(live.map(again));
      republishPresences(guildId, new Set(live.flatMap(({ userId }, at) => (back[at] ? [userId] : []))));
      const refused = live.filter((_, at) => back[at] === null);
      const nextMs = Math.min(Math.max(RETRY_MS.first, delayMs * 2), RETRY_MS.most);
      if (refused.length > 0) resubscribe(guildId, refused, nextMs);
    };
    const ofGuild = waiting.get(guildId) ?? new Set();
    const run = (): void => {
      if (!ofGuild.delete(run)) return;
      timer.cancel();
      if (ofGuild.size === 0) waiting.delete(guildId);
      wait().catch((fault) => ports().onFault(fault, guildId));
    };
    const timer = wheel.add(run, delayMs);
    waiting.set(guildId, ofGuild.add(run));
    if (delayMs === 0) queueMicrotask(run);
  };
  return {
    resubscribe,
    loaded(guildId) {
      for (const run of [...(waiting.get(guildId) ?? [])]) run();
      ports().clusterSessions?.guildLoaded(guildId);
    },
  };
}

export function createMembership(cluster: MembershipCluster, timing: Timing, ports: Ports): Membership {
  const { resubscribe, loaded } = resubscribing(cluster, ports);

  async function subscribe(session: LiveSession, guildId: GuildId): Promise<boolean> {
    try {
      return await ports().guilds.subscribe(guildId, session, session.largeThreshold);
    } catch (fault) {
      resubscribe(guildId, [session], RETRY_MS.first);
      throw fault;
    }
  }

  return {
    subscribe,
    ...cluster.parts.memberUpdates(cluster, timing, ports, subscribe),

    voiceJoined: (_guildId, voiceMember) => ports().voiceListener().voiceJoined(voiceMember),
    voiceLeft: (guildId, userId) => ports().voiceListener().voiceLeft(guildId, userId),
    callEnded: (_guildId, channelId, because) =>
      ports()
        .voiceListener()
        .ended(channelId, because && 'guild', because),
    crossposted: () => ports().crossposts.wake(),
    eventDue: (atMs) => ports().eventClock.schedule(atMs),
    botChanged(guildId, botId, change) {
      const { integrations, onFault } = ports();
      integrations.changed(guildId, botId, change).catch((fault) => onFault(fault, guildId));
    },
    tagsQueued: () => ports().tags.wake(),
    linked: (news) => ports().lobbies.channelNews(news),

    userChanged(user, guildIds) {
      const { guilds, identity, lobbies, onFault } = ports();
      identity.forget(user.id);
      lobbies.userChanged(user);
      for (const guildId of guildIds)
        guilds.call(guildId, 'memberUserChanged', { user }, SYSTEM).catch((fault) => onFault(fault, guildId));
    },

    guildLoaded: loaded,

    guildLost(guildId, subscribers, n, isInterrupted) {
      const { clock, clusterSessions } = ports();
      if (clusterSessions) clusterSessions.guildLost(guildId, n);
      else {
        const body = new DispatchBody('GUILD_DELETE', { id: guildId, unavailable: true }, clock.monotonic());
        for (const session of subscribers) if (receivesGuilds(session)) session.deliver(body);
      }
      resubscribe(guildId, subscribers as readonly LiveSession[], isInterrupted ? 0 : RETRY_MS.first);
    },

    republishPresences: (guildId, userIds) => ports().republishPresences(guildId, userIds),
    subscriberReplaced: (guildId, session, n) =>
      ports().clusterSessions?.sessionReplaced(session as LiveSession, guildId, n),
    sessionReplaced: (session) => ports().clusterSessions?.sessionReplaced(session as LiveSession, null, 0),
    guildReleased: (guildId, n) => ports().clusterSessions?.guildReleased(guildId, n),

    userLost(userId, sessions) {
      const { users, onFault } = ports();
      for (const session of sessions as readonly LiveSession[])
        if (!session.over)
          users.open(session).catch((fault) => {
            // The shard closes, or another shard owns the user now.
            if (!(fault instanceof NotServed)) onFault(fault, userId);
          });
    },
  };
}
