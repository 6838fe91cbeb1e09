import type { Member } from '../../engine/guild/guild.ts';
import type { RsvpKey } from '../../engine/scheduledevent/event.ts';
import type { EventExceptionId, GuildId, ScheduledEventId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { EventResponse } from '../../protocol/scheduledevents.ts';

/** A user's response to an event. */
export interface EventUser {
  readonly user: APIUser;
  /** Null when the user is no longer a member, or members were not requested. */
  readonly member: Member | null;
  readonly response: EventResponse;
}

export interface EventUserPage {
  /** `before` counts when both are given. */
  readonly before?: UserId;
  readonly after?: UserId;
  readonly limit: number;
  readonly withMember: boolean;
}

/** Reads of scheduled events besides their guild; the guild itself is loaded with them. */
export interface ScheduledEventStore {
  /** The responses among `keys`; users without a response are omitted. */
  rsvps(
    guildId: GuildId,
    keys: readonly RsvpKey[],
  ): Promise<readonly { readonly key: RsvpKey; readonly response: EventResponse }[]>;
  /** Users who responded to an event, or to one occurrence of it; ascending by id. */
  users(
    guildId: GuildId,
    eventId: ScheduledEventId,
    exceptionId: EventExceptionId | null,
    page: EventUserPage,
  ): Promise<EventUser[]>;
  /** The number of users who responded to each of these occurrences; none are omitted. */
  answerCounts(
    guildId: GuildId,
    eventId: ScheduledEventId,
    exceptionIds: readonly string[],
  ): Promise<ReadonlyMap<string, number>>;
  /** Guilds with an event that is due at `nowMs`; ascending by id. */
  due(nowMs: number, after: GuildId | null, limit: number): Promise<GuildId[]>;
  /** When the next event is due, Unix milliseconds; null for none. */
  nextDueMs(): Promise<number | null>;
}
