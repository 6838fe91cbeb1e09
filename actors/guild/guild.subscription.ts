import { touchAudiences } from '../../engine/fanout/audience.ts';
import type { DispatchBody, Subscriber } from '../../engine/fanout/body.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import { guildCreatePayload } from '../../engine/guild/payloads.ts';
import type { UserId } from '../../protocol/ids.ts';
import { INTENTS } from '../../protocol/intents.ts';
import type { Work } from '../runtime/resident.machine.ts';

interface Ports {
  nowMs(): number;
  body(t: string, d: object): DispatchBody;
  /** Runs behind the commits under way: what the payload shows must be durable before it is seen. */
  after(run: () => void): void;
  /** False when the user is not a member. */
  done(member: boolean): void;
}

/** Work that makes a session a subscriber of a guild and delivers GUILD_CREATE to it. */
export function subscription(subscriber: Subscriber, largeThreshold: number, ports: Ports): Work<Guild> {
  const userId = subscriber.userId as UserId;
  return {
    needs: () => ({ members: [userId] }),
    run: (guild) => {
      if (!guild.members.get(userId)) return ports.done(false);
      const known = guild.subscribers.has(subscriber.sessionId);
      guild.subscribers.set(subscriber.sessionId, subscriber);
      if (!known) guild.sessionCounts.set(userId, (guild.sessionCounts.get(userId) ?? 0) + 1);
      touchAudiences(guild);
      if (subscriber.bot && (subscriber.intents & INTENTS.GUILDS) === 0) return ports.done(true);
      const payload = guildCreatePayload(guild, userId, largeThreshold, subscriber.intents, ports.nowMs());
      ports.after(() => {
        subscriber.deliver(ports.body('GUILD_CREATE', payload));
        ports.done(true);
      });
    },
    refuse: () => ports.done(false),
    fault: () => ports.done(false),
  };
}

/** Takes a session off a guild's dispatches; the member leaves the resident ones with the last session. */
export function unsubscribe(guild: Guild, subscriber: Subscriber): void {
  if (!guild.subscribers.delete(subscriber.sessionId)) return;
  const userId = subscriber.userId as UserId;
  const left = (guild.sessionCounts.get(userId) ?? 1) - 1;
  if (left > 0) guild.sessionCounts.set(userId, left);
  else guild.sessionCounts.delete(userId);
  touchAudiences(guild);
}
