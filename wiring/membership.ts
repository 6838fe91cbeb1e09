import type { Seats } from '../actors/call/ports.ts';
import type { GuildListener } from '../actors/guild/guild.shell.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Lobbies } from '../actors/lobby/ports.ts';
import type { Clock } from '../actors/runtime/clock.ts';
import { inTurns } from '../actors/runtime/turns.ts';
import type { TimerWheel } from '../actors/runtime/wheel.ts';
import type { LiveSession } from '../actors/session/backend.ts';
import type { Telling } from '../actors/user/telling.ts';
import type { UserListener } from '../actors/user/user.shell.ts';
import type { Users } from '../actors/user/users.ts';
import { SYSTEM } from '../engine/authority.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import { guildsOfShard } from '../engine/session/identify.ts';
import type { GuildId, UserId } from '../protocol/ids.ts';
import { INTENTS } from '../protocol/intents.ts';
import type { Present } from './cluster.presence.ts';
import type { ClusterSessions } from './cluster.sessions.ts';
import type { Cluster } from './cluster.ts';

export interface MembershipPorts {
  readonly guilds: Guilds;
  readonly users: Users;
  /** Null while this process is alone. */
  readonly clusterSessions: ClusterSessions | null;
  readonly telling: Pick<Telling, 'presencesOf'>;
  /** Hears where members of guilds are in voice. */
  readonly seats: Seats;
  readonly lobbies: Pick<Lobbies, 'channelNews' | 'userChanged'>;
  readonly wheel: TimerWheel;
  readonly clock: Clock;
  readonly present: Present;
  readonly onFault: (error: unknown, id: string) => void;
}

/** First and longest wait before a guild that fell over is asked for again. */
const RETRY_MS = { first: 500, most: 30_000 };

/** Keeps sessions, users and guilds in step: who joins receives, who leaves no longer does, what falls over comes back. */
export interface Membership extends GuildListener, UserListener {
  /** Subscribes a session, again and again when the guild cannot be had. @throws what went wrong the first time. */
  subscribe(session: LiveSession, guildId: GuildId): Promise<boolean>;
}

type Ports = () => MembershipPorts;

/** Who joins receives and who leaves no longer does, as the owners of the users see to. */
function following(
  { ownership, router }: Cluster,
  ports: Ports,
  subscribe: Membership['subscribe'],
): Pick<Membership, 'memberJoined' | 'memberLeft'> {
  const inTurn = inTurns<string>();

  /** By the owner of the user, who knows the user's sessions. */
  function joined(guildId: GuildId, userId: string): void {
    const { users, present, onFault, clusterSessions } = ports();
    users.joined(userId, guildId, (sessions) => {
      // An application that acts for a user hears nothing of guilds.
      for (const session of sessions as readonly LiveSession[]) {
        if (session.authorization || guildsOfShard([guildId], session.shard).length === 0) continue;
        if (clusterSessions) clusterSessions.join(session, guildId);
        else subscribe(session, guildId).catch((fault) => onFault(fault, guildId));
      }
      present(userId, [guildId], users.presenceOf(userId));
    });
  }

  const left = (guildId: GuildId, userId: string): void => ports().users.left(userId, guildId);

  /** One after the other for each user, so that who comes and goes is seen to have gone. */
  const followed =
    (method: string, run: typeof joined) =>
    (guildId: GuildId, userId: string): void => {
      if (ownership.alone) {
        run(guildId, userId);
        return;
      }
      const here = async () => run(guildId, userId);
      inTurn(userId, () => router.at(userId, method, [guildId, userId], here, { repeatable: true })).catch(
        (fault) => ports().onFault(fault, userId),
      );
    };
  router.handle('user.joined', (args: Parameters<typeof joined>) => joined(...args));
  router.handle('user.left', (args: Parameters<typeof left>) => left(...args));
  return {
    memberJoined: followed('user.joined', joined),
    memberLeft: dismissing(followed('user.left', left), ports),
  };
}

