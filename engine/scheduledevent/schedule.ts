import { type EventExceptionId, snowflakeAt, snowflakeMs } from '../../protocol/ids.ts';
import { EVENT_ENTITY, EVENT_STATUS } from '../../protocol/scheduledevents.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import type { EventException, ScheduledEvent } from './event.ts';
import { nextOccurrence } from './recurrence.ts';

/**
 * How long an active event lasts after the last user has left its channel, and how long after its time an event that
 * was not started is canceled. The platform says "minutes" and "hours"; the numbers are ours.
 *
 * @source
 * https://docs.discord.com/developers/resources/guild-scheduled-event#guild-scheduled-event-status-update-automation
 */
const [EMPTY_MS, UNSTARTED_MS] = [300_000, 14_400_000];

const isExternal = ({ entity_type: type }: ScheduledEvent): boolean => type === EVENT_ENTITY.EXTERNAL;

/** The id of the exception to the occurrence of this time; several milliseconds never share one. */
export const exceptionIdAt = (originalMs: number): EventExceptionId => snowflakeAt(originalMs);

/** The exception to the current or next occurrence. */
function currentException(event: ScheduledEvent): EventException | undefined {
  const id = exceptionIdAt(Date.parse(event.scheduled_start_time));
  return event.guild_scheduled_event_exceptions.find(({ event_exception_id: own }) => own === id);
}

/** The times of the current or next occurrence, Unix milliseconds, with its exception taken into account. */
function timesOf(event: ScheduledEvent): {
  readonly startMs: number;
  readonly endMs: number | null;
  readonly isCanceled: boolean;
} {
  const except = currentException(event);
  const end = except?.scheduled_end_time ?? event.scheduled_end_time;
  return {
    startMs: Date.parse(except?.scheduled_start_time ?? event.scheduled_start_time),
    endMs: end === null ? null : Date.parse(end),
    isCanceled: except?.is_canceled ?? false,
  };
}

/** The event with the time at which the clock changes it next. */
export function timed(event: ScheduledEvent, nowMs: number): ScheduledEvent {
  const { idle: _, ...rest } = event;
  return { ...rest, due_ms: dueOf(event, nowMs) };
}

function dueOf(event: ScheduledEvent, nowMs: number): number | null {
  const { startMs, endMs, isCanceled } = timesOf(event);
  if (event.status === EVENT_STATUS.SCHEDULED) {
    if (isCanceled) return Date.parse(event.scheduled_start_time);
    return isExternal(event) ? startMs : startMs + UNSTARTED_MS;
  }
  if (event.status !== EVENT_STATUS.ACTIVE) return null;
  return isExternal(event) ? endMs : nowMs + EMPTY_MS;
}

/** The active event whose channel has users or has none: when to look again, or when it ends. */
export function watched(event: ScheduledEvent, isEmpty: boolean, nowMs: number): ScheduledEvent {
  const { idle: _, ...rest } = event;
  return { ...rest, due_ms: nowMs + EMPTY_MS, ...(isEmpty && { idle: true }) };
}

/** The event begun, with the stage instance that it takes place in. */
export const begun = (event: ScheduledEvent, entityId: string | null, nowMs: number): ScheduledEvent =>
  timed({ ...event, status: EVENT_STATUS.ACTIVE, entity_id: entityId }, nowMs);

type Finish = typeof EVENT_STATUS.COMPLETED | typeof EVENT_STATUS.CANCELED;

/** The event over, with all of its occurrences. */
export function finished(event: ScheduledEvent, how: Finish, nowMs: number): ScheduledEvent {
  return timed({ ...event, status: how, entity_id: null }, nowMs);
}

/** The event over; a recurring one that was not canceled waits for its next occurrence. */
export function ended(event: ScheduledEvent, how: Finish, nowMs: number): ScheduledEvent {
  const next = how === EVENT_STATUS.COMPLETED ? following(event, nowMs) : null;
  return next ?? finished(event, how, nowMs);
}

/** The recurring event at the occurrence after its current one and after now; null for one that does not recur. */
function following(event: ScheduledEvent, nowMs: number): ScheduledEvent | null {
  const { recurrence_rule: rule, scheduled_start_time: start, scheduled_end_time: end } = event;
  if (rule === null) return null;
  const startMs = Date.parse(start);
  const nextMs = nextOccurrence(rule, Math.max(startMs, nowMs));
  if (nextMs === null) return null;
  const next: ScheduledEvent = {
    ...event,
    scheduled_start_time: isoTimestamp(nextMs),
    scheduled_end_time: end === null ? null : isoTimestamp(nextMs + Date.parse(end) - startMs),
    status: EVENT_STATUS.SCHEDULED,
    entity_id: null,
    guild_scheduled_event_exceptions: event.guild_scheduled_event_exceptions.filter(
      ({ event_exception_id: id }) => snowflakeMs(id) >= nextMs,
    ),
  };
  return timed(next, nowMs);
}

/**
 * Starts, ends, cancels or moves an event that is due. `isEmpty`: no user is in its channel.
 *
 * @returns The event as it is then; the same object when it is not due.
 */
export function settled(event: ScheduledEvent, isEmpty: boolean, nowMs: number): ScheduledEvent {
  if (event.due_ms === null || event.due_ms > nowMs) return event;
  if (event.status === EVENT_STATUS.SCHEDULED) {
    if (timesOf(event).isCanceled)
      return following(event, nowMs) ?? ended(event, EVENT_STATUS.CANCELED, nowMs);
    if (isExternal(event)) return begun(event, null, nowMs);
    return following(event, nowMs) ?? ended(event, EVENT_STATUS.CANCELED, nowMs);
  }
  if (isExternal(event) || (isEmpty && event.idle)) return ended(event, EVENT_STATUS.COMPLETED, nowMs);
  return watched(event, isEmpty, nowMs);
}
