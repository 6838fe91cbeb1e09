import { AUDIT } from '../../protocol/audit.ts';
import type { ChannelId, ScheduledEventId } from '../../protocol/ids.ts';
import { LIMITS } from '../../protocol/limits.ts';
import { type Refusal, refusal } from '../../protocol/refusal.ts';
import { EVENT_STATUS, type EventEntity, type EventStatus } from '../../protocol/scheduledevents.ts';
import { accepted, type Env, type Outcome, refused, withBefore } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import { type EventObject, eventPayload, isFinished, type ScheduledEvent } from '../scheduledevent/event.ts';
import { ended, settled, timed } from '../scheduledevent/schedule.ts';
import { type AuditFact, auditEntry, changesOf } from './auditing.ts';
import type { GuildFact, ScheduledEventFacts } from './facts.ts';
import type { Guild } from './guild.ts';
import { drafted, type EventDraft, statusRefusal } from './scheduledevents.drafts.ts';
import {
  audienceOf,
  isEmpty,
  placeRefusal,
  seesEvent,
  viewersOf,
  writeRefusal,
} from './scheduledevents.places.ts';
import { beginEvent, closeStage, leaveStage } from './scheduledevents.stages.ts';
import type { GuildTopic } from './topic.ts';

export interface CreateEvent extends EventDraft {
  /** A new id: the cover image is stored under it before. */
  readonly id: ScheduledEventId;
  readonly name: string;
  readonly startTime: string;
  readonly entityType: EventEntity;
}

export interface UpdateEvent extends EventDraft {
  readonly eventId: ScheduledEventId;
  readonly status?: EventStatus;
}

type Shows = { readonly withUserCount: boolean };

type EventCommands = {
  listScheduledEvents: { input: Shows; value: readonly EventObject[] };
  /** The events among `eventIds` that the caller may know of, also past ones; for the audit log. */
  findScheduledEvents: { input: { readonly eventIds: readonly string[] }; value: readonly EventObject[] };
  getScheduledEvent: { input: Shows & { readonly eventId: ScheduledEventId }; value: EventObject };
  createScheduledEvent: { input: CreateEvent; value: EventObject };
  updateScheduledEvent: { input: UpdateEvent; value: EventObject };
  deleteScheduledEvent: { input: { readonly eventId: ScheduledEventId }; value: null };
  /** Checks, before a cover image is stored, whether the caller may write an event there, or this event. */
  authorizeEventWrite: {
    input: {
      readonly eventId: ScheduledEventId | null;
      readonly entityType: EventEntity;
      readonly channelId: ChannelId | null;
    };
    value: null;
  };
  /** The server itself lets the clock change what is due. */
  settleScheduledEvents: { input: object; value: null };
};

/** Fields of an event that the audit log lists. `location` is listed apart from its object. */
const AUDITED = [
  'name',
  'description',
  'status',
  'entity_type',
  'channel_id',
  'location',
  'privacy_level',
  'image',
  'scheduled_start_time',
  'scheduled_end_time',
  'recurrence_rule',
] as const;

const comparable = (event: ScheduledEvent | null) =>
  event && { ...event, location: event.entity_metadata?.location ?? null };

const noted = (
  actionType: (typeof AUDIT)[`GUILD_SCHEDULED_EVENT_${'CREATE' | 'UPDATE' | 'DELETE'}`],
  [before, after]: readonly [ScheduledEvent | null, ScheduledEvent | null],
  by: By,
  env: Env,
): AuditFact =>
  auditEntry(env, by, {
    actionType,
    targetId: (after ?? before)?.id ?? null,
    changes: changesOf(comparable(before), comparable(after), AUDITED),
  });

/** The event as replies show it. */
function shown(guild: Guild, event: ScheduledEvent, { withUserCount }: Shows): EventObject {
  const creator = guild.members.get(event.creator_id)?.user ?? event.creator;
  return {
    ...eventPayload(event),
    ...(creator ? { creator } : {}),
    ...(withUserCount ? { user_count: guild.scheduledEvents.counts.get(event.id) ?? 0 } : {}),
  };
}

/** Runs a rule on an event that the caller may know of. */
export function withEvent<Value>(
  guild: Guild,
  eventId: ScheduledEventId,
  by: By,
  env: Env,
  rule: (event: ScheduledEvent) => Outcome<Value, GuildFact>,
): Outcome<Value, GuildFact> {
  const event = guild.scheduledEvents.byId.get(eventId);
  if (!event || !seesEvent(guild, by, event, env.nowMs))
    return refused(refusal('UNKNOWN_GUILD_SCHEDULED_EVENT'));
  return rule(event);
}

const whose = (event: ScheduledEvent, by: By): 'own' | 'other' =>
  event.creator_id === by.userId ? 'own' : 'other';

