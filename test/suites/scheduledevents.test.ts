// Goal: scheduled events and their users are stored as the facts say and read back in pages, on every database.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ScheduledEvent } from '../../engine/scheduledevent/event.ts';
import type { EventExceptionId, GuildId, ScheduledEventId, UserId } from '../../protocol/ids.ts';
import { channel, commit, GUILD, id, member, seed, user } from './builders.ts';
import { databases, openFresh } from './databases.ts';

const guildId = id<GuildId>(GUILD);

const event = (eventId: string, more: Partial<ScheduledEvent> = {}): ScheduledEvent => ({
  id: id(eventId),
  guild_id: guildId,
  channel_id: null,
  creator_id: id('10'),
  creator: user('10'),
  name: `event ${eventId}`,
  description: null,
  image: null,
  scheduled_start_time: '2026-03-01T12:00:00.000000+00:00',
  scheduled_end_time: null,
  privacy_level: 2,
  status: 1,
  entity_type: 3,
  entity_id: null,
  entity_metadata: { location: 'park' },
  recurrence_rule: null,
  guild_scheduled_event_exceptions: [],
  due_ms: 1_000,
  ...more,
});

const answer = (eventId: string, userId: string, exceptionId: string | null = null, response: 0 | 1 = 1) => ({
  type: 'eventRsvpSet' as const,
  ...{
    eventId: id<ScheduledEventId>(eventId),
    exceptionId: exceptionId === null ? null : id<EventExceptionId>(exceptionId),
  },
  ...{ userId: id<UserId>(userId), response, counted: exceptionId === null },
});

