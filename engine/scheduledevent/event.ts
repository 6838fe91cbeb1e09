import type { ChannelId, EventExceptionId, GuildId, ScheduledEventId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import {
  EVENT_STATUS,
  type EventEntity,
  type EventResponse,
  type EventStatus,
} from '../../protocol/scheduledevents.ts';
import type { RecurrenceRule } from './recurrence.ts';

/** One occurrence of a recurring event that differs from its rule. Its id contains the original time. */
export interface EventException {
  readonly event_id: ScheduledEventId;
  readonly event_exception_id: EventExceptionId;
  readonly scheduled_start_time: string | null;
  readonly scheduled_end_time: string | null;
  readonly is_canceled: boolean;
}

/** A scheduled event as it is stored: the wire's object, its creator, and when the clock changes it next. */
export interface ScheduledEvent {
  readonly id: ScheduledEventId;
  readonly guild_id: GuildId;
  readonly channel_id: ChannelId | null;
  readonly creator_id: UserId;
  /** The creator as of then; in replies only. */
  readonly creator: APIUser | null;
  readonly name: string;
  readonly description: string | null;
  /** Hash of the stored cover image. */
  readonly image: string | null;
  /** The start; for a recurring event the start of the current or next occurrence by its rule. */
  readonly scheduled_start_time: string;
  readonly scheduled_end_time: string | null;
  readonly privacy_level: 2;
  readonly status: EventStatus;
  readonly entity_type: EventEntity;
  /** The stage instance of an active event of a stage. */
  readonly entity_id: string | null;
  readonly entity_metadata: { readonly location: string } | null;
  readonly recurrence_rule: RecurrenceRule | null;
  /** Ascending by original time; none of occurrences that are over. */
  readonly guild_scheduled_event_exceptions: readonly EventException[];
  /** When the clock changes the event or looks at it, Unix milliseconds; null when it does not. */
  readonly due_ms: number | null;
  /** The channel of the active event was empty when `due_ms` was set. */
  readonly idle?: true;
}

/** Key of a user's response to an event, or to one occurrence of it. */
export interface RsvpKey {
  readonly eventId: ScheduledEventId;
  /** Null for the whole event. */
  readonly exceptionId: EventExceptionId | null;
  readonly userId: UserId;
}

/** The scheduled events of a guild on its owning shard. */
export interface ScheduledEvents {
  /** Future events, active events, and the last ones that are over. */
  readonly byId: Map<string, ScheduledEvent>;
  /** Users who are interested in an event; absent for none. */
  readonly counts: Map<string, number>;
  /** Window on answers of users, by `rsvpKey`. Null: known not to have answered. */
  readonly rsvps: Map<string, EventResponse | null>;
}

/** An event with the number of interested users. */
export interface CountedEvent {
  readonly event: ScheduledEvent;
  readonly users: number;
}

export const scheduledEventsOf = (
  found: readonly CountedEvent[],
  rsvps: ScheduledEvents['rsvps'],
): ScheduledEvents => ({
  byId: new Map(found.map(({ event }) => [event.id, event])),
  counts: new Map(found.map(({ event, users }) => [event.id, users])),
  rsvps,
});

export const rsvpKey = ({ eventId, exceptionId, userId }: RsvpKey): string =>
  `${eventId}:${exceptionId ?? ''}:${userId}`;

/** Whether the event is over, one way or the other. */
export const isFinished = ({ status }: ScheduledEvent): boolean =>
  status === EVENT_STATUS.COMPLETED || status === EVENT_STATUS.CANCELED;

/** An event as dispatches show it. */
export type EventPayload = Omit<ScheduledEvent, 'creator' | 'due_ms' | 'idle'>;
/** An event as replies show it. */
export type EventObject = EventPayload & { readonly creator?: APIUser; readonly user_count?: number };

export function eventPayload({ creator: _, due_ms: __, idle: ___, ...shown }: ScheduledEvent): EventPayload {
  return shown;
}
