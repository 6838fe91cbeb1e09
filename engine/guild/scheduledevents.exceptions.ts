import { AUDIT } from '../../protocol/audit.ts';
import { compareIds, type EventExceptionId, type ScheduledEventId, snowflakeMs } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal, refusal } from '../../protocol/refusal.ts';
import { EVENT_STATUS } from '../../protocol/scheduledevents.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Env, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { EventException, ScheduledEvent } from '../scheduledevent/event.ts';
import { isOccurrence } from '../scheduledevent/recurrence.ts';
import { exceptionIdAt, timed } from '../scheduledevent/schedule.ts';
import { timeOf } from '../scheduledevent/times.ts';
import { auditEntry, changesOf } from './auditing.ts';
import type { EventExceptionFacts, GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import { endRefusal, pastRefusal } from './scheduledevents.drafts.ts';
import { audienceOf } from './scheduledevents.places.ts';
import { withOwnEvent } from './scheduledevents.ts';
import type { GuildTopic } from './topic.ts';

/** Absent fields stay as they are; null is the time by the rule. Times are ISO 8601. */
export interface ExceptionDraft {
  readonly startTime?: string | null;
  readonly endTime?: string | null;
  readonly isCanceled?: boolean;
}

type ExceptionCommands = {
  createEventException: {
    input: ExceptionDraft & { readonly eventId: ScheduledEventId; readonly originalTime: string };
    value: EventException;
  };
  updateEventException: {
    input: ExceptionDraft & { readonly eventId: ScheduledEventId; readonly exceptionId: EventExceptionId };
    value: EventException;
  };
  deleteEventException: {
    input: { readonly eventId: ScheduledEventId; readonly exceptionId: EventExceptionId };
    value: null;
  };
};

const AUDITED = ['scheduled_start_time', 'scheduled_end_time', 'is_canceled'] as const;

const noted = (
  actionType: number,
  [before, after]: readonly [EventException, EventException | null] | readonly [null, EventException],
  by: By,
  env: Env,
) => {
  const { event_id: targetId, event_exception_id } = before ?? after;
  // The published type of the options does not name the exception.
  const options: object = { event_exception_id };
  return auditEntry(env, by, { actionType, targetId, changes: changesOf(before, after, AUDITED), options });
};

/** Runs a rule on a recurring event that the caller may write. */
const withSeries = <Value>(
  guild: Guild,
  eventId: ScheduledEventId,
  by: By,
  env: Env,
  rule: (event: ScheduledEvent) => Outcome<Value, GuildFact>,
) =>
  withOwnEvent(guild, eventId, by, env, (event) => {
    const { status } = event;
    const isOpen = status === EVENT_STATUS.SCHEDULED || status === EVENT_STATUS.ACTIVE;
    return isOpen ? rule(event) : refused(refusal('CANNOT_UPDATE_FINISHED_EVENT'));
  });

/** Runs a rule on an exception of an event that the caller may write. */
const withException = <Value>(
  guild: Guild,
  { eventId, exceptionId }: { readonly eventId: ScheduledEventId; readonly exceptionId: EventExceptionId },
  by: By,
  env: Env,
  rule: (event: ScheduledEvent, exception: EventException) => Outcome<Value, GuildFact>,
) =>
  withSeries(guild, eventId, by, env, (event) => {
    const exception = event.guild_scheduled_event_exceptions.find(
      (one) => one.event_exception_id === exceptionId,
    );
    return exception ? rule(event, exception) : refused(refusal('UNKNOWN_GUILD_SCHEDULED_EVENT'));
  });

/** The event with its exceptions changed: `after` in the place of `before`. */
function replaced(
  event: ScheduledEvent,
  before: EventException | null,
  after: EventException | null,
  nowMs: number,
): ScheduledEvent {
  const others = event.guild_scheduled_event_exceptions.filter((one) => one !== before);
  const all = [...others, ...(after ? [after] : [])];
  const sorted = all.sort((a, b) => compareIds(a.event_exception_id, b.event_exception_id));
  const next = { ...event, guild_scheduled_event_exceptions: sorted };
  const isWatched = event.status === EVENT_STATUS.ACTIVE && event.channel_id !== null;
  return isWatched ? next : timed(next, nowMs);
}

/** An exception with the fields of a draft; `originalMs` is its occurrence's time by the rule. */
function drafted(
  event: ScheduledEvent,
  exception: EventException,
  originalMs: number,
  { startTime, endTime, isCanceled }: ExceptionDraft,
  nowMs: number,
): Outcome<EventException, never> {
  const read = (text: string | null) => (text === null ? null : isoTimestamp(timeOf(text)));
  const next: EventException = {
    ...exception,
    ...(startTime === undefined ? {} : { scheduled_start_time: read(startTime) }),
    ...(endTime === undefined ? {} : { scheduled_end_time: read(endTime) }),
    ...(isCanceled === undefined ? {} : { is_canceled: isCanceled }),
  };
  const no = timesRefusal(event, next, originalMs, startTime != null, nowMs);
  return no ? refused(no) : accepted(next);
}

function timesRefusal(
  event: ScheduledEvent,
  { scheduled_start_time: start, scheduled_end_time: end }: EventException,
  originalMs: number,
  isNew: boolean,
  nowMs: number,
): Refusal | null {
  const startMs = start === null ? originalMs : Date.parse(start);
  if (isNew && startMs <= nowMs) return pastRefusal(['scheduled_start_time']);
  if (isNew && startMs > nowMs + LIMITS.scheduled_event_ahead_ms_max)
    return invalidField(['scheduled_start_time'], 'BASE_TYPE_INVALID', 'The event is too far ahead.');
  const lastsMs =
    event.scheduled_end_time === null
      ? null
      : Date.parse(event.scheduled_end_time) - Date.parse(event.scheduled_start_time);
  return endRefusal(startMs, end ?? (lastsMs === null ? null : isoTimestamp(originalMs + lastsMs)));
}

function createException(
  event: ScheduledEvent,
  { originalTime, ...draft }: ExceptionCommands['createEventException']['input'],
  by: By,
  env: Env,
): Outcome<EventException, GuildFact> {
  const originalMs = timeOf(originalTime);
  const { recurrence_rule: rule, guild_scheduled_event_exceptions: all } = event;
  const wrong = (text: string) =>
    refused(invalidField(['original_scheduled_start_time'], 'BASE_TYPE_INVALID', text));
  const currentMs = Date.parse(event.scheduled_start_time);
  // The first occurrence is at the event's start, also where that is not a time of the rule.
  if (rule === null || (originalMs !== currentMs && !isOccurrence(rule, originalMs)))
    return wrong('The event does not occur at this time.');
  if (originalMs < currentMs) return wrong('This occurrence has ended.');
  if (originalMs > env.nowMs + LIMITS.scheduled_event_ahead_ms_max)
    return wrong('This occurrence is too far ahead.');
  const id = exceptionIdAt(originalMs);
  if (all.some(({ event_exception_id: other }) => other === id))
    return wrong('This occurrence has an exception.');
  if (all.length >= LIMITS.scheduled_event_exceptions_max) return wrong('The event has too many exceptions.');
  const blank: EventException = {
    event_id: event.id,
    event_exception_id: id,
    scheduled_start_time: null,
    scheduled_end_time: null,
    is_canceled: false,
  };
  const made = drafted(event, blank, originalMs, draft, env.nowMs);
  if (!made.ok) return made;
  const { value: exception } = made;
  return accepted(exception, [
    { type: 'eventExceptionCreated', event: replaced(event, null, exception, env.nowMs), exception },
    noted(AUDIT.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE, [null, exception], by, env),
  ]);
}

function updateException(
  event: ScheduledEvent,
  before: EventException,
  draft: ExceptionDraft,
  by: By,
  env: Env,
): Outcome<EventException, GuildFact> {
  const changed = drafted(event, before, originalMsOf(before), draft, env.nowMs);
  if (!changed.ok) return changed;
  const { value: exception } = changed;
  if (changesOf(before, exception, AUDITED).length === 0) return accepted(before);
  return accepted(exception, [
    { type: 'eventExceptionUpdated', event: replaced(event, before, exception, env.nowMs), exception },
    noted(AUDIT.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE, [before, exception], by, env),
  ]);
}

const originalMsOf = ({ event_exception_id: id }: EventException): number => snowflakeMs(id);

const put = (guild: Guild, { event }: { readonly event: ScheduledEvent }): void => {
  guild.scheduledEvents.byId.set(event.id, event);
};

const shown =
  (t: Dispatch['t']) =>
  (guild: Guild, { event, exception }: EventExceptionFacts['eventExceptionCreated']): readonly Dispatch[] => [
    { t, d: { ...exception, guild_id: guild.id }, to: audienceOf(event) },
  ];

/** Occurrences of recurring events that are at another time than their rule says, or canceled. */
export const eventExceptions: GuildTopic<ExceptionCommands, keyof EventExceptionFacts> = {
  commands: {
    createEventException: {
      decide: (guild, input, by, env) =>
        withSeries(guild, input.eventId, by, env, (event) => createException(event, input, by, env)),
    },
    updateEventException: {
      decide: (guild, input, by, env) =>
        withException(guild, input, by, env, (event, exception) =>
          updateException(event, exception, input, by, env),
        ),
    },
    deleteEventException: {
      decide: (guild, input, by, env) =>
        withException(guild, input, by, env, (event, exception) =>
          accepted(null, [
            { type: 'eventExceptionDeleted', event: replaced(event, exception, null, env.nowMs), exception },
            noted(AUDIT.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, [exception, null], by, env),
          ]),
        ),
    },
  },
  facts: {
    eventExceptionCreated: { apply: put, dispatches: shown('GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE') },
    eventExceptionUpdated: { apply: put, dispatches: shown('GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE') },
    eventExceptionDeleted: { apply: put, dispatches: shown('GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE') },
    eventExceptionsDeleted: {
      apply: () => {},
      dispatches: (guild, { event }) => [
        {
          t: 'GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE',
          d: { event_id: event.id, guild_id: guild.id },
          to: audienceOf(event),
        },
      ],
    },
  },
};
