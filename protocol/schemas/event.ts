import type { ChannelId, GuildId, UserId } from '../ids.ts';
import { Member } from './member.ts';
import {
  choice,
  dict,
  flag,
  id,
  integer,
  json,
  list,
  nullable,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  time,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';

const byNWeekday = object(
  {
    n: integer,
    day: choice(0, 1, 2, 3, 4, 5, 6),
  },
  'ByNWeekday',
);

const entityMetadataExternal = object(
  {
    location: text,
  },
  'EntityMetadataExternal',
);

const guildScheduledEventException = object(
  {
    event_id: id(),
    event_exception_id: id(),
    scheduled_start_time: nullable(time),
    scheduled_end_time: nullable(time),
    is_canceled: flag,
  },
  'GuildScheduledEventException',
);
export interface GuildScheduledEventException extends ValueOf<typeof guildScheduledEventException> {}
export const GuildScheduledEventException: Schema<GuildScheduledEventException> =
  guildScheduledEventException;

const recurrenceRule = object(
  {
    start: time,
    end: nullable(time),
    frequency: choice(3, 2, 1, 0),
    interval: integer,
    by_weekday: nullable(list(choice(0, 1, 2, 3, 4, 5, 6))),
    by_n_weekday: nullable(list(byNWeekday)),
    by_month: nullable(list(choice(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12))),
    by_month_day: nullable(list(integer)),
    by_year_day: nullable(list(integer)),
    count: nullable(integer),
  },
  'RecurrenceRule',
);

/** The fields of scheduled events in every place. */
export const scheduledEventFields = {
  id: id(),
  guild_id: id<GuildId>(),
  name: text,
  description: nullable(text),
  channel_id: nullable(id<ChannelId>()),
  creator_id: nullable(id<UserId>()),
  image: nullable(text),
  scheduled_start_time: time,
  scheduled_end_time: nullable(time),
  status: choice(1, 2, 3, 4),
  entity_id: nullable(id()),
  recurrence_rule: nullable(recurrenceRule),
  user_count: optional(integer),
  privacy_level: choice(2),
  guild_scheduled_event_exceptions: list(GuildScheduledEventException),
};

const externalScheduledEvent = object(
  {
    ...scheduledEventFields,
    creator: User,
    entity_type: choice(3),
    entity_metadata: entityMetadataExternal,
  },
  'ExternalScheduledEvent',
);

const stageScheduledEvent = object(
  {
    ...scheduledEventFields,
    creator: optional(User),
    entity_type: choice(1),
    entity_metadata: nullable(json),
  },
  'StageScheduledEvent',
);

const voiceScheduledEvent = object(
  {
    ...scheduledEventFields,
    creator: optional(User),
    entity_type: choice(2),
    entity_metadata: nullable(json),
  },
  'VoiceScheduledEvent',
);

const scheduledEvent = oneOf(externalScheduledEvent, stageScheduledEvent, voiceScheduledEvent);
export type ScheduledEvent = ValueOf<typeof scheduledEvent>;
export const ScheduledEvent: Schema<ScheduledEvent> = scheduledEvent;

const scheduledEventUser = object(
  {
    guild_scheduled_event_id: id(),
    guild_scheduled_event_exception_id: optional(nullable(id())),
    user_id: id<UserId>(),
    user: optional(User),
    member: optional(Member),
    response: choice(0, 1),
  },
  'ScheduledEventUser',
);
export interface ScheduledEventUser extends ValueOf<typeof scheduledEventUser> {}
export const ScheduledEventUser: Schema<ScheduledEventUser> = scheduledEventUser;

const scheduledEventUserCount = object(
  {
    guild_scheduled_event_count: integer,
    guild_scheduled_event_exception_counts: dict(integer),
  },
  'ScheduledEventUserCount',
);
export interface ScheduledEventUserCount extends ValueOf<typeof scheduledEventUserCount> {}
export const ScheduledEventUserCount: Schema<ScheduledEventUserCount> = scheduledEventUserCount;

const stageInstance = object(
  {
    guild_id: id<GuildId>(),
    channel_id: id<ChannelId>(),
    topic: text,
    privacy_level: choice(1, 2),
    id: id(),
    discoverable_disabled: flag,
    guild_scheduled_event_id: nullable(id()),
  },
  'StageInstance',
);
export interface StageInstance extends ValueOf<typeof stageInstance> {}
export const StageInstance: Schema<StageInstance> = stageInstance;
