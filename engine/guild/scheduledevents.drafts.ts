import type { ChannelId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { invalidField, type Refusal } from '../../protocol/refusal.ts';
import {
  EVENT_ENTITY,
  EVENT_STATUS,
  type EventEntity,
  type EventStatus,
} from '../../protocol/scheduledevents.ts';
import { isoTimestamp } from '../../protocol/timestamps.ts';
import { accepted, type Outcome, refused } from '../kernel/aggregate.ts';
import type { ScheduledEvent } from '../scheduledevent/event.ts';
import { type RuleDraft, readRule } from '../scheduledevent/rule.ts';
import { timeOf } from '../scheduledevent/times.ts';

/** Fields as a client sends them; absent ones stay as they are. Times are ISO 8601. */
export interface EventDraft {
  readonly name?: string;
  readonly description?: string | null;
  /** Hash of a stored image. */
  readonly image?: string | null;
  readonly startTime?: string;
  readonly endTime?: string | null;
  readonly entityType?: EventEntity;
  readonly channelId?: ChannelId | null;
  readonly location?: string | null;
  readonly rule?: RuleDraft | null;
}

/** The event with the fields of a draft. Place and caller are checked elsewhere. */
export function drafted(
  event: ScheduledEvent,
  draft: EventDraft,
  nowMs: number,
): Outcome<ScheduledEvent, never> {
  const no = activeRefusal(event, draft);
  if (no) return refused(no);
  const rule = draft.rule == null ? accepted(draft.rule) : readRule(draft.rule);
  if (!rule.ok) return rule;
  const { startTime, endTime, entityType = event.entity_type } = draft;
  const start = startTime === undefined ? event.scheduled_start_time : isoTimestamp(timeOf(startTime));
  const end = endTime === undefined ? event.scheduled_end_time : endTime && isoTimestamp(timeOf(endTime));
  const late = timesRefusal(event, start, end || null, startTime !== undefined, nowMs);
  if (late) return refused(late);
  const isExternal = entityType === EVENT_ENTITY.EXTERNAL;
  const location = draft.location === undefined ? event.entity_metadata?.location : draft.location;
  const next: ScheduledEvent = {
    ...event,
    name: draft.name?.trim() ?? event.name,
    description: draft.description === undefined ? event.description : draft.description?.trim() || null,
    image: draft.image === undefined ? event.image : draft.image,
    scheduled_start_time: start,
    scheduled_end_time: end || null,
    entity_type: entityType,
    channel_id: draft.channelId === undefined ? (isExternal ? null : event.channel_id) : draft.channelId,
    entity_metadata: isExternal && location?.trim() ? { location: location.trim() } : null,
    recurrence_rule: ruleOf(event, rule.value, startTime === undefined ? null : start),
  };
  const missing = externalRefusal(next);
  return missing ? refused(missing) : accepted(recurring(event, next));
}

/** The draft's recurrence rule, or the current one. It starts at the event's start. */
function ruleOf(
  event: ScheduledEvent,
  rule: ScheduledEvent['recurrence_rule'] | undefined,
  start: string | null,
): ScheduledEvent['recurrence_rule'] {
  const { recurrence_rule: before } = event;
  if (rule !== undefined) return rule;
  return before && start !== null ? { ...before, start } : before;
}

/** Exceptions refer to occurrences, so they are removed when the occurrences change. */
function recurring(before: ScheduledEvent, next: ScheduledEvent): ScheduledEvent {
  const isSame =
    before.recurrence_rule === next.recurrence_rule &&
    before.scheduled_start_time === next.scheduled_start_time;
  return isSame ? next : { ...next, guild_scheduled_event_exceptions: [] };
}

/** The refusal of a change that is not allowed while an event is under way. */
function activeRefusal({ status, ...event }: ScheduledEvent, draft: EventDraft): Refusal | null {
  if (status !== EVENT_STATUS.ACTIVE) return null;
  const { startTime, entityType = event.entity_type, channelId = event.channel_id } = draft;
  if (startTime !== undefined) {
    const text = 'Cannot change the start of an event that is under way.';
    return invalidField(['scheduled_start_time'], 'GUILD_SCHEDULED_EVENT_INVALID_START_BY_STATUS', text);
  }
  const text = 'Cannot be changed while the event is under way.';
  if (entityType !== event.entity_type) return invalidField(['entity_type'], 'BASE_TYPE_INVALID', text);
  if (channelId !== event.channel_id) return invalidField(['channel_id'], 'BASE_TYPE_INVALID', text);
  return null;
}

function timesRefusal(
  { status }: ScheduledEvent,
  start: string,
  end: string | null,
  isNew: boolean,
  nowMs: number,
): Refusal | null {
  const startMs = Date.parse(start);
  if (isNew && startMs <= nowMs) return pastRefusal(['scheduled_start_time']);
  if (isNew && startMs > nowMs + LIMITS.scheduled_event_ahead_ms_max)
    return invalidField(['scheduled_start_time'], 'BASE_TYPE_INVALID', 'The event is too far ahead.');
  return endRefusal(status === EVENT_STATUS.ACTIVE ? nowMs : startMs, end);
}

export const pastRefusal = (path: readonly string[]): Refusal =>
  invalidField(path, 'GUILD_SCHEDULED_EVENT_SCHEDULE_PAST', 'Cannot schedule event in the past.');

/** The end, when there is one, is after this time, Unix milliseconds, and not years later. */
export function endRefusal(afterMs: number, end: string | null): Refusal | null {
  if (end === null) return null;
  const endMs = Date.parse(end);
  if (endMs > afterMs && endMs <= afterMs + LIMITS.scheduled_event_ahead_ms_max) return null;
  const text = 'The end must be after the start, and within five years of it.';
  return invalidField(['scheduled_end_time'], 'BASE_TYPE_INVALID', text);
}

/** An event outside of channels has an end and a place. */
function externalRefusal(event: ScheduledEvent): Refusal | null {
  if (event.entity_type !== EVENT_ENTITY.EXTERNAL) return null;
  const text = 'This field is required';
  if (event.entity_metadata === null)
    return invalidField(['entity_metadata', 'location'], 'BASE_TYPE_REQUIRED', text);
  return event.scheduled_end_time === null
    ? invalidField(['scheduled_end_time'], 'BASE_TYPE_REQUIRED', text)
    : null;
}

/** Transitions that a client may ask for. */
const AFTER: Partial<Record<EventStatus, readonly EventStatus[]>> = {
  [EVENT_STATUS.SCHEDULED]: [EVENT_STATUS.ACTIVE, EVENT_STATUS.CANCELED],
  [EVENT_STATUS.ACTIVE]: [EVENT_STATUS.COMPLETED],
};

export const statusRefusal = (from: EventStatus, to: EventStatus): Refusal | null =>
  from === to || AFTER[from]?.includes(to)
    ? null
    : invalidField(['status'], 'BASE_TYPE_INVALID', 'This status cannot follow the current one.');