/** Runs a rule on an event that the caller may write. */
export const withOwnEvent = <Value>(
  guild: Guild,
  eventId: ScheduledEventId,
  by: By,
  env: Env,
  rule: (event: ScheduledEvent) => Outcome<Value, GuildFact>,
): Outcome<Value, GuildFact> =>
  withEvent(guild, eventId, by, env, (event) => {
    const no = writeRefusal(guild, event, whose(event, by), by, env);
    return no ? refused(no) : rule(event);
  });

function createEvent(guild: Guild, input: CreateEvent, by: By, env: Env): Outcome<EventObject, GuildFact> {
  const { id, name, startTime, entityType, channelId = null } = input;
  const place = { entity_type: entityType, channel_id: channelId };
  const no = placeRefusal(guild, place) ?? writeRefusal(guild, place, 'new', by, env);
  if (no) return refused(no);
  const open = [...guild.scheduledEvents.byId.values()].filter((event) => !isFinished(event)).length;
  if (open >= LIMITS.scheduled_events_per_guild_max) return refused(refusal('MAXIMUM_SCHEDULED_EVENTS'));
  const blank: ScheduledEvent = {
    ...{ id, guild_id: guild.id, ...place, name, scheduled_start_time: startTime },
    creator_id: by.userId,
    creator: guild.members.get(by.userId)?.user ?? null,
    description: null,
    image: null,
    scheduled_end_time: null,
    privacy_level: 2,
    status: EVENT_STATUS.SCHEDULED,
    entity_id: null,
    entity_metadata: null,
    recurrence_rule: null,
    guild_scheduled_event_exceptions: [],
    due_ms: null,
  };
  const made = drafted(blank, input, env.nowMs);
  if (!made.ok) return made;
  const event = timed(made.value, env.nowMs);
  return accepted(shown(guild, event, { withUserCount: false }), [
    { type: 'scheduledEventCreated', event },
    noted(AUDIT.GUILD_SCHEDULED_EVENT_CREATE, [null, event], by, env),
  ]);
}

function updateEvent(
  guild: Guild,
  before: ScheduledEvent,
  { status = before.status, ...draft }: UpdateEvent,
  by: By,
  env: Env,
): Outcome<EventObject, GuildFact> {
  if (isFinished(before)) return refused(refusal('CANNOT_UPDATE_FINISHED_EVENT'));
  const changed = drafted(before, draft, env.nowMs);
  if (!changed.ok) return changed;
  const no = movedRefusal(guild, before, changed.value, by, env) ?? statusRefusal(before.status, status);
  if (no) return refused(no);
  const outcome = transition(guild, changed.value, status, by, env);
  if (!outcome.ok) return outcome;
  const { value: event, facts } = outcome;
  const entry = noted(AUDIT.GUILD_SCHEDULED_EVENT_UPDATE, [before, event], by, env);
  const reply = shown(guild, event, { withUserCount: false });
  if (entry.entry.changes === undefined) return accepted(reply);
  const hadExceptions = before.guild_scheduled_event_exceptions.length > 0;
  const losesAll = hadExceptions && changed.value.guild_scheduled_event_exceptions.length === 0;
  return accepted(reply, [
    ...(losesAll ? [{ type: 'eventExceptionsDeleted' as const, event }] : []),
    { type: 'scheduledEventUpdated', event },
    ...facts,
    entry,
  ]);
}

/** An event that moves needs the same permissions at its new place. */
function movedRefusal(
  guild: Guild,
  before: ScheduledEvent,
  next: ScheduledEvent,
  by: By,
  env: Env,
): Refusal | null {
  if (before.channel_id === next.channel_id && before.entity_type === next.entity_type) return null;
  return placeRefusal(guild, next) ?? writeRefusal(guild, next, whose(before, by), by, env);
}

/** The event with another status, and what happens to its stage. */
function transition(
  guild: Guild,
  event: ScheduledEvent,
  status: EventStatus,
  by: By,
  env: Env,
): Outcome<ScheduledEvent, GuildFact> {
  if (status === event.status) return accepted(timed(event, env.nowMs));
  if (status === EVENT_STATUS.ACTIVE) return beginEvent(guild, event, by, env);
  if (status === EVENT_STATUS.SCHEDULED) return accepted(event);
  return accepted(ended(event, status, env.nowMs), closeStage(guild, event, by, env));
}

/** Facts for an event whose time may have come. */
function settling(guild: Guild, event: ScheduledEvent, by: By, env: Env): GuildFact[] {
  const next = settled(event, isEmpty(guild, event.channel_id), env.nowMs);
  if (next === event) return [];
  const isShown = next.status !== event.status || next.scheduled_start_time !== event.scheduled_start_time;
  if (!isShown) return [{ type: 'scheduledEventTimed', event: next }];
  const ends = event.status === EVENT_STATUS.ACTIVE;
  return [{ type: 'scheduledEventUpdated', event: next }, ...(ends ? closeStage(guild, event, by, env) : [])];
}

