import type { EventExceptionId, ScheduledEventId, UserId } from '../../protocol/ids.ts';
import { refusal } from '../../protocol/refusal.ts';
import { EVENT_RESPONSE, type EventResponse } from '../../protocol/scheduledevents.ts';
import { accepted, type Outcome, refused } from '../kernel/aggregate.ts';
import type { By } from '../kernel/authority.ts';
import type { Dispatch } from '../kernel/dispatch.ts';
import type { Needs } from '../kernel/needs.ts';
import { isFinished, type RsvpKey, rsvpKey, type ScheduledEvent } from '../scheduledevent/event.ts';
import type { EventUserFacts, GuildFact } from './facts.ts';
import type { Guild } from './guild.ts';
import { audienceOf } from './scheduledevents.places.ts';
import { withEvent } from './scheduledevents.ts';
import type { GuildTopic } from './topic.ts';

/** `exceptionId` is null for the whole event. */
type EventReference = { readonly eventId: ScheduledEventId; readonly exceptionId: EventExceptionId | null };

export interface OwnRsvp extends RsvpKey {
  readonly response: EventResponse;
}

type UserCommands = {
  /** The caller's own answer. Not to be interested in a whole event is not to have answered. */
  setEventRsvp: { input: EventReference & { readonly response: EventResponse }; value: OwnRsvp };
  removeEventRsvp: { input: EventReference; value: null };
  /** Checks the caller before the users of an event are read from the store. @returns how many are interested. */
  authorizeEventUsers: { input: EventReference; value: { readonly users: number } };
};

const needs = ({ eventId, exceptionId }: EventReference, _guild: Guild, { userId }: By): Needs => ({
  rsvps: [{ eventId, exceptionId, userId }],
});

/** Whether the exception, if one is named, is one of the event's. */
const hasException = (event: ScheduledEvent, exceptionId: EventExceptionId | null): boolean =>
  exceptionId === null ||
  event.guild_scheduled_event_exceptions.some((one) => one.event_exception_id === exceptionId);

function setRsvp(
  guild: Guild,
  event: ScheduledEvent,
  { eventId, exceptionId, response }: UserCommands['setEventRsvp']['input'],
  userId: UserId,
): Outcome<OwnRsvp, GuildFact> {
  if (isFinished(event)) return refused(refusal('CANNOT_UPDATE_FINISHED_EVENT'));
  const key = { eventId, exceptionId, userId };
  const known = guild.scheduledEvents.rsvps.get(rsvpKey(key)) ?? null;
  const own = { ...key, response };
  if (exceptionId === null && response === EVENT_RESPONSE.UNINTERESTED)
    return accepted(own, known === null ? [] : [removed(key, known)]);
  if (known === response) return accepted(own);
  return accepted(own, [{ type: 'eventRsvpSet', ...own, counted: exceptionId === null }]);
}

const removed = (key: RsvpKey, response: EventResponse): GuildFact => ({
  type: 'eventRsvpRemoved',
  ...key,
  response,
  counted: key.exceptionId === null,
});

function count({ scheduledEvents: { counts } }: Guild, eventId: ScheduledEventId, more: number): void {
  const now = (counts.get(eventId) ?? 0) + more;
  if (now > 0) counts.set(eventId, now);
  else counts.delete(eventId);
}

/** An answer to one occurrence names it, and says what was answered. */
function shown(guild: Guild, t: Dispatch['t'], fact: EventUserFacts['eventRsvpSet']): readonly Dispatch[] {
  const { eventId, exceptionId, userId, response } = fact;
  const event = guild.scheduledEvents.byId.get(eventId);
  if (!event) return [];
  const d = {
    ...{ guild_scheduled_event_id: eventId, user_id: userId, guild_id: guild.id },
    ...(exceptionId === null ? {} : { guild_scheduled_event_exception_id: exceptionId, response }),
  };
  return [{ t, d, to: audienceOf(event) }];
}

/** Users who are interested in scheduled events. */
export const eventUsers: GuildTopic<UserCommands, keyof EventUserFacts> = {
  commands: {
    setEventRsvp: {
      acts: true,
      needs,
      decide: (guild, input, by, env) =>
        withEvent(guild, input.eventId, by, env, (event) =>
          hasException(event, input.exceptionId)
            ? setRsvp(guild, event, input, by.userId)
            : refused(refusal('UNKNOWN_GUILD_SCHEDULED_EVENT')),
        ),
    },
    removeEventRsvp: {
      needs,
      decide: (guild, { eventId, exceptionId }, by, env) =>
        withEvent(guild, eventId, by, env, () => {
          const key = { eventId, exceptionId, userId: by.userId };
          const known = guild.scheduledEvents.rsvps.get(rsvpKey(key)) ?? null;
          if (known === null) return refused(refusal('UNKNOWN_GUILD_SCHEDULED_EVENT_USER'));
          return accepted(null, [removed(key, known)]);
        }),
    },
    authorizeEventUsers: {
      decide: (guild, { eventId, exceptionId }, by, env) =>
        withEvent(guild, eventId, by, env, (event) =>
          hasException(event, exceptionId)
            ? accepted({ users: guild.scheduledEvents.counts.get(eventId) ?? 0 })
            : refused(refusal('UNKNOWN_GUILD_SCHEDULED_EVENT')),
        ),
    },
  },
  facts: {
    eventRsvpSet: {
      apply: (guild, fact) => {
        guild.scheduledEvents.rsvps.set(rsvpKey(fact), fact.response);
        if (fact.counted) count(guild, fact.eventId, 1);
      },
      dispatches: (guild, fact) => shown(guild, 'GUILD_SCHEDULED_EVENT_USER_ADD', fact),
    },
    eventRsvpRemoved: {
      apply: (guild, fact) => {
        guild.scheduledEvents.rsvps.set(rsvpKey(fact), null);
        if (fact.counted) count(guild, fact.eventId, -1);
      },
      dispatches: (guild, fact) => shown(guild, 'GUILD_SCHEDULED_EVENT_USER_REMOVE', fact),
    },
  },
};
