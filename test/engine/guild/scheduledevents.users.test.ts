// Goal: users answer to events and to single occurrences, and occurrences are moved and canceled by those who may.
import { describe, expect, it } from 'vitest';
import type { Guild } from '../../../engine/guild/guild.ts';
import type { EventException, EventObject } from '../../../engine/scheduledevent/event.ts';
import { snowflakeAt } from '../../../protocol/ids.ts';
import { P } from '../../../protocol/permissions.ts';
import { buildGuild, channel, overwrite, role } from '../../support/guild.ts';
import { fullMember, NOW_MS } from '../../support/people.ts';
import { ruled } from '../../support/ruled.ts';

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
const iso = (ms: number) => new Date(ms).toISOString();
const wire = (ms: number) => iso(ms).replace('Z', '000+00:00');
const START_MS = NOW_MS + HOUR_MS;
const DAYS = [START_MS, START_MS + DAY_MS, START_MS + 2 * DAY_MS] as const;

/** A daily event 500 of user 10, in hidden voice 51 when asked. User 12 is plain. */
function arrange(isHidden = false): Guild {
  const guild = buildGuild({
    everyone: P.VIEW_CHANNEL | P.CONNECT,
    roles: [role('100', P.CREATE_EVENTS, 1)],
    members: [fullMember('10', ['100']), fullMember('12')],
    channels: [channel('51', [overwrite('1', 0, { deny: P.VIEW_CHANNEL })], { type: 2 })],
  });
  const outside = { entityType: 3, location: 'park', endTime: iso(START_MS + HOUR_MS) };
  const where = isHidden ? { entityType: 2, channelId: '51' } : outside;
  const rule = { start: iso(START_MS), frequency: 3 };
  const input = { id: '500', name: 'Run', startTime: iso(START_MS), rule, ...where };
  expect(ruled(guild, 'createScheduledEvent', input, isHidden ? '2' : '10').code).toBeUndefined();
  return guild;
}

const answer = (guild: Guild, more: object = {}, userId = '12') =>
  ruled(guild, 'setEventRsvp', { eventId: '500', exceptionId: null, response: 1, ...more }, userId);
const takeBack = (guild: Guild, exceptionId: string | null = null, userId = '12') =>
  ruled(guild, 'removeEventRsvp', { eventId: '500', exceptionId }, userId);
const countOf = (guild: Guild) => {
  const { outcome } = ruled<EventObject>(
    guild,
    'getScheduledEvent',
    { eventId: '500', withUserCount: true },
    '2',
  );
  return outcome.ok ? outcome.value.user_count : null;
};
const except = (guild: Guild, originalMs: number, more: object = {}, userId = '10') =>
  ruled<EventException>(
    guild,
    'createEventException',
    { eventId: '500', originalTime: iso(originalMs), ...more },
    userId,
  );
const exceptions = (guild: Guild) =>
  guild.scheduledEvents.byId.get('500')?.guild_scheduled_event_exceptions ?? [];

