import type { OwnRsvp } from '../../../engine/guild/scheduledevents.users.ts';
import type { Authority } from '../../../engine/kernel/authority.ts';
import type { EventExceptionId, GuildId, ScheduledEventId, UserId } from '../../../protocol/ids.ts';
import { LIMITS } from '../../../protocol/limits.ts';
import {
  GuildScheduledEventException,
  ScheduledEventUser,
  ScheduledEventUserCount,
} from '../../../protocol/schemas/event.ts';
import { EventSubscription } from '../../../protocol/schemas/extension.ts';
import {
  Arr,
  Bool,
  Choice,
  Int,
  Nullable,
  Obj,
  Optional,
  Snowflake,
  type Static,
  Timestamp,
} from '../../../protocol/schemas/request.ts';
import { list, none } from '../../../protocol/schemas/schema.ts';
import type { EventUser, EventUserPage } from '../../../storage/scheduledevent/port.ts';
import { userBody } from '../accounts.ts';
import { type Answer, op, resource } from '../operation.ts';
import type { Services } from '../services.ts';

// The platform publishes no limits for these routes; the values are this server's own.
const READ = { per: 'guild_id', limit: 20, windowMs: 10_000 } as const;
const WRITE = { per: 'guild_id', limit: 10, windowMs: 10_000 } as const;
const ANSWER = { ...WRITE, group: 'event_rsvp' } as const;

const Page = Obj({
  with_member: Optional(Bool()),
  limit: Optional(Int(1, LIMITS.scheduled_event_users_page_max)),
  before: Optional(Snowflake<UserId>()),
  after: Optional(Snowflake<UserId>()),
});

const Times = {
  scheduled_start_time: Optional(Nullable(Timestamp())),
  scheduled_end_time: Optional(Nullable(Timestamp())),
  is_canceled: Optional(Nullable(Bool())),
};

const timesOf = (body: Static<ReturnType<typeof Obj<typeof Times>>>) => ({
  ...(body.scheduled_start_time === undefined ? {} : { startTime: body.scheduled_start_time }),
  ...(body.scheduled_end_time === undefined ? {} : { endTime: body.scheduled_end_time }),
  ...(body.is_canceled == null ? {} : { isCanceled: body.is_canceled }),
});

/** The event of a path, or one occurrence of it. */
interface EventReference {
  readonly eventId: ScheduledEventId;
  readonly exceptionId: EventExceptionId | null;
}

const namedOf = ({ eventId, exceptionId }: EventReference) => ({
  guild_scheduled_event_id: eventId,
  ...(exceptionId === null ? {} : { guild_scheduled_event_exception_id: exceptionId }),
});

async function listUsers(
  guildId: GuildId,
  of: EventReference,
  { with_member: withMember = false, limit, before, after }: Static<typeof Page>,
  authority: Authority,
  { guilds, read }: Services,
): Promise<Answer> {
  const may = await guilds.call(guildId, 'authorizeEventUsers', of, authority);
  if (!may.ok) return may;
  const page: EventUserPage = {
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    limit: limit ?? LIMITS.scheduled_event_users_page_default,
    withMember,
  };
  const found = await read.scheduledEvents.users(guildId, of.eventId, of.exceptionId, page);
  return { ok: true, value: found.map((each) => ({ ...namedOf(of), ...answeredBody(each) })) };
}

const answeredBody = ({ user, member, response }: EventUser) => ({
  user_id: user.id,
  user: userBody(user),
  ...(member && { member: { ...member, user: userBody(user) } }),
  response,
});

const rsvpBody = ({ userId, response, ...of }: OwnRsvp) => ({ ...namedOf(of), user_id: userId, response });