describe.each(databases())('scheduled events on $name', (kind) => {
  let fresh: Awaited<ReturnType<typeof openFresh>>;
  const store = () => fresh.storage.scheduledEvents;
  const loaded = async () => (await fresh.storage.guilds.load(guildId))?.scheduledEvents;
  const write = (...facts: Parameters<typeof commit>[2][]) => commit(fresh.storage.writer, GUILD, ...facts);

  beforeAll(async () => {
    fresh = await openFresh(kind);
  });
  afterAll(() => fresh.close());
  beforeEach(async () => {
    await fresh.driver.script(
      `DO $$ DECLARE t text; BEGIN FOR t IN SELECT table_name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_name <> 'schema_migrations' LOOP EXECUTE 'TRUNCATE ' || t; END LOOP; END $$`,
    );
    await seed(fresh.storage.writer);
  });

  test('are loaded with their guild, as they were last, each with the number of its users', async () => {
    await write(
      { type: 'scheduledEventCreated', event: event('901') },
      { type: 'scheduledEventCreated', event: event('900') },
      { type: 'scheduledEventUpdated', event: event('901', { name: 'renamed' }) },
      { type: 'scheduledEventTimed', event: event('900', { due_ms: null, idle: true }) },
      answer('901', '11'),
      answer('901', '12'),
      answer('901', '12'),
      answer('901', '13', '5'),
    );
    expect(await loaded()).toEqual([
      { event: event('900', { due_ms: null, idle: true }), users: 0 },
      { event: event('901', { name: 'renamed' }), users: 2 },
    ]);
    await write({ type: 'scheduledEventDeleted', event: event('901') });
    await write({ type: 'scheduledEventForgotten', eventId: id('900') });
    expect(await loaded()).toEqual([]);
    expect(await fresh.driver.query('SELECT * FROM scheduled_event_users')).toEqual([]);
  });

  test('are loaded with their exceptions', async () => {
    const exception = {
      event_id: id<ScheduledEventId>('900'),
      event_exception_id: id<EventExceptionId>('77'),
      scheduled_start_time: null,
      scheduled_end_time: null,
      is_canceled: true,
    };
    const changed = event('900', { guild_scheduled_event_exceptions: [exception] });
    await write(
      { type: 'scheduledEventCreated', event: event('900') },
      { type: 'eventExceptionCreated', event: changed, exception },
    );
    expect(await loaded()).toEqual([{ event: changed, users: 0 }]);
  });

  test('list their users in pages, with memberships on request', async () => {
    await write({ type: 'memberAdded', member: member(user('12')) });
    await write(
      ...['11', '12', '13', '14'].map((userId) => answer('900', userId)),
      answer('900', '15', '7', 0),
      answer('901', '15'),
    );
    const ids = async (page: object) =>
      (await store().users(guildId, id('900'), null, { limit: 100, withMember: false, ...page })).map(
        (each) => each.user.id,
      );
    expect(await ids({})).toEqual(['11', '12', '13', '14']);
    expect(await ids({ limit: 2 })).toEqual(['11', '12']);
    expect(await ids({ limit: 2, after: '11' })).toEqual(['12', '13']);
    expect(await ids({ limit: 2, before: '14' })).toEqual(['12', '13']);
    expect(await ids({ limit: 2, before: '13', after: '13' })).toEqual(['11', '12']);
    const withMembers = await store().users(guildId, id('900'), null, {
      ...{ limit: 2, withMember: true },
    });
    expect(withMembers).toEqual([
      { user: user('11'), member: null, response: 1 },
      { user: user('12'), member: member(user('12')), response: 1 },
    ]);
    const without = await store().users(guildId, id('900'), id('7'), { limit: 5, withMember: false });
    expect(without).toEqual([{ user: user('15'), member: null, response: 0 }]);
  });

  test('return the response of a user, and the number of responses to an occurrence', async () => {
    await write(answer('900', '11'), answer('900', '11', '7', 0), answer('900', '12', '7'));
    const key = (userId: string, exceptionId: string | null) => ({
      ...{ eventId: id<ScheduledEventId>('900'), userId: id<UserId>(userId) },
      exceptionId: exceptionId === null ? null : id<EventExceptionId>(exceptionId),
    });
    const keys = [key('11', null), key('11', '7'), key('12', null), key('12', '7')];
    const found = await store().rsvps(guildId, keys);
    expect(found).toHaveLength(3);
    expect(found).toEqual(
      expect.arrayContaining([
        { key: keys[0], response: 1 },
        { key: keys[1], response: 0 },
        { key: keys[3], response: 1 },
      ]),
    );
    expect(await store().answerCounts(guildId, id('900'), ['7', '8'])).toEqual(new Map([['7', 2]]));
    await write({ ...answer('900', '11', '7', 0), type: 'eventRsvpRemoved' });
    expect(await store().answerCounts(guildId, id('900'), ['7'])).toEqual(new Map([['7', 1]]));
  });

  test('are due at their times, guild by guild', async () => {
    expect(await store().nextDueMs()).toBeNull();
    await write(
      { type: 'scheduledEventCreated', event: event('900', { due_ms: 5_000 }) },
      { type: 'scheduledEventCreated', event: event('901', { due_ms: 3_000 }) },
      { type: 'scheduledEventCreated', event: event('902', { due_ms: null }) },
    );
    const other = id<GuildId>('700000000000000009');
    await commit(fresh.storage.writer, other, {
      type: 'scheduledEventCreated',
      event: event('903', { guild_id: other, due_ms: 4_000 }),
    });
    expect(await store().nextDueMs()).toBe(3_000);
    expect(await store().due(2_999, null, 10)).toEqual([]);
    expect(await store().due(3_999, null, 10)).toEqual([guildId]);
    expect(await store().due(9_000, null, 10)).toEqual([guildId, other]);
    expect(await store().due(9_000, null, 1)).toEqual([guildId]);
    expect(await store().due(9_000, guildId, 10)).toEqual([other]);
  });

  test('are deleted with their guild', async () => {
    await write({ type: 'scheduledEventCreated', event: event('900') }, answer('900', '11'));
    await write({ type: 'channelDeleted', channel: channel('100') });
    await write({ type: 'guildDeleted', memberIds: [] });
    for (const table of ['scheduled_events', 'scheduled_event_users'])
      expect(await fresh.driver.query(`SELECT * FROM ${table}`), table).toEqual([]);
  });
});
