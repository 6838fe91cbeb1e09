import type { EventExceptionFacts, EventUserFacts, ScheduledEventFacts } from '../../engine/guild/facts.ts';
import type { Member } from '../../engine/guild/guild.ts';
import type { RsvpKey, ScheduledEvent } from '../../engine/scheduledevent/event.ts';
import type { EventExceptionId, GuildId, ScheduledEventId, UserId } from '../../protocol/ids.ts';
import type { APIUser } from '../../protocol/objects.ts';
import type { EventResponse } from '../../protocol/scheduledevents.ts';
import type { Sql } from '../database/driver.ts';
import { remove, rows, type Statement, type StatementTable, upsert } from '../database/statement.ts';
import type { EventUser, EventUserPage, ScheduledEventStore } from './port.ts';

const KEY = { guild_id: 'bigint', id: 'bigint' };
const WRITE = upsert('scheduled_events', { ...KEY, due_ms: 'bigint', data: 'jsonb' }, 'guild_id, id');
const DELETE = `
WITH r AS (SELECT * FROM ${rows(KEY)}),
  u AS (DELETE FROM scheduled_event_users t USING r WHERE t.guild_id = r.guild_id AND t.event_id = r.id)
DELETE FROM scheduled_events t USING r WHERE t.guild_id = r.guild_id AND t.id = r.id`;
const RSVP = { guild_id: 'bigint', event_id: 'bigint', exception_id: 'bigint', user_id: 'bigint' };
const ANSWER = upsert(
  'scheduled_event_users',
  { ...RSVP, response: 'smallint' },
  'guild_id, event_id, exception_id, user_id',
);
const TAKE_BACK = remove('scheduled_event_users', RSVP);

/** Exception id that means the whole event. */
const WHOLE = '0';

/** The events of the guild `g`, each with the number of interested users, as a value of a SELECT. */
export const COUNTED_EVENTS = `coalesce((SELECT jsonb_agg(jsonb_build_object('event', e.data, 'users',
    (SELECT count(*) FROM scheduled_event_users u
      WHERE u.guild_id = e.guild_id AND u.event_id = e.id AND u.exception_id = ${WHOLE} AND u.response = 1)) ORDER BY e.id)
    FROM scheduled_events e WHERE e.guild_id = g.id), '[]')`;

const written = (guildId: string, { event }: { readonly event: ScheduledEvent }): readonly Statement[] => [
  { sql: WRITE, row: { guild_id: guildId, id: event.id, due_ms: event.due_ms, data: event } },
];
const deleted = (guildId: string, id: string): readonly Statement[] => [
  { sql: DELETE, row: { guild_id: guildId, id } },
];
const rsvpRow = (guildId: string, { eventId, exceptionId, userId }: RsvpKey) => ({
  ...{ guild_id: guildId, event_id: eventId, exception_id: exceptionId ?? WHOLE, user_id: userId },
});

export const scheduledEventStatements: StatementTable<
  ScheduledEventFacts & EventExceptionFacts & EventUserFacts
> = {
  scheduledEventCreated: written,
  scheduledEventUpdated: written,
  scheduledEventTimed: written,
  scheduledEventDeleted: (guildId, { event }) => deleted(guildId, event.id),
  scheduledEventForgotten: (guildId, { eventId }) => deleted(guildId, eventId),
  eventExceptionCreated: written,
  eventExceptionUpdated: written,
  eventExceptionDeleted: written,
  eventExceptionsDeleted: written,
  eventRsvpSet: (guildId, fact) => [
    { sql: ANSWER, row: { ...rsvpRow(guildId, fact), response: fact.response } },
  ],
  eventRsvpRemoved: (guildId, fact) => [{ sql: TAKE_BACK, row: rsvpRow(guildId, fact) }],
};

interface UserRow {
  readonly response: EventResponse;
  readonly user: APIUser;
  readonly member: Omit<Member, 'user' | 'roles'> | null;
  readonly roles: Member['roles'] | null;
}

/** Below and above every id, so that both bounds are always there and a prepared plan can use the index. */
const [LOWEST, HIGHEST] = ['-1', '9223372036854775807'];

async function users(
  sql: Sql,
  guildId: GuildId,
  eventId: ScheduledEventId,
  exceptionId: EventExceptionId | null,
  { before, after, limit, withMember }: EventUserPage,
): Promise<EventUser[]> {
  const found = await sql.query<UserRow>(
    `SELECT s.response, u.data AS "user", m.data AS member, m.roles::text[] AS roles
     FROM scheduled_event_users s JOIN users u ON u.id = s.user_id
       LEFT JOIN members m ON $7 AND m.guild_id = s.guild_id AND m.user_id = s.user_id
     WHERE s.guild_id = $1 AND s.event_id = $2 AND s.exception_id = $3 AND s.user_id > $4 AND s.user_id < $5
     ORDER BY s.user_id ${before === undefined ? 'ASC' : 'DESC'} LIMIT $6`,
    [
      guildId,
      eventId,
      exceptionId ?? WHOLE,
      before === undefined ? (after ?? LOWEST) : LOWEST,
      before ?? HIGHEST,
      limit,
      withMember,
    ],
  );
  const ascending = before === undefined ? found : found.toReversed();
  return ascending.map(({ response, user, member, roles }) => ({
    response,
    user,
    member: member && { ...member, roles: roles ?? [], user },
  }));
}

interface RsvpRow {
  readonly event_id: ScheduledEventId;
  readonly exception_id: EventExceptionId;
  readonly user_id: UserId;
  readonly response: EventResponse;
}

export const scheduledEventStore = (sql: Sql): ScheduledEventStore => ({
  rsvps: async (guildId, keys) => {
    const found = await sql.query<RsvpRow>(
      `SELECT s.event_id, s.exception_id, s.user_id, s.response FROM scheduled_event_users s
       JOIN unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS k(event_id, exception_id, user_id)
         ON s.guild_id = $1 AND s.event_id = k.event_id AND s.exception_id = k.exception_id AND s.user_id = k.user_id`,
      [
        guildId,
        keys.map(({ eventId }) => eventId),
        keys.map(({ exceptionId }) => exceptionId ?? WHOLE),
        keys.map(({ userId }) => userId),
      ],
    );
    return found.map(({ event_id: eventId, exception_id: exceptionId, user_id: userId, response }) => ({
      key: { eventId, exceptionId: exceptionId === WHOLE ? null : exceptionId, userId },
      response,
    }));
  },
  users: (guildId, eventId, exceptionId, page) => users(sql, guildId, eventId, exceptionId, page),
  answerCounts: async (guildId, eventId, exceptionIds) => {
    const found = await sql.query<{ id: string; count: string }>(
      `SELECT exception_id AS id, count(*) AS count FROM scheduled_event_users
       WHERE guild_id = $1 AND event_id = $2 AND exception_id = ANY ($3::bigint[]) GROUP BY exception_id`,
      [guildId, eventId, exceptionIds],
    );
    return new Map(found.map(({ id, count }) => [id, Number(count)]));
  },
  due: async (nowMs, after, limit) => {
    const found = await sql.query<{ id: GuildId }>(
      'SELECT DISTINCT guild_id AS id FROM scheduled_events WHERE due_ms <= $1 AND guild_id > $2 ORDER BY guild_id LIMIT $3',
      [nowMs, after ?? LOWEST, limit],
    );
    return found.map(({ id }) => id);
  },
  nextDueMs: async () => {
    const [row] = await sql.query<{ ms: string | null }>('SELECT min(due_ms) AS ms FROM scheduled_events');
    return row?.ms == null ? null : Number(row.ms);
  },
});
