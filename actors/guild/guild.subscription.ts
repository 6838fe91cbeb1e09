import { touchAudiences } from '../../engine/fanout/audience.ts';
import type { DispatchBody, Subscriber } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { guildCreatePayload } from '../../engine/guild/payloads.ts';
import type { UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import type { Work } from '../runtime/resident.machine.ts';

/** A session that may end while it is being subscribed. */
export interface Subscribing extends Subscriber {
  /** True from the moment it has ended: then nobody would take it off the guild again. */
  readonly over?: boolean;
}

interface Ports {
  nowMs(): number;
  /** True from the moment the guild's end is decided. */
  gone(): boolean;
  body(t: string, d: object): DispatchBody;
  /** Runs behind the commits under way: what the payload shows must be durable before it is seen. */
  after(run: (fault: Error | null) => void): void;
  /** False when the user is not a member. */
  done(member: boolean): void;
  fault(error: Error): void;
}

/** Work that makes a session a subscriber of a guild and delivers GUILD_CREATE to it. */
export function subscription(subscriber: Subscribing, largeThreshold: number, ports: Ports): Work<Guild> {
  const userId = subscriber.userId as UserId;
  // Who hears presences gets all members of a guild that is not large: they are read once, and whoever is pushed out
  // of the window before its turn is left for the client to ask for.
  let asked = subscriber.bot && (subscriber.intents & INTENTS.GUILD_PRESENCES) === 0;
  return {
    needs: () => {
      const everyone = asked ? {} : { everyoneUpTo: largeThreshold };
      asked = true;
      return { members: [userId], ...everyone };
    },
    run: (guild) => {
      if (subscriber.over || ports.gone() || !guild.members.get(userId)) return ports.done(false);
      const known = guild.subscribers.has(subscriber.sessionId);
      guild.subscribers.set(subscriber.sessionId, subscriber);
      if (!known) guild.sessionCounts.set(userId, (guild.sessionCounts.get(userId) ?? 0) + 1);
      touchAudiences(guild);
      const silent = subscriber.bot && (subscriber.intents & INTENTS.GUILDS) === 0;
      const payload = silent
        ? null
        : guildCreatePayload(guild, userId, largeThreshold, subscriber.intents, ports.nowMs());
      ports.after((fault) => {
        // After a loss all subscribers, this one among them, hear that the guild is gone and later that it is back.
        if (payload && !fault) subscriber.deliver(ports.body('GUILD_CREATE', payload));
        ports.done(true);
      });
    },
    refuse: () => ports.done(false),
    fault: ports.fault,
  };
}

/** Takes every session of a user who is no longer a member off a guild's dispatches. */
export function dismiss(guild: Guild, userId: UserId): void {
  if (!guild.sessionCounts.has(userId)) return;
  for (const subscriber of [...guild.subscribers.values()])
    if (subscriber.userId === userId) unsubscribe(guild, subscriber);
}

/**
 * Takes a session off a guild's dispatches; the member leaves the resident ones with the last session. One that has come
 * back under the same id, from another home, stays.
 */
export function unsubscribe(guild: Guild, subscriber: Subscriber): void {
  if (guild.subscribers.get(subscriber.sessionId) !== subscriber) return;
  guild.subscribers.delete(subscriber.sessionId);
  const userId = subscriber.userId as UserId;
  const left = (guild.sessionCounts.get(userId) ?? 1) - 1;
  if (left > 0) guild.sessionCounts.set(userId, left);
  else guild.sessionCounts.delete(userId);
  touchAudiences(guild);
}