describe('a user', () => {
  it('is interested once, until the interest is removed, and both are dispatched to the guild', () => {
    const guild = arrange();
    const d = { guild_scheduled_event_id: '500', user_id: '12', guild_id: '1' };
    expect(answer(guild).dispatches).toEqual([
      { t: 'GUILD_SCHEDULED_EVENT_USER_ADD', d, to: { kind: 'guild' } },
    ]);
    expect(answer(guild).types).toEqual([]);
    answer(guild, {}, '10');
    expect(countOf(guild)).toBe(2);
    expect(takeBack(guild).dispatches).toEqual([
      { t: 'GUILD_SCHEDULED_EVENT_USER_REMOVE', d, to: { kind: 'guild' } },
    ]);
    expect(countOf(guild)).toBe(1);
    expect(takeBack(guild).code).toBe(10071);
    expect(answer(guild, { response: 0 }).types).toEqual([]);
    expect(answer(guild, { response: 0 }, '10').types).toEqual(['eventRsvpRemoved']);
    expect(countOf(guild)).toBe(0);
  });

  it('responds differently to one occurrence, without effect on others', () => {
    const guild = arrange();
    except(guild, DAYS[1], { isCanceled: false });
    const exceptionId = snowflakeAt(DAYS[1]);
    answer(guild);
    expect(answer(guild, { exceptionId, response: 0 }).dispatches[0]?.d).toEqual({
      guild_scheduled_event_id: '500',
      guild_scheduled_event_exception_id: exceptionId,
      user_id: '12',
      guild_id: '1',
      response: 0,
    });
    expect(answer(guild, { exceptionId, response: 0 }).types).toEqual([]);
    expect(answer(guild, { exceptionId, response: 1 }).types).toEqual(['eventRsvpSet']);
    expect(countOf(guild)).toBe(1);
    expect(takeBack(guild, exceptionId).types).toEqual(['eventRsvpRemoved']);
    expect(countOf(guild)).toBe(1);
    expect(answer(guild, { exceptionId: '77' }).code).toBe(10070);
  });

  it('responds only to visible events that have not ended', () => {
    const hidden = arrange(true);
    expect(answer(hidden).code).toBe(10070);
    expect(takeBack(hidden).code).toBe(10070);
    const users = { eventId: '500', exceptionId: null };
    expect(ruled(hidden, 'authorizeEventUsers', users, '12').code).toBe(10070);
    expect(ruled(hidden, 'authorizeEventUsers', { ...users, exceptionId: '7' }, '2').code).toBe(10070);
    const guild = arrange();
    answer(guild);
    ruled(guild, 'updateScheduledEvent', { eventId: '500', status: 4 }, '10');
    expect(answer(guild, {}, '10').code).toBe(180000);
    expect(ruled(guild, 'authorizeEventUsers', users, '12').outcome).toMatchObject({ value: { users: 1 } });
  });
});