const put = (guild: Guild, { event }: { readonly event: ScheduledEvent }): void => {
  guild.scheduledEvents.byId.set(event.id, event);
};

const eventDispatch = (
  t: Dispatch['t'],
  event: ScheduledEvent,
  to: Dispatch['to'] = audienceOf(event),
): Dispatch => ({
  t,
  d: eventPayload(event),
  to,
});

/** A moved event loses the users who do not see its new channel. */
const updated = withBefore({
  before: (guild: Guild, { event }: ScheduledEventFacts['scheduledEventUpdated']) => {
    const was = guild.scheduledEvents.byId.get(event.id);
    return was && was.channel_id !== event.channel_id ? { was, viewers: viewersOf(guild, was) } : null;
  },
  apply: put,
  dispatches: (guild, { event }, before) => {
    const update = eventDispatch('GUILD_SCHEDULED_EVENT_UPDATE', event);
    if (before === null || event.channel_id === null) return [update];
    const now = new Set(viewersOf(guild, event));
    // Also without users: sessions that are subscribed later may have the event, and are known by it to lack this dispatch.
    const userIds = before.viewers.filter((userId) => !now.has(userId));
    return [eventDispatch('GUILD_SCHEDULED_EVENT_DELETE', before.was, { kind: 'users', userIds }), update];
  },
});

const drop = (guild: Guild, eventId: ScheduledEventId): void => {
  guild.scheduledEvents.byId.delete(eventId);
  guild.scheduledEvents.counts.delete(eventId);
};

/** Scheduled events: creation, changes, and transitions by the clock. */
export const scheduledEvents: GuildTopic<EventCommands, keyof ScheduledEventFacts> = {
  commands: {
    listScheduledEvents: {
      decide: (guild, shows, by, env) =>
        accepted(
          [...guild.scheduledEvents.byId.values()]
            .filter((event) => !isFinished(event) && seesEvent(guild, by, event, env.nowMs))
            .map((event) => shown(guild, event, shows)),
        ),
    },
    findScheduledEvents: {
      decide: (guild, { eventIds }, by, env) =>
        accepted(
          eventIds.flatMap((id) => {
            const event = guild.scheduledEvents.byId.get(id);
            const isSeen = event && seesEvent(guild, by, event, env.nowMs);
            return isSeen ? [shown(guild, event, { withUserCount: false })] : [];
          }),
        ),
    },
    getScheduledEvent: {
      decide: (guild, { eventId, ...shows }, by, env) =>
        withEvent(guild, eventId, by, env, (event) => accepted(shown(guild, event, shows))),
    },
    createScheduledEvent: { decide: createEvent },
    updateScheduledEvent: {
      decide: (guild, input, by, env) =>
        withOwnEvent(guild, input.eventId, by, env, (event) => updateEvent(guild, event, input, by, env)),
    },
    deleteScheduledEvent: {
      decide: (guild, { eventId }, by, env) =>
        withOwnEvent(guild, eventId, by, env, (event) =>
          accepted(null, [
            { type: 'scheduledEventDeleted', event },
            ...leaveStage(guild, event),
            noted(AUDIT.GUILD_SCHEDULED_EVENT_DELETE, [event, null], by, env),
          ]),
        ),
    },
    authorizeEventWrite: {
      decide: (guild, { eventId, entityType, channelId }, by, env) => {
        if (eventId !== null) return withOwnEvent(guild, eventId, by, env, () => accepted(null));
        const place = { entity_type: entityType, channel_id: channelId };
        const no = placeRefusal(guild, place) ?? writeRefusal(guild, place, 'new', by, env);
        return no ? refused(no) : accepted(null);
      },
    },
    settleScheduledEvents: {
      repeatable: true,
      background: true,
      decide: (guild, _, by, env) =>
        accepted(
          null,
          [...guild.scheduledEvents.byId.values()].flatMap((event) => settling(guild, event, by, env)),
        ),
    },
  },
  facts: {
    scheduledEventCreated: {
      apply: put,
      dispatches: (_, { event }) => [eventDispatch('GUILD_SCHEDULED_EVENT_CREATE', event)],
    },
    scheduledEventUpdated: updated,
    scheduledEventTimed: { apply: put, dispatches: () => [] },
    scheduledEventDeleted: {
      apply: (guild, { event }) => drop(guild, event.id),
      dispatches: (_, { event }) => [eventDispatch('GUILD_SCHEDULED_EVENT_DELETE', event)],
    },
    scheduledEventForgotten: {
      apply: (guild, { eventId }) => drop(guild, eventId),
      dispatches: () => [],
    },
  },
};
