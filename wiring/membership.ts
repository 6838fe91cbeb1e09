import type { Seats } from '../actors/call/ports.ts';
import type { GuildListener } from '../actors/guild/guild.shell.ts';
import type { Guilds } from '../actors/guild/guilds.ts';
import type { Lobbies } from '../actors/lobby/ports.ts';
import type { Clock } from '../actors/runtime/clock.ts';
import type { TimerWheel } from '../actors/runtime/wheel.ts';
import type { LiveSession } from '../actors/session/backend.ts';
import type { UserListener } from '../actors/user/user.shell.ts';
import type { Users } from '../actors/user/users.ts';
import { SYSTEM } from '../engine/authority.ts';
import { DispatchBody } from '../engine/fanout/body.ts';
import type { Presence } from '../engine/presence/merge.ts';
import { guildsOfShard } from '../engine/session/identify.ts';
import type { GuildId } from '../protocol/ids.ts';
import { INTENTS } from '../protocol/intents.ts';

export interface MembershipPorts {
  readonly guilds: Guilds;
  readonly users: Users;
  /** Hears where members of guilds are in voice. */
  readonly seats: Seats;
  readonly lobbies: Pick<Lobbies, 'channelNews' | 'userChanged'>;
  readonly wheel: TimerWheel;
  readonly clock: Clock;
  readonly present: (userId: string, guildIds: readonly GuildId[], presence: Presence | null) => void;
  readonly onFault: (error: unknown, id: string) => void;
}

/** First and longest wait before a guild that fell over is asked for again. */
const RETRY_MS = { first: 500, most: 30_000 };

/** Keeps sessions, users and guilds in step: who joins receives, who leaves no longer does, what falls over comes back. */
export interface Membership extends GuildListener, UserListener {
  /** Subscribes a session, again and again when the guild cannot be had. @throws what went wrong the first time. */
  subscribe(session: LiveSession, guildId: GuildId): Promise<boolean>;
}

export function createMembership(ports: () => MembershipPorts): Membership {
  async function subscribe(session: LiveSession, guildId: GuildId): Promise<boolean> {
    try {
      return await ports().guilds.subscribe(guildId, session, session.largeThreshold);
    } catch (fault) {
      restore(guildId, [session], RETRY_MS.first);
      throw fault;
    }
  }

  function memberJoined(guildId: GuildId, userId: string): void {
    const { users, present, onFault } = ports();
    users.joined(userId, guildId, (sessions) => {
      // An application that acts for a user hears nothing of guilds.
      for (const session of sessions as readonly LiveSession[])
        if (!session.authorization && guildsOfShard([guildId], session.shard).length > 0)
          subscribe(session, guildId).catch((fault) => onFault(fault, guildId));
      present(userId, [guildId], users.presenceOf(userId));
    });
  }

  /** Asks for the guild until it is back; a session that ended meanwhile, or a user that left, is not asked for. */
  function restore(guildId: GuildId, sessions: readonly LiveSession[], delayMs: number): void {
    const { guilds, users, wheel, present } = ports();
    const again = (session: LiveSession) =>
      guilds.subscribe(guildId, session, session.largeThreshold).catch(() => null);
    const wait = async (): Promise<void> => {
      const live = sessions.filter((session) => !session.over);
      const back = await Promise.all(live.map(again));
      for (const userId of new Set(live.flatMap((session, at) => (back[at] ? [session.userId] : []))))
        present(userId, [guildId], users.presenceOf(userId));
      const waiting = live.filter((_, at) => back[at] === null);
      if (waiting.length > 0) restore(guildId, waiting, Math.min(delayMs * 2, RETRY_MS.most));
    };
    wheel.add(() => void wait(), delayMs);
  }

  return {
    subscribe,
    memberJoined,
    memberLeft: (guildId, userId) => ports().users.left(userId, guildId),

    seated: (_guildId, seat) => ports().seats.seated(seat),
    unseated: (guildId, userId) => ports().seats.unseated(guildId, userId),
    callEnded: (_guildId, channelId) => ports().seats.ended(channelId),
    linked: (news) => ports().lobbies.channelNews(news),

    changed(user, guildIds) {
      const { guilds, lobbies, onFault } = ports();
      lobbies.userChanged(user);
      for (const guildId of guildIds)
        guilds.call(guildId, 'memberUserChanged', { user }, SYSTEM).catch((fault) => onFault(fault, guildId));
    },

    lostGuild(guildId, subscribers) {
      const { clock } = ports();
      const body = new DispatchBody('GUILD_DELETE', { id: guildId, unavailable: true }, clock.monotonic());
      for (const session of subscribers)
        if (!session.bot || (session.intents & INTENTS.GUILDS) !== 0) session.deliver(body);
      restore(guildId, subscribers as readonly LiveSession[], RETRY_MS.first);
    },

    lostUser(userId, sessions) {
      const { users, onFault } = ports();
      for (const session of sessions as readonly LiveSession[])
        if (!session.over) users.open(session).catch((fault) => onFault(fault, userId));
    },
  };
}