describe('an exception', () => {
  it.each([6, 57, 7972])('is refused for an occurrence %i years ahead', (years) => {
    const guild = arrange();
    const far = new Date(START_MS);
    far.setUTCFullYear(far.getUTCFullYear() + years);
    expect(except(guild, far.getTime(), { isCanceled: true }).code).toBe(50_035);
    expect(exceptions(guild)).toEqual([]);
  });

  it('is refused when the event has a hundred exceptions already', () => {
    const guild = arrange();
    const made = Array.from({ length: 101 }, (_, day) => except(guild, START_MS + day * DAY_MS).code);
    expect(made.flatMap((code, day) => (code === undefined ? [] : [[day, code]]))).toEqual([[100, 50_035]]);
    expect(exceptions(guild)).toHaveLength(100);
  });

  it('has the id of its original time, is dispatched and logged', () => {
    const guild = arrange();
    const { outcome, dispatches } = except(guild, DAYS[1], { startTime: iso(DAYS[1] + 60_000) });
    const exception = {
      event_id: '500',
      event_exception_id: snowflakeAt(DAYS[1]),
      scheduled_start_time: wire(DAYS[1] + 60_000),
      scheduled_end_time: null,
      is_canceled: false,
    };
    expect(outcome).toMatchObject({ ok: true, value: exception });
    expect(dispatches).toMatchObject([
      { t: 'GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE', d: { ...exception, guild_id: '1' } },
      {
        d: {
          action_type: 200,
          target_id: '500',
          options: { event_exception_id: exception.event_exception_id },
          changes: [
            { key: 'scheduled_start_time', new_value: exception.scheduled_start_time },
            { key: 'is_canceled', new_value: false },
          ],
        },
      },
    ]);
    expect(exceptions(guild)).toEqual([exception]);
  });

  it.each([
    ['an occurrence', DAYS[1], {}, undefined],
    ['the current occurrence', DAYS[0], {}, undefined],
    ['no occurrence', DAYS[1] + 1, {}, 'original_scheduled_start_time'],
    ['an occurrence before the first', DAYS[0] - DAY_MS, {}, 'original_scheduled_start_time'],
    ['another start', DAYS[1], { startTime: iso(NOW_MS + 1) }, undefined],
    ['a start in the past', DAYS[1], { startTime: iso(NOW_MS) }, 'scheduled_start_time'],
    ['an end after the start', DAYS[1], { endTime: iso(DAYS[1] + 1) }, undefined],
    ['an end at the start', DAYS[1], { endTime: iso(DAYS[1]) }, 'scheduled_end_time'],
    ['a start at the end', DAYS[1], { startTime: iso(DAYS[1] + HOUR_MS) }, 'scheduled_end_time'],
    ['a start before the end', DAYS[1], { startTime: iso(DAYS[1] + HOUR_MS - 1) }, undefined],
  ])('is checked with %s (%i) and %j: the wrong field is %s', (_, originalMs, more, field) => {
    const { outcome } = except(arrange(), originalMs, more);
    expect(outcome.ok ? undefined : Object.keys(outcome.refusal.errors ?? {})[0]).toBe(field);
  });

  it('is changed and removed by members who may edit the event', () => {
    const guild = arrange();
    except(guild, DAYS[2]);
    except(guild, DAYS[1]);
    expect(exceptions(guild).map(({ event_exception_id: id }) => id)).toEqual([
      snowflakeAt(DAYS[1]),
      snowflakeAt(DAYS[2]),
    ]);
    expect(except(guild, DAYS[1]).code).toBe(50035);
    const of = { eventId: '500', exceptionId: snowflakeAt(DAYS[1]) };
    const change = (more: object, userId = '10') =>
      ruled<EventException>(guild, 'updateEventException', { ...of, ...more }, userId);
    expect(change({ isCanceled: true }, '12').code).toBe(50013);
    expect(change({ isCanceled: true }).dispatches).toMatchObject([
      { t: 'GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE', d: { is_canceled: true } },
      { d: { action_type: 201 } },
    ]);
    expect(change({ isCanceled: true }).types).toEqual([]);
    const moved = iso(DAYS[1] + 1_000);
    expect(change({ isCanceled: false, startTime: moved }).outcome).toMatchObject({
      value: { scheduled_start_time: wire(DAYS[1] + 1_000) },
    });
    expect(change({ startTime: null }).outcome).toMatchObject({ value: { scheduled_start_time: null } });
    const end = (userId: string) => ruled(guild, 'deleteEventException', of, userId);
    expect(end('12').code).toBe(50013);
    expect(end('10').dispatches).toMatchObject([
      { t: 'GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE', d: { event_exception_id: of.exceptionId } },
      { d: { action_type: 202 } },
    ]);
    expect([end('10').code, change({}).code]).toEqual([10070, 10070]);
    expect(exceptions(guild)).toHaveLength(1);
  });

  it('is refused beyond 100, and for events that do not recur or have ended', () => {
    const guild = arrange();
    for (let day = 0; day < 100; day += 1)
      expect(except(guild, START_MS + day * DAY_MS).code).toBeUndefined();
    expect(except(guild, START_MS + 100 * DAY_MS).code).toBe(50035);
    ruled(guild, 'updateScheduledEvent', { eventId: '500', status: 4 }, '10');
    expect(except(guild, START_MS + 100 * DAY_MS).code).toBe(180000);
    const once = arrange();
    ruled(once, 'updateScheduledEvent', { eventId: '500', rule: null }, '10');
    expect(except(once, START_MS).code).toBe(50035);
  });

  it('is removed when the recurrence of the event changes', () => {
    const guild = arrange();
    except(guild, DAYS[1]);
    const startTime = iso(START_MS + 60_000);
    const { types, dispatches } = ruled(guild, 'updateScheduledEvent', { eventId: '500', startTime }, '10');
    expect(types).toEqual(['eventExceptionsDeleted', 'scheduledEventUpdated', 'auditLogged']);
    expect(dispatches[0]).toEqual({
      t: 'GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE',
      d: { event_id: '500', guild_id: '1' },
      to: { kind: 'guild' },
    });
    expect(exceptions(guild)).toEqual([]);
    expect(guild.scheduledEvents.byId.get('500')?.recurrence_rule?.start).toBe(wire(START_MS + 60_000));
  });
});