type Restore = (guildId: GuildId, sessions: readonly LiveSession[], delayMs: number) => void;

/** Asks for guilds that fell over. */
function restoring({ ownership }: Cluster, ports: Ports): Restore {
  /**
   * Asks for the guild until it is back, or another shard's; a session that ended meanwhile, or a user that left, is
   * not asked for.
   */
  const restore: Restore = (guildId, sessions, delayMs) => {
    const { guilds, wheel, telling, present, clusterSessions } = ports();
    // Among shards their homes ask for it: here it only hears again who is online.
    const again = (session: LiveSession): Promise<boolean | null> =>
      clusterSessions
        ? guilds.look(guildId, () => true).then(Boolean, () => null)
        : guilds.subscribe(guildId, session, session.largeThreshold).catch(() => null);
    const wait = async (): Promise<void> => {
      if (!ownership.owns(guildId)) return;
      const live = sessions.filter((session) => !session.over);
      const back = await Promise.all(live.map(again));
      const userIds = new Set(live.flatMap((session, at) => (back[at] ? [session.userId as UserId] : [])));
      const presences = await telling.presencesOf([...userIds]);
      for (const userId of userIds) present(userId, [guildId], presences.get(userId) ?? null);
      const waiting = live.filter((_, at) => back[at] === null);
      if (waiting.length > 0) restore(guildId, waiting, Math.min(delayMs * 2, RETRY_MS.most));
    };
    wheel.add(() => void wait().catch((fault) => ports().onFault(fault, guildId)), delayMs);
  };
  return restore;
}

/** Sessions of this shard do not follow what their user has left. */
const dismissing =
  (
    left: Membership['memberLeft'],
    ports: () => Pick<MembershipPorts, 'clusterSessions'>,
  ): Membership['memberLeft'] =>
  (guildId, userId) => {
    ports().clusterSessions?.dismissed(guildId, userId);
    left(guildId, userId);
  };

export function createMembership(cluster: Cluster, ports: Ports): Membership {
  const restore = restoring(cluster, ports);

  async function subscribe(session: LiveSession, guildId: GuildId): Promise<boolean> {
    try {
      return await ports().guilds.subscribe(guildId, session, session.largeThreshold);
    } catch (fault) {
      restore(guildId, [session], RETRY_MS.first);
      throw fault;
    }
  }

  return {
    subscribe,
    ...following(cluster, ports, subscribe),

    seated: (_guildId, seat) => ports().seats.seated(seat),
    unseated: (guildId, userId) => ports().seats.unseated(guildId, userId),
    callEnded: (_guildId, channelId, moved) => ports().seats.ended(channelId, moved ? 'guild' : undefined),
    linked: (news) => ports().lobbies.channelNews(news),

    changed(user, guildIds) {
      const { guilds, lobbies, onFault } = ports();
      lobbies.userChanged(user);
      for (const guildId of guildIds)
        guilds.call(guildId, 'memberUserChanged', { user }, SYSTEM).catch((fault) => onFault(fault, guildId));
    },

    lostGuild(guildId, subscribers) {
      const { clock, clusterSessions } = ports();
      // Of the guild's stream, by which homes know what to ask for; with a number that moves no cursor.
      const origin = clusterSessions ? { ownerId: guildId, n: 1 } : null;
      const d = { id: guildId, unavailable: true };
      const body = new DispatchBody('GUILD_DELETE', d, clock.monotonic(), origin);
      for (const session of subscribers)
        if (!session.bot || (session.intents & INTENTS.GUILDS) !== 0) session.deliver(body);
      clusterSessions?.darkened(guildId, subscribers as readonly LiveSession[]);
      restore(guildId, subscribers as readonly LiveSession[], RETRY_MS.first);
    },

    departed: (guildId, n) => ports().clusterSessions?.departed(guildId, n),

    lostUser(userId, sessions) {
      const { users, onFault } = ports();
      for (const session of sessions as readonly LiveSession[])
        if (!session.over) users.open(session).catch((fault) => onFault(fault, userId));
    },
  };
}
