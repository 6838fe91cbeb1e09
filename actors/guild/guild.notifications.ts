import type { Audiences } from '../../engine/fanout/audience.ts';
import type { Recipient } from '../../engine/fanout/body.ts';
import type { GuildFact } from '../../engine/guild/facts.ts';
import type { Guild } from '../../engine/guild/guild.ts';
import type { LinkUpdate } from '../../engine/guild/lobbylinks.ts';
import type { ScheduledEvent } from '../../engine/scheduledevent/event.ts';
import type { GuildId, UserId } from '../../protocol/ids.ts';
import type { Notifications } from '../runtime/aggregate.ports.ts';
import { dismiss } from './guild.subscription.ts';
import type { GuildVoiceListener } from './guild.voicemembers.ts';

/** Receives durable changes, and the end of the guild. */
export interface GuildListener extends GuildVoiceListener {
  memberJoined(guildId: GuildId, userId: UserId): void;
  memberLeft(guildId: GuildId, userId: UserId, n: number): void;
  /** Recent membership changes by earlier owners that the owners of the users may have missed; the latest of each user. */
  membersMoved?(guildId: GuildId, changes: ReadonlyMap<UserId, 'joined' | 'left'>): void;
  /** The guild's actor failed with these subscribers, which have its stream up to `n`, until it is loaded again. */
  guildLost(guildId: GuildId, subscribers: readonly Recipient[], n: number, isInterrupted: boolean): void;
  /** The guild is in memory, for the first time or once more after it failed. */
  guildLoaded?(guildId: GuildId): void;
  /** Another owner continues the guild. Its subscribers, except those just being subscribed, have its stream up to `n`. */
  guildReleased?(guildId: GuildId, n: number): void;
  /** Another object represents the session now; it has the guild's stream up to `n`. */
  subscriberReplaced?(guildId: GuildId, session: Recipient, n: number): void;
  /** The presences of these users must be sent again: none of their sessions is subscribed to the guild. */
  republishPresences?(guildId: GuildId, userIds: readonly UserId[]): void;
  /** A bot became a member, or ceased to be one. */
  botChanged?(guildId: GuildId, botId: UserId, change: 'created' | 'deleted'): void;
  /** The guild has another tag or none, or a member who shows its tag has left. */
  tagsQueued?(): void;
  /** Work for the followers of a channel was queued. */
  crossposted?(): void;
  /** The clock changes a scheduled event at this time, Unix milliseconds. */
  eventDue?(atMs: number): void;
  /** A change that the lobby of a linked channel must receive. */
  linked(news: LinkUpdate): void;
}

/** The guild as the rows see it. */
interface NotifyingGuild {
  readonly id: GuildId;
  readonly listener: GuildListener;
  /** Null when the actor has ended. */
  readonly guild: Guild | null;
  readonly audiences: Audiences;
  /** The last number of the guild's stream. */
  readonly lastNumber: number;
  /** Sessions that a removal unsubscribed and that are not notified yet; null before the first. */
  readonly leaving: Map<GuildFact, readonly Recipient[]> | null;
}

/** The clock may have to look at the scheduled event at another time. */
const notifyClock = ({ event }: { readonly event: ScheduledEvent }, { listener }: NotifyingGuild): void => {
  if (event.due_ms !== null) listener.eventDue?.(event.due_ms);
};

/** The listener subscribes sessions by changes of membership, and starts queued work. */
export const GUILD_NOTIFICATIONS: Notifications<GuildFact, NotifyingGuild> = {
  memberAdded({ member: { user } }, { id, listener }) {
    listener.memberJoined(id, user.id);
    if (user.bot) listener.botChanged?.(id, user.id, 'created');
  },
  memberRemoved(fact, { id, listener, lastNumber, leaving }) {
    const { user } = fact;
    leaving?.delete(fact);
    listener.memberLeft(id, user.id, lastNumber);
    if (user.primary_guild?.identity_guild_id === id) listener.tagsQueued?.();
    if (user.bot) listener.botChanged?.(id, user.id, 'deleted');
  },
  pageWritten({ page }, { listener }) {
    if (page === 'tag') listener.tagsQueued?.();
  },
  crosspostQueued: (_fact, { listener }) => listener.crossposted?.(),
  scheduledEventCreated: notifyClock,
  scheduledEventUpdated: notifyClock,
  scheduledEventTimed: notifyClock,
  scheduledEventDeleted: notifyClock,
  /** Unsubscribes all sessions first, so that none receives that the guild is unavailable. */
  guildDeleted({ memberIds }, { id, listener, lastNumber, guild, audiences }) {
    for (const userId of new Set([...memberIds, ...audiences.sessionCounts.keys()])) {
      dismiss(audiences, userId);
      listener.memberLeft(id, userId, lastNumber);
    }
    if (guild?.pages.tag) listener.tagsQueued?.();
  },
};