/** Operations on the users of scheduled events, and on occurrences that are not as their rule says. */
export const scheduledEventUsers = resource({
  list_guild_scheduled_event_users: op({
    method: 'GET',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/users',
    auth: 'any',
    bucket: READ,
    query: Page,
    status: 200,
    reply: list(ScheduledEventUser),
    handle: ({ params, query, authority }, services) => {
      const of = { eventId: params.guild_scheduled_event_id, exceptionId: null };
      return listUsers(params.guild_id, of, query, authority, services);
    },
  }),

  list_guild_scheduled_event_exception_users: op({
    method: 'GET',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/:guild_scheduled_event_exception_id/users',
    auth: 'any',
    bucket: READ,
    query: Page,
    status: 200,
    reply: list(ScheduledEventUser),
    handle: ({ params, query, authority }, services) => {
      const exceptionId = params.guild_scheduled_event_exception_id;
      const of = { eventId: params.guild_scheduled_event_id, exceptionId };
      return listUsers(params.guild_id, of, query, authority, services);
    },
  }),

  count_guild_scheduled_event_users: op({
    method: 'GET',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/users/counts',
    auth: 'any',
    bucket: READ,
    query: Obj({
      guild_scheduled_event_exception_ids: Optional(
        Arr(Snowflake(), LIMITS.scheduled_event_exception_ids_per_request_max),
      ),
    }),
    status: 200,
    reply: ScheduledEventUserCount,
    handle: async ({ params, query, authority }, { guilds, read }) => {
      const [guildId, eventId] = [params.guild_id, params.guild_scheduled_event_id];
      const of = { eventId, exceptionId: null };
      const may = await guilds.call(guildId, 'authorizeEventUsers', of, authority);
      if (!may.ok) return may;
      const ids = query.guild_scheduled_event_exception_ids ?? [];
      const counts = await read.scheduledEvents.answerCounts(guildId, eventId, ids);
      return {
        ok: true,
        value: {
          guild_scheduled_event_count: may.value.users,
          guild_scheduled_event_exception_counts: Object.fromEntries(
            ids.map((id) => [id, counts.get(id) ?? 0]),
          ),
        },
      };
    },
  }),

  create_guild_scheduled_event_exception: op({
    method: 'POST',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/exceptions',
    auth: 'any',
    bucket: WRITE,
    body: Obj({ ...Times, original_scheduled_start_time: Timestamp() }),
    status: 200,
    reply: GuildScheduledEventException,
    handle: async ({ params, body, authority }, { guilds }) => {
      const input = {
        eventId: params.guild_scheduled_event_id,
        originalTime: body.original_scheduled_start_time,
        ...timesOf(body),
      };
      const reply = await guilds.call(params.guild_id, 'createEventException', input, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  update_guild_scheduled_event_exception: op({
    method: 'PATCH',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/exceptions/:exception_id',
    auth: 'any',
    bucket: WRITE,
    body: Obj(Times),
    status: 200,
    reply: GuildScheduledEventException,
    handle: async ({ params, body, authority }, { guilds }) => {
      const of = { eventId: params.guild_scheduled_event_id, exceptionId: params.exception_id };
      const input = { ...of, ...timesOf(body) };
      const reply = await guilds.call(params.guild_id, 'updateEventException', input, authority);
      return reply.ok ? { ok: true, value: reply.value } : reply;
    },
  }),

  delete_guild_scheduled_event_exception: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/exceptions/:exception_id',
    auth: 'any',
    bucket: WRITE,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) => {
      const of = { eventId: params.guild_scheduled_event_id, exceptionId: params.exception_id };
      return guilds.call(params.guild_id, 'deleteEventException', of, authority);
    },
  }),
});

const OWN = Obj({ response: Optional(Nullable(Choice(0, 1))) });
const INTERESTED = 1;

/**
 * The answers of people to events; the platform's OpenAPI does not list them.
 *
 * @source https://docs.discord.food/resources/guild-scheduled-event#create-guild-scheduled-event-user
 */
export const scheduledEventsUnlisted = resource({
  subscribe_guild_scheduled_event: op({
    method: 'PUT',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/users/@me',
    auth: 'user',
    bucket: ANSWER,
    body: OWN,
    status: 200,
    reply: EventSubscription,
    handle: async ({ params, body, authority }, { guilds }) => {
      const of = { eventId: params.guild_scheduled_event_id, exceptionId: null };
      const input = { ...of, response: body.response ?? INTERESTED };
      const reply = await guilds.call(params.guild_id, 'setEventRsvp', input, authority);
      return reply.ok ? { ok: true, value: rsvpBody(reply.value) } : reply;
    },
  }),

  unsubscribe_guild_scheduled_event: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/users/@me',
    auth: 'user',
    bucket: ANSWER,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) => {
      const of = { eventId: params.guild_scheduled_event_id, exceptionId: null };
      return guilds.call(params.guild_id, 'removeEventRsvp', of, authority);
    },
  }),

  subscribe_guild_scheduled_event_exception: op({
    method: 'PUT',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/:guild_scheduled_event_exception_id/users/@me',
    auth: 'user',
    bucket: ANSWER,
    body: OWN,
    status: 200,
    reply: EventSubscription,
    handle: async ({ params, body, authority }, { guilds }) => {
      const exceptionId = params.guild_scheduled_event_exception_id;
      const of = { eventId: params.guild_scheduled_event_id, exceptionId };
      const input = { ...of, response: body.response ?? INTERESTED };
      const reply = await guilds.call(params.guild_id, 'setEventRsvp', input, authority);
      return reply.ok ? { ok: true, value: rsvpBody(reply.value) } : reply;
    },
  }),

  unsubscribe_guild_scheduled_event_exception: op({
    method: 'DELETE',
    path: '/guilds/:guild_id/scheduled-events/:guild_scheduled_event_id/:guild_scheduled_event_exception_id/users/@me',
    auth: 'user',
    bucket: ANSWER,
    status: 204,
    reply: none,
    handle: ({ params, authority }, { guilds }) => {
      const exceptionId = params.guild_scheduled_event_exception_id;
      const of = { eventId: params.guild_scheduled_event_id, exceptionId };
      return guilds.call(params.guild_id, 'removeEventRsvp', of, authority);
    },
  }),
});
